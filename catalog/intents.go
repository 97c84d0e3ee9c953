package catalog

import "strings"

// intents are what people say for what tools call otherwise: each line has the words of a request before the arrow and
// the words that are searched beside them after it. A hit by such a word alone always ranks below hits by the request's
// own words.
const intents = `
look lookup google research investigate > search web find
current today latest now recent news price weather > search web
url link page article site website webpage homepage > fetch web browse
remember recall memory earlier previously discussed decided > memory recall history
remind reminder later tomorrow daily weekly recurring nightly every > schedule automation cron reminder
say tell reply respond answer notify ping inform > message send
picture photo meme screenshot illustration drawing > image
speak voice aloud pronounce > audio speech
run execute command shell terminal script > exec process
directory folder path > file list
delete erase drop discard trash destroy > delete remove
remove > delete
make add new open start file set > create
change modify alter adjust fix correct > update edit
rename > update move
see view show display check inspect > get list read
mail inbox > email message
meeting appointment calendar > event calendar
ticket bug defect > issue
merge branch diff > pull request commit
customer client buyer > customer contact
bill charge pay payment > invoice payment charge
refund money reimburse > refund payment
translate language > translation
summarize summary gist > summary text
download save export > download export
upload attach put > upload
machine host vm box > server instance
deploy ship release rollout > deployment
error crash exception failure > log error
sales revenue > order report
user person people teammate colleague member > user contact
convert turn transform > convert
copy duplicate clone > copy
stock share > quote price
map route directions distance > directions route
row record table > database query`

// intentTerms maps the stem of a request's word to the stems that are searched beside it.
var intentTerms = parseIntents()

func parseIntents() map[string][]string {
	terms := map[string][]string{}
	stems := func(words string) (out []string) {
		for _, word := range strings.Fields(words) {
			out = append(out, string(stem([]byte(word))))
		}
		return out
	}
	for line := range strings.SplitSeq(strings.TrimSpace(intents), "\n") {
		from, to, _ := strings.Cut(line, ">")
		for _, trigger := range stems(from) {
			terms[trigger] = append(terms[trigger], stems(to)...)
		}
	}
	return terms
}

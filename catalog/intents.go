package catalog

import "strings"

// sameWords are words that mean the same in requests and in tools; a hit by one is as good as a hit by the other, only
// a little weaker.
const sameWords = `
mail email
picture photo image pic
repo repository
folder directory
delete remove erase
find search
db database
doc document
msg message
song track music
film movie video
taxi cab ride
phone telephone
flight plane
k8s kubernetes
js javascript
spreadsheet sheet
begin start launch
stop halt shutdown
site website
combine merge join
buy purchase
worker employee staff
applicant candidate
tweet twitter
aloud loud`

// intents are what people say for what tools call otherwise: each line has the words of a request before the arrow and
// the words that are searched beside them after it. A hit by such a word alone always ranks below hits by the request's
// own words.
const intents = `
look lookup google research investigate > search web find
current today latest now recent news price weather > search web
url link page article site website webpage homepage > fetch web browse
remember recall memory earlier previously discussed decided > memory recall history
remember memorize note > store memory save
remind reminder later tomorrow daily weekly recurring nightly every > schedule automation cron reminder
say tell reply respond answer notify ping inform text > message send
picture photo meme screenshot illustration drawing > image
draw paint sketch render design > create generate image
speak voice aloud loud pronounce > audio speech tts
run execute command shell terminal script > exec process
directory folder path > file list
delete erase drop discard trash destroy > delete remove
remove clear wipe > delete purge
make add new open start file set put > create add
change modify alter adjust fix correct > update edit
rename > update move
see view show display check inspect > get list read
mail inbox > email message
meeting appointment calendar > event calendar
ticket bug defect > issue
pr > pull request
merge branch diff > pull request commit
ci build > workflow pipeline run
customer client buyer > customer contact
bill charge pay payment > invoice payment charge
refund money reimburse > refund payment
euro dollar yen pound currency exchange > currency convert
percent plus minus sum add multiply divide calculate > calculator
translate language > translation
summarize summary gist > summary text
download save export > download export
upload attach > upload
unzip zip unpack compress tar > archive extract
machine host vm box > server instance
shut kill terminate quit > stop
deploy ship release rollout > deployment
revert rollback undo > rollback
error crash exception failure > log error
sales revenue > order report
user person people teammate colleague member > user contact
convert turn transform > convert
copy duplicate clone > copy
stock share > quote price
map route directions distance way > directions route
near nearby close around restaurant > places nearby
rain snow sun sunny hot cold wind temperature > weather forecast
warm warmer heat heating cool > thermostat temperature
clock time date > time
eat food meal lunch dinner > restaurant food
vacation holiday leave sick > time
row record table > database query
newsletter subscription > unsubscribe subscription`

// weakWords are verbs that go with everything. Beside other words they count less.
var weakWords = stemSet(`get make put take give let need use tell show do go know like help back up out`)

const weakWeight = 0.4

func stemSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[string(stem([]byte(word)))] = true
	}
	return set
}

// sameTerms maps a stem to the stems of its synonyms.
var sameTerms = parseSameWords()

func parseSameWords() map[string][]string {
	terms := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(sameWords), "\n") {
		group := sortedKeys(stemSet(line))
		for _, word := range group {
			for _, other := range group {
				if other != word {
					terms[word] = append(terms[word], other)
				}
			}
		}
	}
	return terms
}

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

package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// The constants of Okapi BM25, and what words count that the request did not use itself.
const (
	bm25K1       = 1.2
	bm25B        = 0.75
	sameWeight   = 0.75
	intentWeight = 0.35
	maxQuery     = 1000 // characters of a query that are read
	maxTerms     = 64
)

// Search finds tools by what a task says, best first. An exact name (or callable name, MCP path, or on SurfaceTools id)
// comes first. Then come tools that have a word of the query, then those that have a related one; within each by
// Okapi BM25 over name, label, owner, description and, for host tools, parameter names and texts. How rare a word is
// is counted over the visible tools alone.
//
// limit is the number of hits, 0 for the default; more than the maximum is the maximum, less than 0 is an *Error with
// CodeInvalidInput. (A host passes a guest's limit of 0 as -1.) A query without a word that says anything has no hits,
// but an empty query on SurfaceTools lists tools by id, as it always has there.
func (v *View) Search(query string, limit int, surface Surface) ([]*Entry, error) {
	o := &v.proj.snap.catalog.options
	switch {
	case limit < 0:
		return nil, invalidInput("limit must be a positive integer.")
	case limit == 0:
		limit = o.SearchLimit
	}
	limit = min(limit, o.MaxSearchLimit)
	query = strings.TrimSpace(cutUTF16(strings.ToValidUTF8(query, " "), maxQuery))
	if query == "" {
		if surface == SurfaceTools {
			entries := v.Entries(surface)
			return slices.Clone(entries[:min(limit, len(entries))]), nil
		}
		return nil, nil
	}
	hits := v.exact(query, surface)
	for _, e := range v.ranked(query, limit+len(hits), surface) {
		if !slices.Contains(hits, e) {
			hits = append(hits, e)
		}
	}
	return hits[:min(limit, len(hits))], nil
}

// exact finds the tools that the query names: with the same case if there are any, otherwise in any case.
func (v *View) exact(query string, surface Surface) []*Entry {
	t := v.proj.tables()
	var hits []*Entry
	add := func(e *Entry) {
		if v.permits(e) && !slices.Contains(hits, e) {
			hits = append(hits, e)
		}
	}
	if surface == SurfaceTools {
		add(t.byID[query])
		for _, e := range t.named[strings.ToLower(query)] {
			if e.rec.tool.Name == query {
				add(e)
			}
		}
	} else {
		add(t.callable[query])
		for _, e := range t.named[strings.ToLower(query)] {
			if e.callable == query || e.rec.tool.Name == query {
				add(e)
			}
		}
	}
	if len(hits) > 0 {
		return hits
	}
	for _, e := range t.named[strings.ToLower(query)] {
		if surface == SurfaceCatalog || e.rec.tool.MCP == nil && strings.EqualFold(e.rec.tool.Name, query) {
			add(e)
		}
	}
	return hits
}

// corpusStats describe the tools that a search may find.
type corpusStats struct {
	visible []bool // by position in snapshot.records
	count   int
	average float32 // length
}

func (v *View) corpus(surface Surface, x *lexicon) *corpusStats {
	if v.check != nil {
		return measure(v.proj, surface, x, v.check)
	}
	p := v.proj
	p.statsOnce[surface].Do(func() { p.stats[surface] = measure(p, surface, x, nil) })
	return p.stats[surface]
}

func measure(p *projection, surface Surface, x *lexicon, check func(*Entry) bool) *corpusStats {
	s := &corpusStats{visible: make([]bool, len(p.ordinal))}
	var total float64
	for i, e := range p.ordinal {
		if e == nil || surface == SurfaceTools && e.rec.tool.MCP != nil || check != nil && !check(e) {
			continue
		}
		s.visible[i] = true
		s.count++
		total += float64(x.lengths[i])
	}
	s.average = max(1, float32(total/float64(max(1, s.count))))
	return s
}

// queryTerm is a term to search for. literal says that the request has it, or a word that means the same.
type queryTerm struct {
	term    string
	weight  float32
	literal bool
}

// queryTerms are the terms of a query: its own words count 1, weak ones less, synonyms and related words less.
func queryTerms(query string) (terms []queryTerm) {
	add := func(t queryTerm) {
		same := func(have queryTerm) bool { return have.term == t.term }
		if len(terms) < maxTerms && !slices.ContainsFunc(terms, same) {
			terms = append(terms, t)
		}
	}
	w := &termWriter{emit: func(term []byte) { add(queryTerm{string(term), 1, true}) }}
	w.text(query)
	own := slices.Clone(terms)
	strong := slices.ContainsFunc(own, func(t queryTerm) bool { return !weakWords[t.term] })
	for i, t := range own {
		if strong && weakWords[t.term] {
			terms[i].weight = weakWeight
		}
		for _, same := range sameTerms[t.term] {
			add(queryTerm{same, sameWeight, true})
		}
	}
	for _, t := range own {
		for _, related := range intentTerms[t.term] {
			add(queryTerm{related, intentWeight, false})
		}
	}
	return terms
}

// scoreBoard gathers the scores of one search, by tool.
type scoreBoard struct {
	score   []float32
	literal []bool
	touched []int32
}

var scoreBoards = sync.Pool{New: func() any { return new(scoreBoard) }}

// ranked returns the best hits by words.
func (v *View) ranked(query string, limit int, surface Surface) []*Entry {
	t := v.proj.tables()
	x := v.proj.snap.index()
	terms := queryTerms(query)
	if len(terms) == 0 {
		return nil
	}
	stats := v.corpus(surface, x)
	board := scoreBoards.Get().(*scoreBoard)
	defer scoreBoards.Put(board)
	if len(board.score) < len(x.lengths) {
		board.score, board.literal = make([]float32, len(x.lengths)), make([]bool, len(x.lengths))
	}
	defer func() {
		for _, doc := range board.touched {
			board.score[doc], board.literal[doc] = 0, false
		}
		board.touched = board.touched[:0]
	}()
	for _, t := range terms {
		if id, ok := x.terms[t.term]; ok {
			board.add(x.postings[id], t, x, stats)
		}
	}
	type hit struct {
		doc     int32
		score   float32
		literal bool
	}
	better := func(a, b hit) int {
		if a.literal != b.literal {
			if a.literal {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
	}
	best := make([]hit, 0, limit+1)
	for _, doc := range board.touched {
		h := hit{doc, board.score[doc], board.literal[doc]}
		if len(best) == limit && better(h, best[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, h, better)
		best = slices.Insert(best, at, h)
		best = best[:min(len(best), limit)]
	}
	entries := make([]*Entry, len(best))
	for i, h := range best {
		entries[i] = t.ordinal[h.doc]
	}
	return entries
}

// add scores one term.
func (b *scoreBoard) add(list []posting, t queryTerm, x *lexicon, stats *corpusStats) {
	found := 0
	for _, p := range list {
		if stats.visible[p.doc] {
			found++
		}
	}
	if found == 0 {
		return
	}
	idf := float32(math.Log(1 + (float64(stats.count-found)+0.5)/(float64(found)+0.5)))
	for _, p := range list {
		if !stats.visible[p.doc] {
			continue
		}
		if b.score[p.doc] == 0 {
			b.touched = append(b.touched, p.doc)
		}
		length := x.lengths[p.doc] / stats.average
		b.score[p.doc] += t.weight * idf * p.weight * (bm25K1 + 1) / (p.weight + bm25K1*(1-bm25B+bm25B*length))
		if t.literal {
			b.literal[p.doc] = true
		}
	}
}

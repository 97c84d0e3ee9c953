package catalog

import (
	"sync"
)

// lexicon is the search index of a snapshot: for every term the tools that have it. It is built on the first search,
// covers all tools whatever any policy says, and holds no statistics: those depend on who asks.
type lexicon struct {
	once     sync.Once
	terms    map[string]int32
	postings [][]posting
	lengths  []float32 // by position in snapshot.records: the tool's number of terms, weighted
}

// posting says how often a tool has a term, weighted by the fields it stands in.
type posting struct {
	doc    int32
	weight float32
}

// The weights of a tool's fields.
const (
	weightName        = 4
	weightLabel       = 2
	weightOwner       = 1.5
	weightDescription = 1
	weightParameter   = 0.35
)

func (s *Snapshot) index() *lexicon {
	s.lexicon.once.Do(func() { s.lexicon.build(s.records) })
	return &s.lexicon
}

func (x *lexicon) build(records []*record) {
	x.terms = make(map[string]int32, 4096)
	x.lengths = make([]float32, len(records))
	// counts gathers one tool's terms: by term, valid where stamp is the tool's.
	var counts []float32
	var stamp []int32
	var touched []int32
	weight := float32(0)
	doc := int32(0)
	w := &termWriter{both: true}
	w.emit = func(term []byte) {
		id, ok := x.terms[string(term)]
		if !ok {
			id = int32(len(x.postings))
			x.terms[string(term)] = id
			x.postings = append(x.postings, nil)
			counts, stamp = append(counts, 0), append(stamp, -1)
		}
		if stamp[id] != doc {
			stamp[id], counts[id] = doc, 0
			touched = append(touched, id)
		}
		counts[id] += weight
		x.lengths[doc] += weight
	}
	for i, r := range records {
		doc, touched = int32(i), touched[:0]
		for _, field := range r.searchFields() {
			weight = field.weight
			w.text(field.text)
		}
		if r.trusted() {
			weight = weightParameter
			schemaText(r.tool.InputSchema, w.text)
		}
		for _, id := range touched {
			x.postings[id] = append(x.postings[id], posting{doc, counts[id]})
		}
	}
}

type searchField struct {
	text   string
	weight float32
}

// searchFields are the texts by which a tool is found. The id is not one of them. A label that only repeats the name
// counts once.
func (r *record) searchFields() []searchField {
	t := &r.tool
	name := t.Name
	owner := t.Owner
	if t.MCP != nil {
		name = t.MCP.Tool
		owner = t.MCP.ServerName
	}
	fields := []searchField{{name, weightName}, {t.Description, weightDescription}}
	if t.Label != t.Name && t.Label != name {
		fields = append(fields, searchField{t.Label, weightLabel})
	}
	if owner != "core" && owner != "client" {
		fields = append(fields, searchField{owner, weightOwner})
	}
	return fields
}

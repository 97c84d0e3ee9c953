package mcp

import (
	"container/list"
	"encoding/base64"
	"encoding/json"
	"sync"

	"github.com/google/uuid"

	"codemode/internal/lazyregexp"
)

// Media is an image, a sound or another binary that a server sent and that is too large to pass through a cell.
type Media struct {
	// Reference stands for the data in a cell's values: text that begins with codemode-media:.
	Reference string
	// Kind is image, audio or resource.
	Kind     string
	MIMEType string
	URI      string // of a resource
	Data     []byte
	Server   string // the server it came from, as the configuration spells it
}

const mediaPrefix = "codemode-media:"

// mediaReference finds references as JSON texts.
var mediaReference = lazyregexp.New(`"` + mediaPrefix + `([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"`)

// mediaStore keeps media by session, the newest that fit.
type mediaStore struct {
	max int64

	mu     sync.Mutex
	bytes  int64
	order  *list.List // of *storedMedia, oldest first
	byName map[string]*list.Element
}

type storedMedia struct {
	session string
	media   *Media
}

func newMediaStore(max int64) *mediaStore {
	return &mediaStore{max: max, order: list.New(), byName: map[string]*list.Element{}}
}

func (m *mediaStore) put(session string, media *Media) {
	media.Reference = mediaPrefix + uuid.NewString()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byName[media.Reference] = m.order.PushBack(&storedMedia{session, media})
	m.bytes += int64(len(media.Data))
	for m.bytes > m.max && m.order.Len() > 1 {
		m.remove(m.order.Front())
	}
}

func (m *mediaStore) remove(e *list.Element) {
	s := m.order.Remove(e).(*storedMedia)
	delete(m.byName, s.media.Reference)
	m.bytes -= int64(len(s.media.Data))
}

// get finds media of a session; that of another session is unknown.
func (m *mediaStore) get(session, reference string) (*Media, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byName[reference]
	if !ok || e.Value.(*storedMedia).session != session {
		return nil, false
	}
	m.order.MoveToBack(e)
	return e.Value.(*storedMedia).media, true
}

func (m *mediaStore) drop(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := m.order.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*storedMedia).session == session {
			m.remove(e)
		}
		e = next
	}
}

// referToMedia replaces large data in a content block or in the contents of a resource. kind is the block's. The second
// result is false where nothing was replaced.
func (u *Upstream) referToMedia(session, server, kind, dataField string, object map[string]json.RawMessage) bool {
	var data, mimeType, uri string
	if json.Unmarshal(object[dataField], &data) != nil || len(data) <= u.options.MediaInlineBytes {
		return false
	}
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return false // not what it says it is: it stays as it came
	}
	_ = json.Unmarshal(object["mimeType"], &mimeType)
	_ = json.Unmarshal(object["uri"], &uri)
	media := &Media{Kind: kind, MIMEType: mimeType, URI: uri, Data: decoded, Server: server}
	u.media.put(session, media)
	object[dataField] = mustMarshal(media.Reference)
	object["bytes"] = mustMarshal(len(decoded))
	return true
}

// expandMedia puts data back where an argument has a reference: a cell may hand an image from one server to another.
func (u *Upstream) expandMedia(session string, input json.RawMessage) (json.RawMessage, error) {
	var unknown error
	out := mediaReference().ReplaceAllFunc(input, func(match []byte) []byte {
		media, ok := u.media.get(session, string(match[1:len(match)-1]))
		if !ok {
			unknown = errMediaUnknown
			return match
		}
		return mustMarshal(base64.StdEncoding.EncodeToString(media.Data))
	})
	return out, unknown
}

// Media finds what a reference in a session's values stands for. It is kept while the session lives and the store has
// room (UpstreamOptions.MediaStoreBytes); the one that was not used for longest goes first.
func (u *Upstream) Media(session, reference string) (*Media, bool) {
	return u.media.get(session, reference)
}

// DropMedia forgets the media of a session.
func (u *Upstream) DropMedia(session string) { u.media.drop(session) }

// mediaIn lists the media that a JSON text refers to, each once, in order.
func (u *Upstream) mediaIn(session string, text []byte) []*Media {
	var found []*Media
	seen := map[string]bool{}
	for _, match := range mediaReference().FindAll(text, -1) {
		reference := string(match[1 : len(match)-1])
		if seen[reference] {
			continue
		}
		seen[reference] = true
		if media, ok := u.media.get(session, reference); ok {
			found = append(found, media)
		}
	}
	return found
}

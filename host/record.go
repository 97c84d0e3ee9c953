package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codemode/catalog"
	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
)

// A record is a suspended cell as a store keeps it: a magic, the length of the cell's state, the state as JSON, and the
// encoded snapshot. With the default store only the snapshot is kept, since the state is in memory.

const recordMagic = "CMCELL\x00\x01"

// state is everything of a cell beside its virtual machine.
type state struct {
	ID          string             `json:"id"`
	Scope       Scope              `json:"scope"`
	Title       string             `json:"title,omitempty"`
	ParentID    string             `json:"parentId,omitempty"`
	RestartSafe bool               `json:"restartSafe,omitempty"`
	Limits      limits.Limits      `json:"limits"`
	Started     time.Time          `json:"started"`
	Source      string             `json:"source"`
	Language    transpile.Language `json:"language"`
	KeepLast    bool               `json:"keepLast,omitempty"`

	Output     limits.State    `json:"output"`
	Done       bool            `json:"done,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`
	Dispatched bool            `json:"dispatched,omitempty"`
	Numbers    numbering       `json:"numbers"`
	Calls      int             `json:"calls,omitempty"`
	Finished   int             `json:"finished,omitempty"`
	Unhurried  bool            `json:"unhurried,omitempty"`
	Untrusted  bool            `json:"untrusted,omitempty"`
	Used       CellTelemetry   `json:"used"`
	Pending    []pendingState  `json:"pending,omitempty"`
}

type pendingState struct {
	ID           uint32           `json:"id"`
	Method       string           `json:"method"`
	Number       int              `json:"number"`
	Tool         string           `json:"tool,omitempty"`
	Binding      guestabi.Binding `json:"binding,omitempty"`
	Shape        guestabi.Shape   `json:"shape,omitempty"`
	Input        json.RawMessage  `json:"input,omitempty"`
	Site         guestabi.Site    `json:"site"`
	Query        string           `json:"query,omitempty"`
	Limit        uint32           `json:"limit,omitempty"`
	Surface      guestabi.Surface `json:"surface,omitempty"`
	Milliseconds uint32           `json:"milliseconds,omitempty"`
	Asked        time.Time        `json:"asked"`
	Order        int              `json:"order,omitempty"`
	Started      bool             `json:"started,omitempty"`
	Settled      bool             `json:"settled,omitempty"`
	OK           bool             `json:"ok,omitempty"`
	Reply        json.RawMessage  `json:"reply,omitempty"`
	ReplyOrder   int              `json:"replyOrder,omitempty"`
}

// state takes the cell's state down. The caller holds mu, and nobody drives the cell.
func (c *cell) state() state {
	s := state{
		ID: c.id, Scope: c.scope, Title: c.title, ParentID: c.parentID, RestartSafe: c.restartSafe, Limits: c.limits,
		Started: c.started, Source: c.prepared.Source(), Language: c.prepared.Language, KeepLast: c.host.options.KeepLast,
		Output: c.output.State(), Done: c.done, Value: c.value, Truncated: c.truncated, Dispatched: c.dispatched,
		Numbers: c.numbers, Calls: c.calls, Finished: c.finished, Unhurried: c.unhurried, Untrusted: c.untrusted.Load(), Used: c.used,
	}
	for _, t := range c.tools {
		if s.Used.Tools == nil {
			s.Used.Tools = map[string]ToolUsage{}
		}
		s.Used.Tools[t.name] = t.usage
	}
	if c.truncated { // a prefix is not JSON
		s.Value, _ = marshal(string(c.value))
	}
	order := map[*request]int{}
	for i, r := range c.replies {
		order[r] = i + 1
	}
	for _, r := range c.pending {
		s.Pending = append(s.Pending, pendingState{
			ID: r.id, Method: r.method, Number: r.number, Tool: r.tool, Binding: r.binding, Shape: r.shape, Input: r.input,
			Site: r.site, Query: r.query, Limit: r.limit, Surface: r.surface, Milliseconds: r.milliseconds, Asked: r.asked,
			Order: r.order, Started: r.began, Settled: r.settled, OK: r.ok, Reply: r.reply, ReplyOrder: order[r],
		})
	}
	return s
}

// record is the cell as the store keeps it. The caller holds mu.
func (c *cell) record(snapshot []byte) ([]byte, error) {
	if !c.host.durable {
		return snapshot, nil
	}
	text, err := marshal(c.state())
	if err != nil {
		return nil, fmt.Errorf("host: a suspended cell's state: %w", err)
	}
	out := make([]byte, 0, len(recordMagic)+binary.MaxVarintLen64+len(text)+len(snapshot))
	out = append(out, recordMagic...)
	out = binary.AppendUvarint(out, uint64(len(text)))
	out = append(out, text...)
	return append(out, snapshot...), nil
}

var errNotRecord = errors.New("host: the stored run is not one that this build wrote")

func readRecord(record []byte) (*state, []byte, error) {
	rest, ok := bytes.CutPrefix(record, []byte(recordMagic))
	if !ok {
		return nil, nil, errNotRecord
	}
	n, size := binary.Uvarint(rest)
	if size <= 0 || n > uint64(len(rest)-size) {
		return nil, nil, errNotRecord
	}
	s := &state{}
	if err := json.Unmarshal(rest[size:size+int(n)], s); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotRecord, err)
	}
	return s, rest[size+int(n):], nil
}

// keep notes the record that a durable store has, of which snapshot is the end. The caller holds mu.
func (c *cell) keep(record, snapshot []byte) {
	if c.host.durable && len(record) >= len(snapshot) {
		c.stored, c.snapshot = record, record[len(record)-len(snapshot):]
	}
}

// persist brings the stored record up to date while the cell is suspended: an answer has come in that must not be lost
// with this process. Where the record is not ours any more another process has taken it, and the cell is not either.
func (c *cell) persist() {
	if !c.host.durable {
		return
	}
	c.persisting.Lock()
	defer c.persisting.Unlock()
	c.mu.Lock()
	if c.driving || c.ending != nil {
		c.mu.Unlock()
		return
	}
	record, err := c.record(c.snapshot)
	was, expires := c.stored, c.expires
	c.mu.Unlock()
	ok := true
	if err == nil {
		ok, err = c.host.store.Replace(context.Background(), c.id, was, record, expires)
	}
	if ok && err == nil {
		c.mu.Lock()
		c.keep(record, c.snapshot)
		c.mu.Unlock()
	}
	if err != nil {
		c.host.log.Error().Str("run", c.id).Err(err).Msg("an answer could not be stored")
	}
	if !ok && err == nil {
		c.abort(errTaken)
	}
}

// errTaken is why calls end whose cell another process goes on with.
var errTaken = errors.New("another process goes on with the run")

// adopt makes a cell of a record that another process has stored, and starts what can be started again: what waited for
// its turn, timers, and calls that may be repeated. A call that was under way and may not be repeated is answered with
// an error that says so.
func (h *Host) adopt(s *state, snapshot []byte, expires time.Time) (*cell, error) {
	parked, err := quickjs.DecodeSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	prepared, err := h.preparer.Prepare(s.Source, transpile.Options{Language: s.Language, KeepLast: s.KeepLast, MaxSourceBytes: len(s.Source) + 1})
	if err != nil {
		return nil, fmt.Errorf("host: the stored cell's source: %w", err)
	}
	catalogNow := h.options.Catalog.Snapshot()
	c := &cell{
		host: h, id: s.ID, scope: s.Scope, title: s.Title, parentID: s.ParentID, restartSafe: s.RestartSafe, limits: s.Limits.Clamp(),
		view:   catalogNow.View(h.options.Policy).WithSession(catalog.Session{ID: s.Scope.Session, AgentRun: s.Scope.AgentRun}),
		counts: h.counters.of(catalogNow.Scope()), counterScope: catalogNow.Scope(), prepared: prepared, started: s.Started,
		output: limits.RestoreOutput(s.Limits.MaxOutputBytes, s.Output), parked: parked, ran: true, done: s.Done, value: s.Value,
		truncated: s.Truncated, dispatched: s.Dispatched, numbers: s.Numbers, calls: s.Calls, finished: s.Finished,
		unhurried: s.Unhurried, used: s.Used, outer: context.Background(), wake: make(chan struct{}, 1), expires: expires,
	}
	c.untrusted.Store(s.Untrusted)
	if c.truncated {
		var prefix string
		json.Unmarshal(s.Value, &prefix)
		c.value = json.RawMessage(prefix)
	}
	for name, usage := range s.Used.Tools {
		c.tools = append(c.tools, toolUse{name, usage})
	}
	c.used.Tools = nil
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	replies := make([]*request, len(s.Pending))
	for _, p := range s.Pending {
		r := &request{
			id: p.ID, method: p.Method, number: p.Number, tool: p.Tool, binding: p.Binding, shape: p.Shape, input: p.Input, site: p.Site,
			query: p.Query, limit: p.Limit, surface: p.Surface, milliseconds: p.Milliseconds, asked: p.Asked, order: p.Order,
			settled: p.Settled, ok: p.OK, reply: p.Reply,
		}
		c.pending = append(c.pending, r)
		c.lastAsked = max(c.lastAsked, r.id)
		if p.Settled && p.ReplyOrder > 0 && p.ReplyOrder <= len(replies) {
			replies[p.ReplyOrder-1] = r
			c.inbox += int64(len(p.Reply))
		}
	}
	for _, r := range replies {
		if r != nil {
			c.replies = append(c.replies, r)
		}
	}
	return c, nil
}

// restart starts what a cell that was adopted waits for. The caller holds mu.
func (c *cell) restart(s *state) {
	started := map[uint32]bool{}
	for _, p := range s.Pending {
		started[p.ID] = p.Started
	}
	for _, r := range append([]*request(nil), c.pending...) {
		switch {
		case r.settled || r.method == methodYield:
		case r.method == methodSleep:
			c.startTimer(r)
		case r.isCall() && started[r.id] && !c.mayRepeat(r):
			c.answer(r, false, c.errorReply(r, &catalog.Error{Code: "interrupted", Message: fmt.Sprintf(
				"The call of %q was under way when the process that ran it ended. Whether it had its effect is not known; look before you repeat it.", r.tool)}, true))
		case c.running < int(c.limits.MaxPendingToolCalls):
			c.start(r)
		default:
			c.queue = append(c.queue, r)
		}
	}
}

// mayRepeat says whether a call may be made twice.
func (c *cell) mayRepeat(r *request) bool {
	entry, _, _, err := c.target(r)
	return err == nil && entry != nil && entry.ReplaySafe()
}

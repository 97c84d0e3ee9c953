package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"codemode/catalog"
	"codemode/guestabi"
	"codemode/limits"
	"codemode/transpile"
)

// ExecInput is what the exec tool takes. It also unmarshals from what a model sent, whatever that is: what is wrong with
// it is then the result of Exec.
type ExecInput struct {
	// Code is the text of the cell; Command is another name for it. Where both are given they must be equal.
	Code    string
	Command string
	// Language picks the language; empty takes JavaScript first, then TypeScript.
	Language transpile.Language
	// RestartSafe promises that the cell calls nothing that must not be called twice; what is not proven to be so is
	// refused.
	RestartSafe bool
	// Title is a few words for people.
	Title string

	problem string
}

// UnmarshalJSON never fails: a wrong field is reported by Exec.
func (in *ExecInput) UnmarshalJSON(text []byte) error {
	*in = ExecInput{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil // not an object: as an empty one
	}
	str := func(name string) string {
		var s string
		json.Unmarshal(fields[name], &s) // an alias that is not text counts as absent
		return s
	}
	in.Code, in.Command, in.Title = str("code"), str("command"), str("title")
	if raw, ok := fields["language"]; ok {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			in.problem = "language must be javascript or typescript."
		}
		in.Language = transpile.Language(s)
	}
	if raw, ok := fields["restartSafe"]; ok {
		if string(raw) == "null" || json.Unmarshal(raw, &in.RestartSafe) != nil {
			in.problem = "restartSafe must be true or false."
		}
	}
	return nil
}

// source is the cell's text, or what is wrong with the input.
func (in *ExecInput) source(languages []transpile.Language) (string, error) {
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	switch {
	case !blank(in.Code) && !blank(in.Command) && in.Code != in.Command:
		return "", errors.New("code and command are two names for one thing; they were both given and differ. Send code alone.")
	case blank(in.Code) && blank(in.Command):
		return "", errors.New("code is missing: send the JavaScript or TypeScript to run as a non-empty string.")
	case in.problem != "":
		return "", errors.New(in.problem)
	}
	switch in.Language {
	case "", transpile.JavaScript, transpile.TypeScript:
	default:
		return "", errors.New("language must be javascript or typescript.")
	}
	if in.Language != "" && len(languages) > 0 {
		allowed := false
		for _, l := range languages {
			allowed = allowed || l == in.Language
		}
		if !allowed {
			return "", errors.New("this host does not take " + string(in.Language) + ".")
		}
	}
	if blank(in.Code) {
		return in.Command, nil
	}
	return in.Code, nil
}

// CallOptions change one exec.
type CallOptions struct {
	// Limits override the host's for this cell where they are not zero.
	Limits limits.Limits
	// Policy replaces the host's for this cell. Default: the host's.
	Policy *catalog.Policy
	// ParentID is the id of the model's call, for the trajectory.
	ParentID string
}

// Exec runs a cell until it completes, fails, or must wait.
func (h *Host) Exec(ctx context.Context, scope Scope, in ExecInput) *Result {
	return h.ExecWith(ctx, scope, in, CallOptions{})
}

// ExecWith is Exec with options.
func (h *Host) ExecWith(ctx context.Context, scope Scope, in ExecInput, options CallOptions) *Result {
	ctx, observed := h.observe.result(ctx, "exec")
	r := h.exec(ctx, scope, in, options)
	observed(r)
	return r
}

func (h *Host) exec(ctx context.Context, scope Scope, in ExecInput, options CallOptions) *Result {
	policy := h.options.Policy
	if options.Policy != nil {
		policy = options.Policy
	}
	snapshot := h.options.Catalog.Snapshot()
	c := &cell{
		host: h, id: newRunID(), scope: scope, title: in.Title, parentID: options.ParentID, restartSafe: in.RestartSafe,
		limits: h.limits, view: snapshot.View(policy).WithSession(catalog.Session{ID: scope.Session, AgentRun: scope.AgentRun}),
		counts: h.counters.of(snapshot.Scope()), counterScope: snapshot.Scope(), prepared: &transpile.Cell{}, started: time.Now(), wake: make(chan struct{}, 1),
		driving: true, outer: ctx,
	}
	if options.Limits != (limits.Limits{}) {
		c.limits = h.limits.Merge(options.Limits).Clamp()
	}
	c.output = limits.NewOutput(c.limits.MaxOutputBytes)

	if h.noEngine != nil {
		return c.fail(h.noEngine)
	}
	if err := h.execHooks(ctx, scope, &in, options.ParentID); err != nil {
		return c.refuse(err.Error(), nil, "")
	}
	text, err := in.source(h.options.Languages)
	if err != nil {
		return c.refuse(err.Error(), nil, "")
	}
	prepare := transpile.Options{Language: in.Language, KeepLast: h.options.KeepLast, MaxSourceBytes: int(c.limits.MaxSourceBytes)}
	if in.Language == "" && len(h.options.Languages) == 1 {
		prepare.Language = h.options.Languages[0]
	}
	prepared, err := h.preparer.Prepare(text, prepare)
	if err != nil {
		return c.refuseSource(err)
	}
	c.prepared = prepared

	ctx, c.driver = context.WithCancelCause(ctx)
	defer c.driver(nil)
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.cells[c.id] = c
	}
	h.mu.Unlock()
	if closed {
		return c.fail(errClosed)
	}
	vm, err := h.engine.NewVM(ctx, c, c.vmOptions(time.Time{}))
	if err != nil {
		return c.fail(err)
	}
	c.vm = vm
	return c.drive(ctx, func() (guestabi.Outcome, error) {
		c.ran = true
		return vm.Run(prepared.Body)
	})
}

// MessageUnavailable is the error of a wait for a run that there is not, or not any more. It is part of the contract, word
// for word.
const MessageUnavailable = "code mode run is unavailable or expired."

// The other messages of wait; the first two are part of the contract as well, word for word.
const (
	messageOtherSession  = "code mode run belongs to a different session."
	messageTooMany       = "too many suspended code mode runs."
	messageOtherRun      = "this run was started by another agent run; only that one can wait for it."
	messageAlreadyWaited = "another wait for this run is under way; let it finish."
	messageInterrupted   = "The process that ran this cell ended while it ran. Calls that it had begun may have had their effect; look before you repeat them."
	messageNoRunID       = "runId must be the id that a waiting result gave, as a non-empty string."
)

// WaitInput is what the wait tool takes.
type WaitInput struct {
	RunID string
}

// UnmarshalJSON never fails: what is wrong is reported by Wait.
func (in *WaitInput) UnmarshalJSON(text []byte) error {
	var fields struct {
		RunID  any `json:"runId"`
		RunID2 any `json:"run_id"`
	}
	json.Unmarshal(text, &fields)
	in.RunID, _ = fields.RunID.(string)
	if in.RunID == "" {
		in.RunID, _ = fields.RunID2.(string)
	}
	return nil
}

// Wait goes on with a suspended cell: it blocks until the cell completes, fails, yields again, or the deadline passes
// with calls still under way.
func (h *Host) Wait(ctx context.Context, scope Scope, in WaitInput) *Result {
	ctx, observed := h.observe.result(ctx, "wait")
	r := h.wait(ctx, scope, in)
	observed(r)
	return r
}

func (h *Host) wait(ctx context.Context, scope Scope, in WaitInput) *Result {
	id := strings.TrimSpace(in.RunID)
	if id == "" {
		return h.refuseWait(messageNoRunID)
	}
	h.mu.Lock()
	c, last := h.cells[id], h.repeated(id, scope)
	h.mu.Unlock()
	if last != nil {
		return last
	}
	if c == nil {
		switch {
		case !h.durable:
			return h.refuseWait(MessageUnavailable)
		case h.noEngine != nil: // another host can go on with it
			return h.refuseUnavailable(h.noEngine)
		}
		return h.waitAdopted(ctx, scope, id)
	}
	caller := ctx
	ctx, driver := context.WithCancelCause(ctx)
	defer driver(nil)
	c.mu.Lock()
	refusal := ""
	switch {
	case c.scope.AgentRun != scope.AgentRun:
		refusal = messageOtherRun
	case c.scope.Session != scope.Session:
		refusal = messageOtherSession
	case c.ending != nil:
		refusal = MessageUnavailable
	case c.driving:
		refusal = messageAlreadyWaited
	default:
		c.driving, c.driver = true, driver
		c.expiry.Stop()
	}
	taken := errors.Is(c.ending, errTaken)
	c.mu.Unlock()
	if refusal == MessageUnavailable && taken { // it has just ended here alone
		return h.waitAdopted(caller, scope, id)
	}
	if refusal == MessageUnavailable { // it has just ended
		h.mu.Lock()
		last := h.repeated(id, scope)
		h.mu.Unlock()
		if last != nil {
			return last
		}
	}
	if refusal != "" {
		return h.refuseWait(refusal)
	}
	if err := c.resume(ctx); err != nil {
		var newer *superseded
		switch {
		case errors.As(err, &newer):
			c.end(errTaken, nil)
			return h.adoptAndDrive(caller, id, newer.record, newer.expires)
		case errors.Is(err, errExpired):
			c.end(errExpired, nil)
			return h.refuseWait(MessageUnavailable)
		case errors.Is(err, ErrRunTaken):
			c.end(errTaken, nil)
			return h.refuseWait(messageAlreadyWaited)
		case errors.Is(err, ErrRunInterrupted):
			c.end(errTaken, nil)
			return h.refuseInterrupted()
		}
		return c.fail(err)
	}
	h.log.Debug().Str("run", c.id).Msg("cell resumes")
	return c.drive(ctx, nil)
}

// waitAdopted goes on with a cell that another process has suspended.
func (h *Host) waitAdopted(ctx context.Context, scope Scope, id string) *Result {
	record, _, ok, err := h.store.Get(ctx, id)
	var expires time.Time
	if ok && err == nil {
		// Before it is taken: it may be somebody else's.
		if s, _, err := readRecord(record); err == nil && s.Scope != scope {
			if s.Scope.AgentRun != scope.AgentRun {
				return h.refuseWait(messageOtherRun)
			}
			return h.refuseWait(messageOtherSession)
		}
		record, expires, ok, err = h.store.Take(ctx, id)
	}
	switch {
	case errors.Is(err, ErrRunTaken):
		return h.refuseWait(messageAlreadyWaited)
	case errors.Is(err, ErrRunInterrupted):
		return h.refuseInterrupted()
	case err != nil:
		h.log.Error().Str("run", id).Err(err).Msg("the store cannot be read")
		return h.refuseWait(MessageUnavailable)
	case !ok:
		return h.refuseWait(MessageUnavailable)
	}
	return h.adoptAndDrive(ctx, id, record, expires)
}

// adoptAndDrive goes on with a run whose record was taken and of which nothing else is here.
func (h *Host) adoptAndDrive(ctx context.Context, id string, record []byte, expires time.Time) *Result {
	putBack := func() {
		if err := h.store.Put(context.WithoutCancel(ctx), id, record, expires); err != nil {
			h.log.Error().Str("run", id).Err(err).Msg("a run could not be put back")
		}
	}
	var c *cell
	s, snapshot, err := readRecord(record)
	if err == nil {
		c, err = h.adopt(s, snapshot, expires)
	}
	if err != nil {
		putBack() // another build may be able to
		h.log.Error().Str("run", id).Err(err).Msg("a stored run cannot be restored")
		r := h.refuseWait("The suspended cell cannot be restored: " + strings.TrimPrefix(strings.TrimPrefix(err.Error(), "quickjs: "), "host: ") + ".")
		r.Code, r.FailurePhase = InternalError, PhaseHost
		return r
	}
	ctx, c.driver = context.WithCancelCause(ctx)
	defer c.driver(nil)
	c.driving, c.taken = true, true
	h.makeRoom(c.limits.MaxSuspendedCells)
	h.mu.Lock()
	closed := h.closed
	c.reserved = !closed && h.reserved.Add(1) <= c.limits.MaxSuspendedCells
	if c.reserved {
		h.cells[c.id] = c
	}
	h.mu.Unlock()
	switch {
	case closed:
		putBack()
		return h.refuseUnavailable(errClosed)
	case !c.reserved:
		h.reserved.Add(-1)
		putBack()
		return h.refuseWait(messageTooMany)
	}
	if err := c.resume(ctx); err != nil {
		return c.fail(err)
	}
	c.mu.Lock()
	c.restart(s)
	c.mu.Unlock()
	h.log.Debug().Str("run", c.id).Msg("cell of another process resumes")
	return c.drive(ctx, nil)
}

// refuseInterrupted is the result of a wait for a cell that died with its process.
func (h *Host) refuseInterrupted() *Result {
	r := h.refuseWait(messageInterrupted)
	r.Code, r.FailurePhase, r.BridgeDispatchStarted = InternalError, PhaseHost, true
	return r
}

// refuseUnavailable is the result of a wait at a host that runs no cells.
func (h *Host) refuseUnavailable(why error) *Result {
	code, phase, message, _ := (&cell{host: h}).classify(why)
	r := h.refuseWait(message)
	r.Code, r.FailurePhase = code, phase
	return r
}

// refuseWait is the result of a wait that cannot reach its cell.
func (h *Host) refuseWait(message string) *Result {
	snapshot := h.options.Catalog.Snapshot()
	c := &cell{host: h, view: snapshot.View(h.options.Policy), counts: h.counters.of(snapshot.Scope()), counterScope: snapshot.Scope(), prepared: &transpile.Cell{}}
	r := c.result(Failed)
	r.Code, r.FailurePhase, r.Error = InvalidInput, PhaseInput, message
	return r
}

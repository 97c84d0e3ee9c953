package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/transpile"
)

// settings are options.json.
type settings struct {
	Limits        limits.Limits        `json:"limits"`
	Languages     []transpile.Language `json:"languages"`
	KeepLast      bool                 `json:"keepLast"`
	StrictOutput  bool                 `json:"strictOutput"`
	Deterministic bool                 `json:"deterministic"`
	Scope         host.Scope           `json:"scope"`
	Exec          json.RawMessage      `json:"exec"`    // arguments of exec beside code
	Allow         []string             `json:"allow"`   // the policy; absent allows all
	Deny          []string             `json:"deny"`    //
	Hooks         []hook               `json:"hooks"`   //
	Approve       *approve             `json:"approve"` // absent: tools cannot ask
	Show          []string             `json:"show"`    // "keys", "telemetry": shown in every result
	Hide          []string             `json:"hide"`    // "place": where a cell was, where that is chance
	Durable       bool                 `json:"durable"` // suspended cells are stored in files, for `restart`
	AtOnce        []string             `json:"atOnce"`  // tools of which `ran` says how many ran at once
}

// hook is a hook on the calls of one tool.
type hook struct {
	Tool   string          `json:"tool"`
	Deny   string          `json:"deny"`   // the reason why it may not run
	Input  json.RawMessage `json:"input"`  // what it gets instead
	Output json.RawMessage `json:"output"` // what it gives instead
}

// approve is what a person answers.
type approve struct {
	No      string `json:"no"` // the reason; empty agrees
	AfterMs int    `json:"afterMs"`
}

func (p *player) newHost() *host.Host {
	options := &host.Options{
		Catalog: p.tools.catalog, Limits: p.s.Limits, Engine: p.engine, Languages: p.s.Languages, KeepLast: p.s.KeepLast,
		StrictOutput: p.s.StrictOutput, Deterministic: p.s.Deterministic, Trajectory: p.tools.record,
	}
	if p.s.Durable {
		if p.store == nil {
			p.store = p.openStore()
		}
		options.Store = p.store
	}
	if p.s.Allow != nil || p.s.Deny != nil {
		options.Policy = catalog.NewPolicy(p.s.Allow, p.s.Deny)
	}
	for _, h := range p.s.Hooks {
		options.Hooks = append(options.Hooks, h.hook())
	}
	if a := p.s.Approve; a != nil {
		options.Approve = a.approve
	}
	h, err := host.New(options)
	if err != nil {
		p.t.Error(err)
		return nil
	}
	return h
}

func (p *player) openStore() host.Store {
	store, err := host.OpenFileStore(filepath.Join(p.t.TempDir(), "runs"))
	if err != nil {
		p.t.Error(err)
		return nil
	}
	return store
}

func (h hook) hook() host.Hook {
	return host.Hook{
		Before: func(_ context.Context, call *host.NestedCall) error {
			if call.Entry.Name() != h.Tool {
				return nil
			}
			if h.Deny != "" {
				return errors.New(h.Deny)
			}
			if h.Input != nil {
				call.Input = h.Input
			}
			return nil
		},
		After: func(_ context.Context, call *host.NestedCall, result *catalog.Result) error {
			if call.Entry.Name() == h.Tool && h.Output != nil {
				result.Value = h.Output
			}
			return nil
		},
	}
}

func (a *approve) approve(ctx context.Context, _ host.Approval) error {
	select {
	case <-time.After(time.Duration(a.AfterMs) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.No != "" {
		return errors.New(a.No)
	}
	return nil
}

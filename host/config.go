package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"codemode/limits"
	"codemode/transpile"
)

// Config is code mode's part of an agent runtime's configuration. In JSON it is true, false, or an object:
//
//	true
//	{"enabled": true, "timeoutMs": 5000, "languages": ["javascript"]}
//
// An object without enabled is off: setting a limit does not turn code mode on. Limits have the names of limits.Table;
// numbers out of range are moved into it when the configuration is used. The zero value is off.
type Config struct {
	Enabled bool
	// enabledSet and fuelSet say that enabled and fuel were given, whose zeroes mean something too, for merging.
	enabledSet   bool
	fuelSet      bool
	Languages    []transpile.Language // empty for both
	KeepLast     *bool
	StrictOutput *bool
	Limits       limits.Limits
}

// UnmarshalJSON takes true, false, null (off) and an object. Unknown names and wrong types are errors that name them.
func (c *Config) UnmarshalJSON(text []byte) error {
	*c = Config{}
	switch string(bytes.TrimSpace(text)) {
	case "true", "false":
		c.Enabled, c.enabledSet = string(bytes.TrimSpace(text)) == "true", true
		return nil
	case "null":
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return errors.New("host: code mode's configuration is true, false or an object")
	}
	for name, value := range fields {
		if err := c.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) set(name string, value json.RawMessage) error {
	wrong := func(what string) error { return fmt.Errorf("host: %s must be %s, not %.40s", name, what, value) }
	flag := func(to **bool) error {
		*to = new(bool)
		if json.Unmarshal(value, *to) != nil || string(value) == "null" {
			return wrong("true or false")
		}
		return nil
	}
	switch name {
	case "enabled":
		if json.Unmarshal(value, &c.Enabled) != nil || string(value) == "null" {
			return wrong("true or false")
		}
		c.enabledSet = true
		return nil
	case "keepLast":
		return flag(&c.KeepLast)
	case "strictOutput":
		return flag(&c.StrictOutput)
	case "languages":
		var list []transpile.Language
		if json.Unmarshal(value, &list) != nil {
			return wrong("a list of languages")
		}
		for _, l := range list {
			if l != transpile.JavaScript && l != transpile.TypeScript {
				return fmt.Errorf("host: languages: there is no language %q; there are javascript and typescript", l)
			}
			if !slices.Contains(c.Languages, l) {
				c.Languages = append(c.Languages, l)
			}
		}
		return nil
	}
	text := strings.TrimSpace(string(value))
	if n, err := strconv.ParseFloat(text, 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		text = strconv.FormatInt(int64(n), 10) // 1e4 is a whole number too
	}
	if err := c.Limits.Set(name + "=" + text); err != nil {
		return fmt.Errorf("host: code mode's configuration: %w", err)
	}
	c.fuelSet = c.fuelSet || name == "fuel"
	return nil
}

// Merge is this configuration with another over it, as an agent's is over the global one: field by field, where the
// other sets a field.
func (c Config) Merge(over Config) Config {
	if over.enabledSet {
		c.Enabled, c.enabledSet = over.Enabled, true
	}
	if len(over.Languages) > 0 {
		c.Languages = over.Languages
	}
	if over.KeepLast != nil {
		c.KeepLast = over.KeepLast
	}
	if over.StrictOutput != nil {
		c.StrictOutput = over.StrictOutput
	}
	c.Limits = c.Limits.Merge(over.Limits)
	if over.fuelSet {
		c.Limits.Fuel, c.fuelSet = over.Limits.Fuel, true
	}
	return c
}

// Apply puts the configuration into a host's options.
func (c Config) Apply(o *Options) {
	o.Limits = c.Limits.Clamp()
	o.Languages = c.Languages
	if c.KeepLast != nil {
		o.KeepLast = *c.KeepLast
	}
	if c.StrictOutput != nil {
		o.StrictOutput = *c.StrictOutput
	}
}

// AgentRun is what decides, beside the configuration, whether an agent's run uses code mode.
type AgentRun struct {
	// Raw runs call the model without tools of the runtime.
	Raw bool
	// DisableTools runs have none.
	DisableTools bool
	// AllowEmpty says that the run's list of allowed tools is there and empty.
	AllowEmpty bool
	// MessageOnly runs are private completions that may only write a message.
	MessageOnly bool
	// ToolSearch says that the run hides its tools behind another search already.
	ToolSearch bool
}

// Active says whether a run uses code mode, and if not, why not, in one sentence. A run that is not active shows its
// tools as it does without code mode; an active one whose host is not Available must fail instead.
func (c Config) Active(run AgentRun) (active bool, why string) {
	switch {
	case !c.Enabled && !c.enabledSet:
		return false, "code mode is not enabled: the configuration does not say enabled"
	case !c.Enabled:
		return false, "code mode is disabled by the configuration"
	case run.Raw:
		return false, "the run calls the model without tools"
	case run.DisableTools:
		return false, "the run has its tools disabled"
	case run.AllowEmpty:
		return false, "the run allows no tool"
	case run.MessageOnly:
		return false, "the run may only write a message"
	case run.ToolSearch:
		return false, "the run hides its tools behind tool search"
	}
	return true, ""
}

package bench

import (
	"context"
	"io"
	"time"
)

// TuneOptions configures Tune.
type TuneOptions struct {
	Code     string
	Tools    string
	Budget   time.Duration
	Progress io.Writer
}

// Advice is what Tune found.
type Advice struct{}

// Tune tries settings with a cell.
func Tune(ctx context.Context, o TuneOptions) (*Advice, error) { return &Advice{}, nil }

// WriteText writes it.
func (a *Advice) WriteText(w io.Writer) error { return nil }

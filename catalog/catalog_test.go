package catalog

import "context"

// echo is a tool that gives back its argument.
func echo(_ context.Context, c *Call) (*Result, error) { return &Result{Value: c.Input}, nil }

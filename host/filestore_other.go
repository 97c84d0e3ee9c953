//go:build !unix

package host

import "errors"

// lockFolder cannot be had here.
func lockFolder(string) (func(), error) { return nil, errors.New("this system has no file locks") }

//go:build !unix

package host

import (
	"errors"
	"os"
)

func lockFile(*os.File) bool { return false }

// lockFolder cannot be had here.
func lockFolder(string) (func(), error) { return nil, errors.New("this system has no file locks") }

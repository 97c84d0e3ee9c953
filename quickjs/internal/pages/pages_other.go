//go:build !linux

package pages

// Scanner asks the kernel; this one cannot be asked.
type Scanner struct{}

// Open says ErrUnsupported.
func Open() (*Scanner, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Scanner) Close() error { return nil }

// Written says ErrUnsupported.
func (*Scanner) Written([]byte, []Run) ([]Run, error) { return nil, ErrUnsupported }

// Forget says ErrUnsupported.
func Forget([]byte) error { return ErrUnsupported }

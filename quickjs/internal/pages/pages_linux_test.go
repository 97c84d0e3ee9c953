package pages

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func scanner(t *testing.T) *Scanner {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Skip("this kernel does not have PAGEMAP_SCAN (Linux 6.7): ", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestWrittenPagesOfAPrivateFileMapping(t *testing.T) {
	s := scanner(t)
	f, err := os.CreateTemp(t.TempDir(), "image")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(16 * Size); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 16*Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	_ = m[2*Size] // only read: not written
	m[4*Size], m[5*Size+1], m[9*Size] = 1, 1, 1
	runs, err := s.Written(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Run{{4 * Size, 6 * Size}, {9 * Size, 10 * Size}}, runs); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestForgottenPagesAreTheFilesAgain(t *testing.T) {
	s := scanner(t)
	f, err := os.CreateTemp(t.TempDir(), "image")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteAt([]byte("image"), Size)
	f.Truncate(4 * Size)
	m, err := unix.Mmap(int(f.Fd()), 0, 4*Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	copy(m[Size:], "cell!")
	m[3*Size] = 1
	if err := Forget(m); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Written(m, nil)
	if err != nil || len(runs) != 0 || string(m[Size:Size+5]) != "image" || m[3*Size] != 0 {
		t.Errorf("%v %v %q %d", runs, err, m[Size:Size+5], m[3*Size])
	}
}

func TestMoreRunsThanOneAnswerHolds(t *testing.T) {
	s := scanner(t)
	const n = 400
	m, err := unix.Mmap(-1, 0, 2*n*Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	var want []Run
	for i := range n {
		m[2*i*Size] = 1
		want = append(want, Run{2 * i * Size, (2*i + 1) * Size})
	}
	runs, err := s.Written(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

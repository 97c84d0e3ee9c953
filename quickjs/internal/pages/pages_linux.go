package pages

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Scanner asks through /proc/self/pagemap. It is safe for concurrent use.
type Scanner struct {
	file *os.File
	fd   uintptr
	// Questions hold addresses as numbers, so they must not move: they live on the heap.
	questions sync.Pool
}

type question struct {
	arg    scanArg
	answer [64]region
}

// The PAGEMAP_SCAN ioctl, Linux 6.7: https://docs.kernel.org/admin-guide/mm/pagemap.html
const (
	pagemapScan    = 0xC0606610
	pageIsFile     = 1 << 2
	pageIsPresent  = 1 << 3
	pageIsSwapped  = 1 << 4
	pageIsZeroPage = 1 << 5
)

type scanArg struct {
	size, flags, start, end, walkEnd uint64
	vec                              uint64
	vecLen, maxPages                 uint64
	inverted, mask, anyOf, returned  uint64
}

type region struct{ start, end, categories uint64 }

// Open makes a scanner, or says ErrUnsupported.
func Open() (*Scanner, error) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	s := &Scanner{file: f, fd: f.Fd()}
	s.questions.New = func() any { return new(question) }
	probe, err := unix.Mmap(-1, 0, 2*Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		f.Close()
		return nil, err
	}
	defer unix.Munmap(probe)
	probe[Size] = 1
	runs, err := s.Written(probe, nil)
	if err != nil || len(runs) != 1 || runs[0] != (Run{Size, 2 * Size}) {
		f.Close()
		return nil, ErrUnsupported
	}
	return s, nil
}

// Close ends the scanner.
func (s *Scanner) Close() error { return s.file.Close() }

// Written appends the runs of pages of memory that were written since they were mapped to runs[:0]. A page that maps a
// file privately counts once it was written; pages only read do not. memory starts at a page boundary.
func (s *Scanner) Written(memory []byte, runs []Run) ([]Run, error) {
	runs = runs[:0]
	q := s.questions.Get().(*question)
	defer s.questions.Put(q)
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
	end := base + uint64(len(memory))
	q.arg = scanArg{
		size: uint64(unsafe.Sizeof(scanArg{})), start: base, end: end,
		vec: uint64(uintptr(unsafe.Pointer(&q.answer))), vecLen: uint64(len(q.answer)),
		// Not of the file, not the shared page of zeroes, and here or swapped out: a copy of our own.
		inverted: pageIsFile | pageIsZeroPage, mask: pageIsFile | pageIsZeroPage,
		anyOf: pageIsPresent | pageIsSwapped, returned: pageIsPresent,
	}
	for q.arg.start < end {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, s.fd, pagemapScan, uintptr(unsafe.Pointer(&q.arg)))
		if errno != 0 {
			return nil, errno
		}
		for _, r := range q.answer[:n] {
			run := Run{int(r.start - base), int(r.end - base)}
			if last := len(runs) - 1; last >= 0 && runs[last].End == run.Start {
				runs[last].End = run.End
			} else {
				runs = append(runs, run)
			}
		}
		if q.arg.walkEnd <= q.arg.start {
			break
		}
		q.arg.start = q.arg.walkEnd
	}
	runtime.KeepAlive(memory)
	runtime.KeepAlive(s.file)
	return runs, nil
}

// Forget drops this process's copies of the pages of a private mapping: what is read there next is the file's content
// again, or zeroes where the mapping has no file.
func Forget(memory []byte) error { return unix.Madvise(memory, unix.MADV_DONTNEED) }

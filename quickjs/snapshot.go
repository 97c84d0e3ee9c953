package quickjs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs/internal/pages"
)

// A snapshot is what a suspended cell's memory has that the image has not: for each run of eight-byte words that differ,
// how many words to skip, how many follow, and those words xor-ed with the image's, as putWord writes them. The stack is
// left out: between calls nothing on it is alive.
//
// At rest a snapshot is one self-describing record:
//
//	magic     8 bytes  "CMSNAP" and the format's version, big-endian
//	image    32 bytes  hash of the guest module: only the same build can restore it
//	codec     1 byte   how the delta is packed
//	memory    uvarint  linear memory in 64 KiB pages
//	fuel      uvarint  what is left of the cell's fuel; one more than that, 0 where fuel is not metered
//	size      uvarint  of the delta before packing
//	length    uvarint  of the packed delta, which follows
//	checksum  4 bytes  CRC-32C of everything before it

// Codec packs a delta.
type Codec byte

// The codecs. S2 is the default: it takes microseconds. Zstd is for snapshots that are stored for long.
const (
	CodecNone Codec = iota
	CodecS2
	CodecZstd
)

// Snapshot is a suspended cell. It holds no instance and no pointer into the engine, and does not change.
type Snapshot struct {
	image   [32]byte
	codec   Codec
	memory  int // pages of 64 KiB
	fuel    uint64
	size    int    // of the delta
	packed  []byte // a part of encoded
	encoded []byte
}

var snapshotMagic = [8]byte{'C', 'M', 'S', 'N', 'A', 'P', 0, 1}

// The errors of a snapshot that cannot be restored.
var (
	ErrSnapshotForeign   = errors.New("quickjs: the snapshot is of another build of the guest")
	ErrSnapshotDamaged   = errors.New("quickjs: the snapshot is damaged")
	ErrSnapshotTruncated = errors.New("quickjs: the snapshot is cut short")
	ErrNotSnapshot       = errors.New("quickjs: these bytes are not a snapshot of a version this build knows")
)

var crc = crc32.MakeTable(crc32.Castagnoli)

// Suspend takes a snapshot of the cell and closes the VM. The cell must be between calls, and must not have failed. On
// an error the VM is as it was.
func (vm *VM) Suspend(codec Codec) (*Snapshot, error) {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	s, err := vm.snapshot(codec)
	if err != nil {
		return nil, err
	}
	vm.release()
	return s, nil
}

// Snapshot takes a snapshot and leaves the VM as it is.
func (vm *VM) Snapshot(codec Codec) (*Snapshot, error) {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.snapshot(codec)
}

func (vm *VM) snapshot(codec Codec) (*Snapshot, error) {
	if vm.dead != nil {
		return nil, vm.dead
	}
	if err := vm.begin(); err != nil {
		return nil, err
	}
	memory := vm.instance.Memory()
	if err := vm.takeDelta(memory); err != nil {
		return nil, err
	}
	s := &Snapshot{image: vm.engine.hash, codec: codec, memory: len(memory) / wasmPage, size: len(vm.changes.delta)}
	if vm.variant.fuel {
		s.fuel = vm.fuelLeft + 1
	}
	buffer := buffers.Get().(*[]byte)
	defer keep(buffer)
	*buffer = pack(codec, (*buffer)[:0], vm.changes.delta)
	s.encode(*buffer)
	return s, nil
}

// changes are what a cell has made of the image, as far as somebody has looked.
type changes struct {
	runs  []pages.Run // the pages that were written
	delta []byte
	known bool // delta is what differs now: nothing has run since
}

var (
	scratches = sync.Pool{New: func() any { return new(changes) }}
	buffers   = sync.Pool{New: func() any { return new([]byte) }}
)

// keptBuffer is how large a buffer may be that is kept.
const keptBuffer = 64 << 10

func keep(b *[]byte) {
	if cap(*b) <= keptBuffer {
		buffers.Put(b)
	}
}

// scan finds the pages that were written.
func (vm *VM) scan(memory []byte) (err error) {
	if vm.changes == nil {
		vm.changes = scratches.Get().(*changes)
	}
	c := vm.changes
	c.known = false
	if s := vm.engine.scanner; s != nil {
		c.runs, err = s.Written(memory, c.runs)
	} else {
		c.runs = append(c.runs[:0], pages.Run{Start: vm.variant.stack, End: len(memory)})
	}
	if err != nil {
		return fmt.Errorf("quickjs: finding the written pages: %w", err)
	}
	return nil
}

// takeDelta finds what differs from the image.
func (vm *VM) takeDelta(memory []byte) error {
	if err := vm.scan(memory); err != nil {
		return err
	}
	c := vm.changes
	out, done := c.delta[:0], 0 // everything before this word is in out
	for _, r := range c.runs {
		if start := max(r.Start, vm.variant.stack); start < r.End {
			out, done = appendDelta(out, words(memory[start:r.End]), imageWords(vm.variant.image, start, r.End), start/8, done)
		}
	}
	c.delta, c.known = out, true
	return nil
}

// forgetChanges gives the buffers back.
func (vm *VM) forgetChanges() {
	if c := vm.changes; c != nil && cap(c.delta) <= keptBuffer {
		c.known = false
		scratches.Put(c)
	}
	vm.changes = nil
}

// imageWords is the image's part of a range; nil where the range is beyond the image, which stands for zeroes.
func imageWords(image []byte, start, end int) []uint64 {
	if start >= len(image) {
		return nil
	}
	return words(image[start:min(end, len(image))])
}

func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

var zeroes [pages.Size / 8]uint64

// appendDelta appends the runs in which memory differs from image. first is the word number of memory[0], done the
// word up to which out stands already.
func appendDelta(out []byte, memory, image []uint64, first, done int) ([]byte, int) {
	if len(image) < len(memory) { // what is beyond the image differs from zeroes
		n := len(image)
		out, done = appendDelta(out, memory[:n:n], image, first, done)
		for ; n < len(memory); n += len(zeroes) {
			part := memory[n:min(n+len(zeroes), len(memory))]
			out, done = appendDelta(out, part, zeroes[:len(part)], first+n, done)
		}
		return out, done
	}
	image = image[:len(memory)]
	n := len(out)
	for i := 0; i < len(memory); {
		// A whole cache line at a time while nothing differs.
		for i+8 <= len(memory) {
			m, g := memory[i:i+8:i+8], image[i:i+8:i+8]
			if (m[0]^g[0])|(m[1]^g[1])|(m[2]^g[2])|(m[3]^g[3])|(m[4]^g[4])|(m[5]^g[5])|(m[6]^g[6])|(m[7]^g[7]) != 0 {
				break
			}
			i += 8
		}
		for i < len(memory) && memory[i] == image[i] {
			i++
		}
		if i == len(memory) {
			break
		}
		end := i + 1
		for end < len(memory) && (memory[end] != image[end] || end+1 < len(memory) && memory[end+1] != image[end+1]) {
			end++ // a single equal word in between is cheaper to keep than to skip
		}
		if most := n + 2*binary.MaxVarintLen64 + 9*(end-i); most > len(out) {
			out = slices.Grow(out[:n], most-n)
			out = out[:cap(out)]
		}
		n += binary.PutUvarint(out[n:], uint64(first+i-done))
		n += binary.PutUvarint(out[n:], uint64(end-i))
		for ; i < end; i++ {
			n += putWord((*[9]byte)(out[n:]), memory[i]^image[i])
		}
		done = first + end
	}
	return out[:n], done
}

// A word is written as a byte that says which of its bytes are not zero, and these bytes: most words that differ do so in
// the low bytes of a pointer or a counter. Which bytes are zero is hard to predict, so nothing here branches on it.
//
// closing says for each such mask which bytes must come down by one, two and four places in turn to close the gaps.
var closing = func() (table [256][3]uint64) {
	for mask := range table {
		gaps := 0
		for i := range 8 {
			if mask>>i&1 == 0 {
				gaps++
				continue
			}
			for step, at := 0, i; step < 3; step++ {
				if gaps>>step&1 != 0 {
					table[mask][step] |= 0xff << (8 * at)
					at -= 1 << step
				}
			}
		}
	}
	return table
}()

// putWord writes a word and gives its length. Bytes of out beyond that are overwritten as well.
func putWord(out *[9]byte, word uint64) int {
	const low7 = 0x7f7f7f7f7f7f7f7f
	some := ((word&low7 + low7) | word) &^ low7 >> 7 // 1 in each byte that is not zero
	mask := byte(some * 0x0102040810204080 >> 56)
	moves := &closing[mask]
	for step, move := range moves {
		word = word&^move | word&move>>(8<<step)
	}
	out[0] = mask
	binary.LittleEndian.PutUint64(out[1:], word)
	return 1 + bits.OnesCount8(mask)
}

// openWord is the word with such a mask, of whose bytes the first are packed.
func openWord(mask byte, packed uint64) uint64 {
	word := packed & (1<<(8*bits.OnesCount8(mask)) - 1)
	moves := &closing[mask]
	for step := 2; step >= 0; step-- {
		move := moves[step] >> (8 << step)
		word = word&^move | word&move<<(8<<step)
	}
	return word
}

// applyDelta xors a delta into memory, which has the image in it.
func applyDelta(memory, delta []byte) error {
	for at := uint64(0); len(delta) > 0; {
		skip, n := binary.Uvarint(delta)
		if n <= 0 {
			return ErrSnapshotDamaged
		}
		delta = delta[n:]
		count, n := binary.Uvarint(delta)
		if n <= 0 || skip > uint64(len(memory)) || count > uint64(len(delta)-n) {
			return ErrSnapshotDamaged
		}
		delta = delta[n:]
		at += skip * 8
		if at+count*8 > uint64(len(memory)) {
			return ErrSnapshotDamaged
		}
		m := words(memory[at : at+count*8])
		for k := range m {
			if len(delta) == 0 {
				return ErrSnapshotDamaged
			}
			mask, count := delta[0], bits.OnesCount8(delta[0])
			if len(delta) <= count {
				return ErrSnapshotDamaged
			}
			var packed [8]byte
			if delta = delta[1:]; len(delta) >= len(packed) {
				packed = [8]byte(delta)
			} else {
				copy(packed[:], delta)
			}
			m[k] ^= openWord(mask, binary.LittleEndian.Uint64(packed[:]))
			delta = delta[count:]
		}
		at += count * 8
	}
	return nil
}

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2<<30))
)

// pack packs a delta, into out where it fits; out is empty.
func pack(codec Codec, out, delta []byte) []byte {
	switch codec {
	case CodecS2:
		return s2.Encode(out[:cap(out)], delta)
	case CodecZstd:
		return encoder.EncodeAll(delta, out)
	}
	return append(out, delta...)
}

// unpack gives a delta. It may use out, which is empty, or packed itself.
func unpack(codec Codec, out, packed []byte, size int) ([]byte, error) {
	var (
		delta = packed
		err   error
	)
	switch codec {
	case CodecS2:
		if n, sizeErr := s2.DecodedLen(packed); sizeErr != nil || n != size {
			return nil, ErrSnapshotDamaged
		}
		delta, err = s2.Decode(out[:cap(out)], packed)
	case CodecZstd:
		delta, err = decoder.DecodeAll(packed, slices.Grow(out, size))
	}
	if err != nil || len(delta) != size {
		return nil, ErrSnapshotDamaged
	}
	return delta, nil
}

// Size is the length of the encoded snapshot in bytes.
func (s *Snapshot) Size() int { return len(s.encoded) }

// MemoryBytes is the linear memory that the cell has, with the image's.
func (s *Snapshot) MemoryBytes() int { return s.memory * wasmPage }

// Encode gives the snapshot for storage. The bytes are the snapshot's own and must not be changed.
func (s *Snapshot) Encode() []byte { return s.encoded }

// encode makes the record, around a packed delta.
func (s *Snapshot) encode(packed []byte) {
	out := make([]byte, 0, len(snapshotMagic)+len(s.image)+1+4*binary.MaxVarintLen64+len(packed)+crc32.Size)
	out = append(out, snapshotMagic[:]...)
	out = append(out, s.image[:]...)
	out = append(out, byte(s.codec))
	out = binary.AppendUvarint(out, uint64(s.memory))
	out = binary.AppendUvarint(out, s.fuel)
	out = binary.AppendUvarint(out, uint64(s.size))
	out = binary.AppendUvarint(out, uint64(len(packed)))
	head := len(out)
	out = append(out, packed...)
	s.packed = out[head:len(out):len(out)]
	s.encoded = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, crc))
}

// DecodeSnapshot reads what Encode wrote. It says which of not a snapshot, cut short or damaged the bytes are; whether
// a snapshot is of this build is seen by Restore. The snapshot keeps b, which must not be changed.
func DecodeSnapshot(b []byte) (*Snapshot, error) {
	head := len(snapshotMagic) + 32 + 1
	if len(b) < len(snapshotMagic) || [8]byte(b) != snapshotMagic {
		if len(b) > 0 && len(b) < len(snapshotMagic) && string(b) == string(snapshotMagic[:len(b)]) {
			return nil, ErrSnapshotTruncated
		}
		return nil, ErrNotSnapshot
	}
	if len(b) < head {
		return nil, ErrSnapshotTruncated
	}
	s := &Snapshot{image: [32]byte(b[len(snapshotMagic):]), codec: Codec(b[head-1]), encoded: b}
	rest := b[head:]
	var numbers [4]uint64
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n == 0 {
			return nil, ErrSnapshotTruncated
		} else if n < 0 {
			return nil, ErrSnapshotDamaged
		}
		numbers[i], rest = v, rest[n:]
	}
	const most = 4 << 30
	if s.codec > CodecZstd || numbers[0] > most/wasmPage || numbers[2] > 2*most || numbers[3] > most {
		return nil, ErrSnapshotDamaged
	}
	s.memory, s.fuel, s.size = int(numbers[0]), numbers[1], int(numbers[2])
	switch length := int(numbers[3]) + crc32.Size; {
	case len(rest) < length:
		return nil, ErrSnapshotTruncated
	case len(rest) > length:
		return nil, ErrSnapshotDamaged
	}
	if binary.BigEndian.Uint32(rest[numbers[3]:]) != crc32.Checksum(b[:len(b)-crc32.Size], crc) {
		return nil, ErrSnapshotDamaged
	}
	s.packed = rest[:numbers[3]]
	return s, nil
}

// Restore makes a VM of a snapshot: the cell goes on with the next Settle. The snapshot can be restored again. The
// limits are those of options, except that fuel goes on from what the cell had left.
func (e *Engine) Restore(ctx context.Context, s *Snapshot, bridge guestabi.Bridge, options Options) (*VM, error) {
	if s.image != e.hash {
		return nil, ErrSnapshotForeign
	}
	options.Limits = options.Limits.Clamp()
	var fuel uint64
	if metered := s.fuel > 0; metered {
		fuel = s.fuel - 1
		options.Limits.Fuel = max(options.Limits.Fuel, 1)
	} else {
		options.Limits.Fuel = 0
	}
	buffer := buffers.Get().(*[]byte)
	defer keep(buffer)
	delta, err := unpack(s.codec, (*buffer)[:0], s.packed, s.size)
	if err != nil {
		return nil, err
	}
	if s.codec != CodecNone {
		*buffer = delta
	}
	vm, err := e.newVM(ctx, bridge, options, fuel)
	if err != nil {
		return nil, err
	}
	if err := vm.restore(s, delta); err != nil {
		vm.Close()
		return nil, err
	}
	return vm, nil
}

func (vm *VM) restore(s *Snapshot, delta []byte) error {
	return vm.use(func() error {
		have := len(vm.instance.Memory()) / wasmPage
		if s.memory < have || int64(s.memory-have)*wasmPage > vm.options.Limits.MemoryLimitBytes {
			vm.broken = &limits.Error{Limit: limits.BreachMemory, Allowed: vm.options.Limits.MemoryLimitBytes,
				Detail: fmt.Sprintf("the snapshot has %d bytes of memory", s.MemoryBytes())}
			return vm.broken
		}
		if err := vm.instance.GrowMemory(uint64(s.memory - have)); err != nil {
			return err
		}
		if err := applyDelta(vm.instance.Memory(), delta); err != nil {
			vm.broken = err // what is in memory now is neither the image nor a cell
			return err
		}
		_, err := vm.call(exportReseed, vm.seed())
		return err
	})
}

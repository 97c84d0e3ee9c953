package guestabi

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"codemode/internal/jsontext"
)

// ErrGuest is what every error that a guest's wrong argument causes wraps.
var ErrGuest = errors.New("guestabi: the guest broke the ABI")

// Memory is a guest's linear memory while the guest stands still.
type Memory []byte

// Bytes is the part of memory at pointer, checked. It is not a copy.
func (m Memory) Bytes(pointer, length uint32) ([]byte, error) {
	if uint64(pointer)+uint64(length) > uint64(len(m)) {
		return nil, fmt.Errorf("%w: %d bytes at %#x are outside its memory of %d bytes", ErrGuest, length, pointer, len(m))
	}
	return m[pointer : pointer+length : pointer+length], nil
}

// Text copies a string out of memory.
func (m Memory) Text(pointer, length uint32) (string, error) {
	b, err := m.Bytes(pointer, length)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%w: a string is not UTF-8", ErrGuest)
	}
	return string(b), nil
}

// JSON copies JSON text out of memory.
func (m Memory) JSON(pointer, length uint32) (json.RawMessage, error) {
	b, err := m.Bytes(pointer, length)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) || !jsontext.Valid(b) {
		return nil, fmt.Errorf("%w: %d bytes are not JSON", ErrGuest, length)
	}
	return append(json.RawMessage(nil), b...), nil
}

const outcomeSize = 16

// Outcome reads the outcome that run and settle point to.
func (m Memory) Outcome(pointer uint32) (Outcome, error) {
	b, err := m.Bytes(pointer, outcomeSize)
	if err != nil {
		return Outcome{}, err
	}
	state, truncated := State(b[0]), b[1]
	if state >= states || truncated > 1 {
		return Outcome{}, fmt.Errorf("%w: outcome %d, %d", ErrGuest, state, truncated)
	}
	payload, err := m.Bytes(binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:]))
	if err != nil {
		return Outcome{}, err
	}
	if !utf8.Valid(payload) {
		return Outcome{}, fmt.Errorf("%w: an outcome is not UTF-8", ErrGuest)
	}
	if len(payload) > 0 && truncated == 0 && !jsontext.Valid(payload) {
		return Outcome{}, fmt.Errorf("%w: an outcome is not JSON", ErrGuest)
	}
	return Outcome{
		State:      state,
		Truncated:  truncated == 1,
		Rejections: binary.LittleEndian.Uint32(b[4:]),
		Payload:    append([]byte(nil), payload...),
	}, nil
}

// Result reads the string that an export points to.
func (m Memory) Result(pointer uint32) (string, error) {
	b, err := m.Bytes(pointer, 8)
	if err != nil {
		return "", err
	}
	return m.Text(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]))
}

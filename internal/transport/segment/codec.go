//go:build linux

package segment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// errBroken is the loss of a peer whose part of the segment has invalid content.
var errBroken = errors.New("the shared memory has invalid content")

// encode fills c, except for the place of the body.
func (c *content) encode(h *wire.Header, length int) {
	c.kind, c.comm = h.Kind, h.Comm
	c.seq = [2]uint32{uint32(h.Seq), uint32(h.Seq >> 32)}
	c.epoch, c.slot, c.arg, c.print = h.Epoch, h.Slot, h.Arg, h.Print
	c.length = uint32(length)
}

// decode fills h, except Lane and From, which follow from the place of the cell.
func (c *content) decode(h *wire.Header) error {
	if !c.kind.Valid() {
		return fmt.Errorf("%w: unknown kind %d", errBroken, c.kind)
	}
	if limit := c.kind.MaxBody(); int64(c.length) > int64(limit) {
		return fmt.Errorf("%w: kind %d with %d bytes, where %d are allowed", errBroken, c.kind, c.length, limit)
	}
	h.Kind, h.Comm = c.kind, c.comm
	h.Seq = uint64(c.seq[1])<<32 | uint64(c.seq[0])
	h.Epoch, h.Slot, h.Arg, h.Print = c.epoch, c.slot, c.arg, c.print
	h.Len = int(c.length)
	return nil
}

// The short body of a datagram's cell holds the payload's offset in the chunk and its place: the
// ring of bytes from that line on, or directly after these two values.
const gramHead = 8

func (c *content) setGram(offset int, line uint32) {
	binary.NativeEndian.PutUint32(c.short[0:], uint32(offset))
	binary.NativeEndian.PutUint32(c.short[4:], line)
}

func (c *content) gram() (offset int, line uint32) {
	return int(binary.NativeEndian.Uint32(c.short[0:])), binary.NativeEndian.Uint32(c.short[4:])
}

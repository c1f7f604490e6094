//go:build linux

package memory

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// errBroken is what a peer is lost with whose part of the segment makes no sense.
var errBroken = errors.New("the shared memory does not hold what a rank would write")

// encode fills c but for what says where the body is.
func (c *content) encode(h *wire.Header, length int) {
	c.kind, c.comm = h.Kind, h.Comm
	c.seq = [2]uint32{uint32(h.Seq), uint32(h.Seq >> 32)}
	c.epoch, c.slot, c.arg, c.print = h.Epoch, h.Slot, h.Arg, h.Print
	c.length = uint32(length)
}

// decode fills h, except Lane and From, which the place tells.
func (c *content) decode(h *wire.Header) error {
	if !c.kind.Valid() {
		return fmt.Errorf("%w: unknown kind %d", errBroken, c.kind)
	}
	if limit := bodyLimit(c.kind); int64(c.length) > int64(limit) {
		return fmt.Errorf("%w: kind %d with %d bytes, where %d are allowed", errBroken, c.kind, c.length, limit)
	}
	h.Kind, h.Comm = c.kind, c.comm
	h.Seq = uint64(c.seq[1])<<32 | uint64(c.seq[0])
	h.Epoch, h.Slot, h.Arg, h.Print = c.epoch, c.slot, c.arg, c.print
	h.Len = int(c.length)
	return nil
}

func bodyLimit(k wire.FrameKind) int {
	if k == wire.FrameSlot || k == wire.FrameCast || k == wire.FrameAgree {
		return MaxBody
	}
	return wire.MaxControl
}

// A datagram's cell says in its short body where the payload belongs in the
// chunk and where it is: in the ring of bytes from that line on, or right
// behind these two.
const gramHead = 8

func (c *content) setGram(offset int, line uint32) {
	binary.NativeEndian.PutUint32(c.short[0:], uint32(offset))
	binary.NativeEndian.PutUint32(c.short[4:], line)
}

func (c *content) gram() (offset int, line uint32) {
	return int(binary.NativeEndian.Uint32(c.short[0:])), binary.NativeEndian.Uint32(c.short[4:])
}

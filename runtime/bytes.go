package runtime

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
)

// headBytes is the length of the first broadcast of BcastBytes: the length of the message in
// lengthBytes bytes, then the first bytes of the message.
const (
	lengthBytes = 8
	headBytes   = 512
	inlineBytes = headBytes - lengthBytes
)

// BcastBytes sends a message of rank root to all ranks; only the root knows its length. At the
// root, buf is the message, and BcastBytes returns buf. At other ranks, buf gives memory for the
// message, from its first byte up to its capacity, and may be nil. The result lies in buf's memory
// if there is room, and else in new memory that the caller owns. So a loop that passes the last
// result does not allocate. At these ranks, BcastBytes may overwrite buf even if it returns an
// error.
//
// A message of up to 504 bytes takes as long as one Bcast of 512 bytes. A longer message takes in
// addition as long as a Bcast of the rest. If all ranks know the length, use Bcast.
//
// A message of more than Config.MaxBcast bytes is ErrTooLarge at every rank and leaves the
// communicator intact. Otherwise BcastBytes works like Bcast.
func (c *Comm) BcastBytes(ctx context.Context, buf []byte, root int) ([]byte, error) {
	if ctx == nil {
		return nil, c.refuse(noContext("bcast"))
	}
	if err := c.validRoot(root); err != nil {
		return nil, c.refuse(err)
	}
	if !c.occupy() {
		return nil, ErrBusy
	}
	defer c.vacate()
	if c.head == nil {
		c.head = make([]byte, headBytes)
	}
	if c.rank == root {
		binary.BigEndian.PutUint64(c.head, uint64(len(buf)))
		clear(c.head[lengthBytes+copy(c.head[lengthBytes:], buf):])
	}
	if err := c.bcastHead(ctx, root); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(c.head)
	if n > uint64(c.cfg.MaxBcast) {
		return nil, fmt.Errorf("bcast: %w: %d bytes, at most %d", ErrTooLarge, n, c.cfg.MaxBcast)
	}
	if c.rank != root {
		buf = sized(buf, int(n))
		copy(buf, c.head[lengthBytes:])
	}
	if n <= inlineBytes {
		return buf, nil
	}
	return buf, c.bcastRest(ctx, buf[inlineBytes:], root)
}

// sized returns a slice of n bytes, in buf's memory if there is room.
func sized(buf []byte, n int) []byte {
	if n > cap(buf) {
		return make([]byte, n)
	}
	return buf[:n]
}

// bcastHead broadcasts the first bytes, under a fingerprint of its own: a rank that calls Bcast, or
// has another Config.MaxBcast, is a mismatch.
func (c *Comm) bcastHead(ctx context.Context, root int) error {
	head := core.InPlace(c.head)
	return c.operate(ctx, bcast, &head, root, &form{note: c.bounded("BcastBytes")})
}

// bcastRest broadcasts the rest of the message. Other ranks wait for the rest, so from here on the
// end of ctx fails the communicator.
func (c *Comm) bcastRest(ctx context.Context, rest []byte, root int) error {
	mem := core.InPlace(rest)
	return c.operate(ctx, bcast, &mem, root, &bare)
}

package runtime

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/runtime/core"
)

// The first broadcast of BcastBytes carries the message's length and its first
// bytes.
const (
	lengthBytes = 8
	headBytes   = 512
	inlineBytes = headBytes - lengthBytes
)

// BcastBytes sends a message of rank root to all ranks, of which only the root
// knows the length. At the root, buf is the message, and is returned. At other
// ranks, buf gives memory for it, from its first byte up to its capacity, and may
// be nil: what is returned lies in it if there is room, and else in new memory,
// which is the caller's own. So a loop that passes the last result does not
// allocate. What buf held is lost, also if there is an error.
//
// A message of up to 504 bytes takes as long as one Bcast of 512 bytes, a longer
// one as long as that and then one Bcast of the rest. Where all ranks know the
// length, Bcast is better.
//
// A message of more than Config.MaxBcast bytes is ErrTooLarge at every rank, and
// leaves the communicator intact. All else is as with Bcast.
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

// sized returns a slice of n bytes, in buf's memory if that suffices.
func sized(buf []byte, n int) []byte {
	if n > cap(buf) {
		return make([]byte, n)
	}
	return buf[:n]
}

// bcastHead broadcasts the first bytes, under a fingerprint of its own: a rank
// that calls Bcast meanwhile, or allows for other lengths, is a mismatch.
func (c *Comm) bcastHead(ctx context.Context, root int) error {
	if err := c.core.Err(); err != nil {
		return err
	}
	p, err := c.planFor(bcast, headBytes, root, form{})
	if err != nil {
		return c.refuseInside(err)
	}
	if p.head == nil {
		p.head = new(plan)
		*p.head = *p
		p.head.Plan = p.Marked(fmt.Sprintf("BcastBytes of at most %d bytes", c.cfg.MaxBcast))
	}
	r := &c.blocking
	*r = Request{comm: c}
	head := core.InPlace(c.head)
	if err := c.prepareUnder(r, ctx, p.head, &head); err != nil {
		return err
	}
	return c.call(r)
}

// bcastRest broadcasts what the first bytes have announced: other ranks wait for
// that, so the end of ctx by now fails the communicator.
func (c *Comm) bcastRest(ctx context.Context, rest []byte, root int) error {
	p, err := c.planFor(bcast, len(rest), root, form{})
	if err != nil {
		return c.refuseInside(err)
	}
	r := &c.blocking
	*r = Request{comm: c, ctx: ctx, plan: p, mem: core.InPlace(rest)}
	return c.call(r)
}

package runtime

import (
	"context"
	"fmt"
	"reflect"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
)

// Collective performs a collective of the table ([ir.Collective]) by its name. src has the blocks
// that this rank holds, dst takes those that it wants, one behind the other in the order of
// [ir.Header.Held] and [ir.Header.Wanted]. All blocks have the same number of bytes at all ranks.
// For example, with P ranks and blocks of n bytes:
//
//	scatter    src: P·n bytes at the root, else nil   dst: n bytes
//	gather     src: n bytes                           dst: P·n bytes at the root, else nil
//	allgather  src: n bytes                           dst: P·n bytes
//	alltoall   src: P·n bytes                         dst: P·n bytes
//	bcast      src: n bytes at the root, else nil     dst: n bytes
//
// root is 0 for a collective that has none. dst and src must not overlap, except that a rank's
// one block in src may be the very place in dst where that block goes. src is only read.
//
// The ranks must call the same collectives in the same order, with the same root and the same n:
// if they do not, the communicator fails at every rank with ErrMismatch, at the latest in the next
// barrier. Lengths that are no blocks at all, or a root that is no rank, are ErrInput; the call then
// does nothing and does not count. If ctx ends first, or has ended before the call, the communicator
// fails at every rank. After an error what dst holds is undefined.
func (c *Comm) Collective(ctx context.Context, collective string, dst, src []byte, root int) error {
	k, mem, err := c.blocksOf(ctx, collective, dst, src, root)
	if err != nil {
		return err
	}
	return c.run(ctx, k, mem, root)
}

// StartCollective starts what [Comm.Collective] does and does not wait for it: dst and src are the
// communicator's until the request has ended. Otherwise it is as [Comm.StartBcast].
func (c *Comm) StartCollective(ctx context.Context, collective string, dst, src []byte, root int) (*Request, error) {
	k, mem, err := c.blocksOf(ctx, collective, dst, src, root)
	if err != nil {
		return nil, err
	}
	return c.startRequest(ctx, k, mem, root)
}

// blocksOf checks the arguments of a call.
func (c *Comm) blocksOf(ctx context.Context, collective string, dst, src []byte, root int) (kind, core.Buffers, error) {
	none := core.Buffers{}
	if ctx == nil {
		return 0, none, noContext(collective)
	}
	k := c.plans.kindOf(collective)
	if k < 0 {
		return 0, none, fmt.Errorf("%w: no collective %q", ErrInput, collective)
	}
	row := c.plans.row(k)
	switch {
	case row.Rooted && (root < 0 || root >= c.size):
		return 0, none, fmt.Errorf("%w: %s: root %d outside 0 … %d", ErrInput, collective, root, c.size-1)
	case !row.Rooted && root != 0:
		return 0, none, fmt.Errorf("%w: %s: root %d, but it has no root: 0 is written", ErrInput, collective, root)
	case row.Blocks == nil && len(dst)+len(src) > 0:
		return 0, none, fmt.Errorf("%w: %s: it moves no bytes, but dst has %d and src %d", ErrInput, collective, len(dst), len(src))
	case row.Blocks == nil:
		return k, none, nil
	}
	held, wanted := row.Held(c.size, root, c.rank), row.Wanted(c.size, root, c.rank)
	n, err := blockBytes(len(dst), len(src), wanted.Count, held.Count)
	if err == nil {
		err = checkOverlap(dst, src, n, wanted, held)
	}
	if err != nil {
		return 0, none, fmt.Errorf("%w: %s: rank %d: %w", ErrInput, collective, c.rank, err)
	}
	return k, core.Buffers{In: src, Out: dst, Block: n}, nil
}

// blockBytes returns the bytes of a block where dst has those of so many wanted blocks and src those
// of so many held ones.
func blockBytes(dst, src, wanted, held int) (int, error) {
	switch {
	case wanted == 0 && dst > 0:
		return 0, fmt.Errorf("dst has %d bytes, but this rank gets no block", dst)
	case held == 0 && src > 0:
		return 0, fmt.Errorf("src has %d bytes, but this rank sends no block of its own", src)
	case wanted > 0 && dst%wanted != 0:
		return 0, fmt.Errorf("dst has %d bytes, which are not %d blocks of one length", dst, wanted)
	case held > 0 && src%held != 0:
		return 0, fmt.Errorf("src has %d bytes, which are not %d blocks of one length", src, held)
	case wanted > 0 && held > 0 && dst/wanted != src/held:
		return 0, fmt.Errorf("dst has %d bytes for %d blocks, src %d for %d: a block would have %d bytes here and %d there",
			dst, wanted, src, held, dst/wanted, src/held)
	case wanted > 0:
		return dst / wanted, nil
	case held > 0:
		return src / held, nil
	}
	return 0, nil
}

// checkOverlap returns an error if dst and src share memory, unless src is the one block that the rank
// holds, in its place in dst.
func checkOverlap(dst, src []byte, n int, wanted, held ir.Blocks) error {
	if len(dst) == 0 || len(src) == 0 {
		return nil
	}
	d, s := reflect.ValueOf(&dst[0]).Pointer(), reflect.ValueOf(&src[0]).Pointer()
	if d+uintptr(len(dst)) <= s || s+uintptr(len(src)) <= d {
		return nil
	}
	if at := wanted.Index(held.First); held.Count == 1 && at >= 0 && s == d+uintptr(at*n) {
		return nil
	}
	return fmt.Errorf("dst, of %d bytes, and src, of %d, overlap", len(dst), len(src))
}

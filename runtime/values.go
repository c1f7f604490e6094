package runtime

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Values are blocks whose lengths only the ranks that send them know. A first operation, the head,
// tells each rank how long the blocks are that it gets, and how long the longest value of each
// sender is. A second operation moves the blocks.

// GatherBytes collects a value of every rank at rank root, which gets the values by rank. The other
// ranks get nil. Values may have any lengths, and need no lengths of others. The root's own value is
// a copy. The values of one call share memory, which the caller owns.
//
// GatherBytes takes as long as an allgather of 16 bytes and a gather of the values. If a value has
// more than Config.MaxBcast bytes, or 2 GiB, all ranks get ErrTooLarge with a [RankError] that names
// its rank, and the communicator stays intact. Ranks that call different functions, or have another
// Config.MaxBcast, get ErrMismatch. From the second operation on, the end of ctx fails the
// communicator.
func (c *Comm) GatherBytes(ctx context.Context, value []byte, root int) ([][]byte, error) {
	return c.moveValues(ctx, "GatherBytes", schedule.Gather, schedule.Allgather, [][]byte{value}, root)
}

// AllgatherBytes collects a value of every rank at every rank, by rank; see [Comm.GatherBytes].
func (c *Comm) AllgatherBytes(ctx context.Context, value []byte) ([][]byte, error) {
	return c.moveValues(ctx, "AllgatherBytes", schedule.Allgather, schedule.Allgather, [][]byte{value}, 0)
}

// AlltoallBytes sends values[r] of this rank to rank r, and returns the values of all ranks for this
// one, by rank; see [Comm.GatherBytes].
func (c *Comm) AlltoallBytes(ctx context.Context, values [][]byte) ([][]byte, error) {
	return c.moveValues(ctx, "AlltoallBytes", schedule.Alltoall, schedule.Alltoall, values, 0)
}

// ScatterBytes sends values[r] of rank root to rank r, and returns the value for this rank; see
// [Comm.GatherBytes]. values is nil at the other ranks.
func (c *Comm) ScatterBytes(ctx context.Context, values [][]byte, root int) ([]byte, error) {
	got, err := c.moveValues(ctx, "ScatterBytes", schedule.Scatter, schedule.Scatter, values, root)
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// moveValues moves values by a collective, and returns the values for this rank. fn is the function
// that the program has called. The first operation, of collective head, tells every rank about the
// values of all senders.
func (c *Comm) moveValues(ctx context.Context, fn, collective, head string, values [][]byte, root int) ([][]byte, error) {
	k, by := c.plans.kindOf(collective), c.plans.kindOf(head)
	if ctx == nil {
		return nil, c.refuse(noContext(fn))
	}
	if root < 0 || root >= c.size {
		return nil, c.refuse(fmt.Errorf("%w: %s: root %d outside 0 … %d", ErrInput, fn, root, c.size-1))
	}
	row := c.plans.row(k)
	held, wanted := row.Held(c.size, root, c.rank), row.Wanted(c.size, root, c.rank)
	if len(values) != held.Count {
		return nil, c.refuse(fmt.Errorf("%w: %s: rank %d of %d: it has %d values, want %d", ErrInput, fn, c.rank, c.size, len(values), held.Count))
	}
	if !c.occupy() {
		return nil, ErrBusy
	}
	defer c.vacate()
	lengths, err := c.valueLengths(ctx, fn, by, values, root)
	if err != nil {
		return nil, err
	}
	call := Call{Counted: true}
	for _, v := range values {
		call.SrcCounts = append(call.SrcCounts, len(v))
	}
	if call.Src = concat(values); wanted.Count > 0 {
		call.DstCounts = lengths
	}
	longest, sum := 0, 0
	for _, n := range call.SrcCounts {
		longest = max(longest, n)
	}
	for _, n := range call.DstCounts {
		longest = max(longest, n)
		sum += n
	}
	call.Dst = make([]byte, sum)
	f := form{counted: true, shared: row.Everywhere(c.size, root)}
	mem := core.Buffers{In: call.Src, Out: call.Dst, Block: longest}
	c.lengths.set(&mem, &call, f.shared)
	if err := c.operate(ctx, k, &mem, root, &f); err != nil {
		return nil, err
	}
	var got [][]byte
	rest := call.Dst
	for _, n := range call.DstCounts {
		got, rest = append(got, rest[:n:n]), rest[n:]
	}
	return got, nil
}

// A block of a head has the length of a value, and the length of the longest value of its sender.
const valueHead = 16

// valueLengths tells the other ranks the lengths of values, and returns the lengths of the blocks
// that this rank gets by the collective of kind by. If a value of any rank is too long, all ranks
// get the same error.
func (c *Comm) valueLengths(ctx context.Context, fn string, by kind, values [][]byte, root int) (lengths []int, err error) {
	row := c.plans.row(by)
	if !row.Rooted {
		root = 0
	}
	longest := 0
	for _, v := range values {
		longest = max(longest, len(v))
	}
	var own []byte
	for _, v := range values {
		own = binary.BigEndian.AppendUint64(own, uint64(len(v)))
		own = binary.BigEndian.AppendUint64(own, uint64(longest))
	}
	all := make([]byte, valueHead*row.Wanted(c.size, root, c.rank).Count)
	mem := core.Buffers{In: own, Out: all, Block: valueHead}
	if err := c.operate(ctx, by, &mem, root, &form{note: c.bounded(fn)}); err != nil {
		return nil, err
	}
	limit := uint64(min(c.cfg.MaxBcast, wire.MaxBody))
	for i := 0; len(all) > 0; i, all = i+1, all[valueHead:] {
		if most := binary.BigEndian.Uint64(all[8:]); most > limit {
			from := i
			if row.Rooted {
				from = root
			}
			return nil, fmt.Errorf("%s: %w", fn, &RankError{Rank: from, Err: fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, most, limit)})
		}
		lengths = append(lengths, int(binary.BigEndian.Uint64(all)))
	}
	return lengths, nil
}

// concat returns values one behind the other.
func concat(values [][]byte) []byte {
	if len(values) == 1 {
		return values[0]
	}
	var all []byte
	for _, v := range values {
		all = append(all, v...)
	}
	return all
}

// bounded returns the note of the first operation of a call of function fn, whose messages
// Config.MaxBcast bounds: a rank that calls another function, or has another bound, is a mismatch.
func (c *Comm) bounded(fn string) string {
	if c.notes[fn] == "" {
		if c.notes == nil {
			c.notes = make(map[string]string)
		}
		c.notes[fn] = fmt.Sprintf("%s of at most %d bytes", fn, c.cfg.MaxBcast)
	}
	return c.notes[fn]
}

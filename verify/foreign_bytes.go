package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// bytesOf counts the bytes of an operation whose file says how long messages are but not what they
// carry. A rank can send only what it holds and what it must have received before, and a message
// carries at most its own length. So there is a maximum that each rank can get.
type bytesOf struct {
	*foreign
	holds  []bool  // by operation: its rank has data of some block when the operation ends
	size   int64   // bytes of a block
	origin string  // where size comes from
	got    []int64 // by rank: the maximum that it can get
	stamp  []int32 // by operation: the last walk that has visited it
	todo   []int
	steps  int // of all flows so far
}

func (f *foreign) proveBytes() (string, error) {
	total := 0
	for _, ops := range f.Ranks {
		for i := range ops {
			if total += ops[i].Size; total > maxFlow {
				return "", fmt.Errorf("too large: the messages have more than %d %s", int64(maxFlow), f.Unit)
			}
		}
	}
	b := &bytesOf{foreign: f, holds: f.findHolds(), got: make([]int64, len(f.Ranks)), stamp: make([]int32, f.index.Len())}
	switch {
	case f.Size > 0:
		b.size, b.origin = int64(f.Size), "as claimed"
	case f.Message > 0:
		b.size, b.origin = int64(f.Message), "as the file says"
	}
	flows := b.proveFlows
	if f.header.Blocks() > 1 {
		flows = b.proveBlocks
	}
	for _, prove := range []func() error{b.proveReached, b.proveSends, flows} {
		if err := prove(); err != nil {
			return "", err
		}
	}
	if len(f.Ranks) == 1 {
		return "one rank: it has its " + plural(f.header.Blocks(), "message", "blocks"), nil
	}
	note := fmt.Sprintf("%s; assumed: messages carry what their receivers lack", b.message())
	if !b.exact() {
		note += ", and there is room for what all of them want at once"
	}
	return note, nil
}

// message returns text such as "a message of 10 bytes, as claimed".
func (b *bytesOf) message() string {
	return fmt.Sprintf("%s of %d %s, %s", plural(b.header.Blocks(), "a message", "blocks"), b.size, b.Unit, b.origin)
}

// findHolds returns, by operation, whether its rank has data of some block when the operation ends.
// Messages without bytes carry none.
func (f *foreign) findHolds() []bool {
	holds := make([]bool, f.index.Len())
	for _, id := range f.run.Order {
		ref, op := f.op(int(id))
		holds[id] = f.held(ref.Rank).Count > 0 || slices.ContainsFunc(op.After, func(a int32) bool {
			return holds[f.index.Of(ref.Rank, int(a))]
		}) || op.Kind == dag.Recv && (op.Size > 0 || op.Peer == ref.Rank) && holds[f.mates[id]]
	}
	return holds
}

// carried returns the maximum number of bytes of data that a receive can bring: the length of the
// message, or 0 if it carries no data.
func (b *bytesOf) carried(id int) int64 {
	if ref, op := b.op(id); op.Kind == dag.Recv && op.Peer != ref.Rank && b.holds[b.mates[id]] {
		return int64(op.Size)
	}
	return 0
}

// proveReached finds ranks that want something and get nothing at all.
func (b *bytesOf) proveReached() error {
	reached := make([]bool, len(b.Ranks))
	for rank := range b.Ranks {
		reached[rank] = b.held(rank).Count > 0 || b.wanted(rank).Count == 0
	}
	for id, h := range b.holds {
		ref, _ := b.op(id)
		reached[ref.Rank] = reached[ref.Rank] || h
	}
	var missed []int
	for rank, ok := range reached {
		if !ok {
			missed = append(missed, rank)
		}
	}
	if len(missed) == 0 {
		return nil
	}
	what := fmt.Sprintf("what rank %d broadcasts", b.Root)
	if b.header.Blocks() > 1 {
		what = "anything of what " + plural(len(missed), "it wants", "they want")
	}
	return fail(missed, nil, nil, "%s never %s %s: %s",
		spellRanks(missed), plural(len(missed), "gets", "get"), what, b.tellUnreached(missed[0]))
}

// tellUnreached says why the rank never gets any data.
func (b *bytesOf) tellUnreached(rank int) string {
	for i, op := range b.Ranks[rank] {
		if op.Kind != dag.Recv || op.Peer == rank {
			continue
		}
		send, _ := b.op(b.mates[b.index.Of(rank, i)])
		why := "starts before its rank must have any of it"
		if op.Size == 0 {
			why = "has no bytes"
		}
		return fmt.Sprintf("rank %d receives only data that do not derive from it, such as %s, because %s %s", rank, b.TellOp(dag.Ref{Rank: rank, I: i}), b.Tell(send), why)
	}
	return fmt.Sprintf("rank %d receives nothing", rank)
}

// proveSends finds sends of more bytes than their rank must have. A send that starts before its
// rank must have any data does not send the message on, and is ignored.
func (b *bytesOf) proveSends() error {
	walk := int32(0)
	steps := 0
	for _, at := range b.run.Order {
		id := int(at)
		ref, op := b.op(id)
		if op.Kind != dag.Send || op.Peer == ref.Rank || !b.holds[id] {
			continue
		}
		if all := int64(b.header.Blocks()) * b.size; b.size > 0 && int64(op.Size) > all {
			return fail([]int{ref.Rank}, nil, nil, "%s sends %d %s of %s", b.Tell(ref), op.Size, b.Unit, b.message())
		}
		held := b.held(ref.Rank).Count
		if held == b.header.Blocks() {
			continue
		}
		own := int64(held) * b.size
		walk++
		had, n := b.had(id, walk, int64(op.Size)-own)
		if steps += n; steps > maxFlowSteps {
			return dag.ErrTooLarge
		}
		if had += own; had < int64(op.Size) {
			return fail([]int{ref.Rank}, nil, nil, "%s sends %d %s on, but its rank may have only %d by then", b.Tell(ref), op.Size, b.Unit, had)
		}
	}
	return nil
}

// had returns how many bytes of data have reached the rank of the operation before it starts. It
// may stop when there are enough. steps is the number of steps it took.
func (b *bytesOf) had(id int, walk int32, enough int64) (sum int64, steps int) {
	b.todo = append(b.todo[:0], id)
	for len(b.todo) > 0 && sum < enough {
		at := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		ref, op := b.op(at)
		if op.Kind == dag.Recv && op.Peer == ref.Rank {
			b.visit(b.mates[at], walk)
		}
		for _, a := range op.After {
			b.visit(b.index.Of(ref.Rank, int(a)), walk)
		}
		steps += 1 + len(op.After)
		sum += b.carried(at)
	}
	return sum, steps
}

func (b *bytesOf) visit(id int, walk int32) {
	if b.stamp[id] != walk {
		b.stamp[id] = walk
		b.todo = append(b.todo, id)
	}
}

// proveFlows finds ranks that can get less than the message. If the length of the message is not
// known, it is as much as any one rank can get.
func (b *bytesOf) proveFlows() error {
	fl := b.newFlow()
	for _, rank := range b.ranksAsTheyEnd() {
		var err error
		if b.got[rank], err = fl.pull(rank, b.most(rank)); err != nil {
			return err
		}
	}
	if b.size == 0 {
		b.size = slices.Max(b.got)
		b.origin = fmt.Sprintf("as much as rank %d can get", slices.Index(b.got, b.size))
	}
	var missed []int
	for rank, got := range b.got {
		if rank != b.Root && got < b.size {
			missed = append(missed, rank)
		}
	}
	if len(missed) == 0 {
		return nil
	}
	why, err := b.tellShort(missed[0])
	if err != nil {
		return err
	}
	return fail(missed, nil, nil, "%s cannot get all of %s: %s", spellRanks(missed), b.message(), why)
}

// ranksAsTheyEnd returns the ranks other than the root in an order in which their last operations
// may end. This usually puts a rank after the ranks from which it receives.
func (b *bytesOf) ranksAsTheyEnd() []int {
	var ranks []int
	last := make([]int, len(b.Ranks))
	for at, id := range b.run.Order {
		ref, _ := b.op(int(id))
		last[ref.Rank] = at
	}
	for rank := range b.Ranks {
		if rank != b.Root {
			ranks = append(ranks, rank)
		}
	}
	slices.SortStableFunc(ranks, func(x, y int) int { return cmp.Compare(last[x], last[y]) })
	return ranks
}

// most returns how much needs to reach the rank: the message, or all that the rank receives if that
// is less.
func (b *bytesOf) most(rank int) int64 {
	limit := int64(math.MaxInt64)
	if b.size > 0 {
		limit = b.size
	}
	return min(limit, b.received(rank))
}

func (b *bytesOf) received(rank int) int64 {
	sum := int64(0)
	for i := range b.Ranks[rank] {
		sum += b.carried(b.index.Of(rank, i))
	}
	return sum
}

// tellShort says why the rank gets less than the message: it receives fewer bytes, or the path to
// it has a bottleneck.
func (b *bytesOf) tellShort(rank int) (string, error) {
	if sum := b.received(rank); sum < b.size {
		return fmt.Sprintf("rank %d receives %d: %s", rank, sum, b.list(func(id int) bool { return b.index.Ref(id).Rank == rank })), nil
	}
	fl := b.newFlow()
	got, err := fl.pull(rank, b.size)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("rank %d receives %d, but no more than %d of the message can be among them, as all of it comes by %s",
		rank, b.received(rank), got, b.list(func(id int) bool { return fl.behind(id) && !fl.behind(b.mates[id]) })), nil
}

// list names the receives of data for which wanted is true, with their lengths.
func (b *bytesOf) list(wanted func(id int) bool) string {
	var words []string
	for id := range b.holds {
		if n := b.carried(id); n > 0 && wanted(id) {
			ref, _ := b.op(id)
			words = append(words, fmt.Sprintf("%s with %d", b.Tell(ref), n))
		}
	}
	return joined(words, maxNamed)
}

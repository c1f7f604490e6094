package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// proveBlocks finds ranks that can get less than the blocks that they want. It examines two things.
// If [bytesOf.exact] is true, nothing else needs to be examined:
//
//   - for each rank: how much of the blocks of all others can reach it;
//   - for each holder: how much can go from it to all ranks at once, among blocks that only one
//     rank wants, so that no message serves two ranks.
func (b *bytesOf) proveBlocks() error {
	wanters := b.wanters()
	b.steps = 0
	for rank := range b.Ranks {
		if err := b.proveRank(rank); err != nil {
			return err
		}
	}
	for rank := range b.Ranks {
		if err := b.proveHolder(rank, wanters); err != nil {
			return err
		}
	}
	return nil
}

// wanters returns, by block, how many ranks want the block and do not hold it.
func (b *bytesOf) wanters() []int32 {
	n := make([]int32, b.header.Blocks())
	for rank := range b.Ranks {
		held, wanted := b.held(rank), b.wanted(rank)
		for i := range wanted.Count {
			if block := wanted.At(i); held.Index(block) < 0 {
				n[block]++
			}
		}
	}
	return n
}

// between returns how many blocks rank from holds that rank to wants and lacks. It counts only
// blocks that at most most ranks want, unless wanters is nil.
func (b *bytesOf) between(from, to int, wanters []int32, most int32) (n int64) {
	held, wanted, has := b.held(from), b.wanted(to), b.held(to)
	for i := range held.Count {
		block := held.At(i)
		if wanted.Index(block) >= 0 && has.Index(block) < 0 && (wanters == nil || wanters[block] <= most) {
			n++
		}
	}
	return n
}

// lacked returns how many bytes the rank wants and does not hold.
func (b *bytesOf) lacked(rank int) int64 {
	held, wanted := b.held(rank), b.wanted(rank)
	n := int64(0)
	for i := range wanted.Count {
		if held.Index(wanted.At(i)) < 0 {
			n++
		}
	}
	return n * b.size
}

// proveRank checks whether all blocks that the rank wants can reach it if no other rank wants
// anything.
func (b *bytesOf) proveRank(rank int) error {
	want := b.lacked(rank)
	if want == 0 {
		return nil
	}
	fl := b.newFlow()
	if fl.steps = b.steps + b.index.Len() + b.header.Blocks(); fl.steps > maxFlowSteps {
		return dag.ErrTooLarge
	}
	for from := range b.Ranks {
		if from != rank {
			fl.own(from, b.between(from, rank, nil, 0)*b.size)
		}
	}
	got, err := fl.pull(rank, want)
	if b.steps = fl.steps; err != nil || got == want {
		return err
	}
	return fail([]int{rank}, nil, nil, "rank %d wants %d %s of others (%s) and cannot get all of them: %s",
		rank, want, b.Unit, b.message(), b.tellNarrow(fl, rank, got))
}

// tellNarrow says why no more than got bytes can reach the rank.
func (b *bytesOf) tellNarrow(fl *flow, rank int, got int64) string {
	sum := b.received(rank)
	if sum == 0 {
		return "it receives nothing"
	}
	if sum == got {
		return fmt.Sprintf("it receives %d: %s", sum, b.list(func(id int) bool { return b.index.Ref(id).Rank == rank }))
	}
	narrow := b.list(func(id int) bool { return fl.behind(id) && !fl.behind(b.mates[id]) })
	if narrow == "" {
		narrow = "nothing"
	}
	return fmt.Sprintf("it receives %d, but no more than %d of what it wants can be among them, as what it lacks comes by %s", sum, got, narrow)
}

// proveHolder checks whether the blocks that ranks want from a holder, each a different one, can
// reach all of them at once.
func (b *bytesOf) proveHolder(from int, wanters []int32) error {
	want, sum, sinks := make([]int64, len(b.Ranks)), int64(0), 0
	for rank := range b.Ranks {
		if want[rank] = b.between(from, rank, wanters, 1) * b.size; want[rank] > 0 {
			sum += want[rank]
			sinks++
		}
	}
	if sinks < 2 {
		return nil // proveRank has examined this
	}
	fl := b.newFlow()
	if fl.steps = b.steps + b.index.Len() + b.header.Blocks(); fl.steps > maxFlowSteps {
		return dag.ErrTooLarge
	}
	fl.own(from, sum)
	for rank := range b.Ranks {
		if want[rank] == 0 {
			continue
		}
		got, err := fl.pull(rank, want[rank])
		if b.steps = fl.steps; err != nil {
			return err
		}
		fl.consume(rank)
		if got < want[rank] {
			return fail([]int{from, rank}, nil, nil, "not all ranks can get what they want from rank %d (%s): when the ranks before have theirs, "+
				"rank %d can get no more than %d of %d %s, as all of it comes by %s",
				from, b.message(), rank, got, want[rank], b.Unit,
				b.list(func(id int) bool { return fl.behind(id) && !fl.behind(b.mates[id]) }))
		}
	}
	return nil
}

// exact reports whether proveBlocks examines everything that matters. It does so in three cases:
// only one rank wants something; all ranks want everything, if messages may combine blocks; or one
// rank holds everything and each block is for one rank.
func (b *bytesOf) exact() bool {
	blocks := b.header.Blocks()
	sinks, all := 0, true
	for rank := range b.Ranks {
		if b.lacked(rank) > 0 {
			sinks++
		}
		all = all && b.wanted(rank).Count == blocks
	}
	if sinks <= 1 || all {
		return true
	}
	for _, n := range b.wanters() {
		if n > 1 {
			return false
		}
	}
	return b.holderOfAll() >= 0
}

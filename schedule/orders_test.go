package schedule

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/ir"
)

// Other orders of the puts of a rule, for comparison with the order that an algorithm has chosen.

// ordering rearranges the actions of one rule of a rank.
type ordering func(p Params, rank int, do []ir.Action)

// reordered returns s with another order.
func reordered(s *ir.Schedule, p Params, o ordering) *ir.Schedule {
	t := &ir.Schedule{Header: s.Header, Programs: slices.Clone(s.Programs)}
	for rank := range t.Programs {
		rules := slices.Clone(t.Programs[rank].Rules)
		for i := range rules {
			rules[i].Do = slices.Clone(rules[i].Do)
			o(p, rank, rules[i].Do)
		}
		t.Programs[rank].Rules = rules
	}
	return t
}

// sortBy returns an ordering that sorts messages by the number that their first action gets.
// Messages with equal numbers keep their order.
func sortBy(number func(p Params, rank, at int, do []ir.Action) int) ordering {
	return func(p Params, rank int, do []ir.Action) {
		type numbered struct {
			number  int
			message []ir.Action
		}
		var all []numbered
		was := slices.Clone(do)
		for i := 0; i < len(do); {
			message := ir.MessageOf(was[i:])
			all = append(all, numbered{number(p, rank, i, was), message})
			i += len(message)
		}
		slices.SortStableFunc(all, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
		do = do[:0]
		for _, m := range all {
			do = append(do, m.message...)
		}
	}
}

// far is larger than the number of actions of any rule.
const far = 1 << 40

// step numbers the chunks, and the multicasts before them, in multiples of far. An ordering may
// sort within these steps. Signals are one step.
func step(a ir.Action) int {
	switch {
	case a.Op == ir.Mcast:
		return -far
	case a.Slot.Kind() == ir.KindChunk:
		return a.Slot.Index() * far
	}
	return 0
}

// within reports whether an action stays on its host.
func within(p Params, rank int, a ir.Action) bool {
	return a.Op == ir.Put && p.Hosts > 0 && rank*p.Hosts/p.Ranks == int(a.To)*p.Hosts/p.Ranks
}

// ahead returns the distance from rank to the destination on the ring.
func ahead(p Params, rank int, a ir.Action) int { return (int(a.To) - rank + p.Ranks) % p.Ranks }

var (
	// backwards reverses the puts to other hosts, chunk by chunk.
	backwards = sortBy(func(p Params, rank, at int, do []ir.Action) int {
		if within(p, rank, do[at]) {
			return step(do[at]) + far/2 + at
		}
		return step(do[at]) - at
	})
	slavesFirst = sortBy(func(p Params, rank, at int, do []ir.Action) int {
		return step(do[at]) + count(!within(p, rank, do[at]))
	})
	rankByRank = sortBy(func(_ Params, _, at int, do []ir.Action) int {
		return slices.IndexFunc(do, func(a ir.Action) bool { return a.Op == do[at].Op && a.To == do[at].To })
	})
	slavesAfterAllChunks = sortBy(func(p Params, rank, at int, do []ir.Action) int {
		return count(within(p, rank, do[at]))
	})
	slavesByChunk = sortBy(func(_ Params, _, at int, do []ir.Action) int {
		return step(do[at])
	})
	multicastsLast = sortBy(func(_ Params, _, at int, do []ir.Action) int {
		return count(do[at].Op == ir.Mcast)
	})
	chunkByChunk = sortBy(func(_ Params, _, at int, do []ir.Action) int {
		return max(step(do[at]), do[at].Slot.Index()*far)
	})
	reversed     = sortBy(func(_ Params, _, at int, _ []ir.Action) int { return -at })
	toNumber     = sortBy(func(_ Params, _, at int, do []ir.Action) int { return int(do[at].To) })
	inTurn       = sortBy(func(_ Params, _, at int, do []ir.Action) int { return do[at].Slot.Index() })
	nearestFirst = sortBy(func(p Params, rank, at int, do []ir.Action) int {
		return step(do[at]) + ahead(p, rank, do[at])
	})
	byNumber = sortBy(func(p Params, rank, at int, do []ir.Action) int {
		return step(do[at]) + int(do[at].To)
	})
	farthestFirst = sortBy(func(p Params, rank, at int, do []ir.Action) int {
		return step(do[at]) - ahead(p, rank, do[at])
	})
)

// shortest returns a broadcast of one chunk down a tree in its shortest order: a rank first serves
// the child after which the longest path remains. A rank that sends is one machine, and the path
// after a send is its delivery time, so Jackson's rule for one machine (1955) applies.
func shortest(s *ir.Schedule, model loggp.Params, bytes int) *ir.Schedule {
	wire := loggp.Time(max(bytes, 1)-1) * model.GPerByte
	tails := make([]loggp.Time, s.Ranks)
	var sorted func(rank int) []ir.Action
	sorted = func(rank int) []ir.Action {
		var do []ir.Action
		for _, r := range s.Programs[rank].Rules {
			do = append(do, r.Do...)
		}
		for _, a := range do {
			sorted(int(a.To))
		}
		slices.SortStableFunc(do, func(a, b ir.Action) int { return cmp.Compare(tails[b.To], tails[a.To]) })
		at := model.O + wire // received
		tails[rank] = at
		for _, a := range do {
			tails[rank] = max(tails[rank], at+model.O, at+model.O+model.L+tails[a.To])
			at += max(model.O, model.Gap+wire)
		}
		return do
	}
	sorted(s.Root)
	return reordered(s, Params{}, func(_ Params, _ int, do []ir.Action) {
		slices.SortStableFunc(do, func(a, b ir.Action) int { return cmp.Compare(tails[b.To], tails[a.To]) })
	})
}

package verify

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// inPlace considers a chunk and the part x<k> of the contribution from which it is folded, at a
// rank that wants the chunk, and assumes that both have the same memory. A put reads its slot until
// the destination has the bytes, because the destination may pull them or they may wait for the
// network. So the chunk may be written only when all destinations of x<k> have it and the rank has
// folded everything that includes x<k>. A runtime can delay the write or copy the part. The check
// says whether it must.
//
// If a rank reads a part only once and the result includes the part, the rank has read it before it
// gets the result. The check contributes has shown that the result includes the part.
//
// The fold that makes the chunk from x<k> reads the part, too. A second way to the chunk, such as a
// multicast of another rank's result, may write the chunk while this fold runs. So there must be
// none before the fold has ended.
var inPlace = Check{
	Name:    "in-place",
	Summary: "a note, or a proof if the algorithm promises it: no rank gets a result before its contribution has been read, so the two may share memory",
	scope:   &everyFold,
	prove:   proveInPlace,
}

func proveInPlace(sub *subject) (string, error) {
	if firstError(sub, proveContributes) != nil {
		return "", nil
	}
	err := sub.overlap()
	var o *overlap
	switch {
	case err == nil:
		return o.note(), nil
	case !errors.As(err, &o):
		return "", err
	case promised[sub.s.Name()].inPlace:
		return "", sub.failWithout(o.ranks(), o.rank, o.given, o.need, "%s", o.Error())
	}
	return o.note(), nil
}

// note says whether input and output may share memory. A nil overlap says that they may.
func (o *overlap) note() string {
	if o == nil {
		return "input and output may share memory"
	}
	return "not without a copy or a delayed write: " + o.Error()
}

// overlap is a claim of [overlapClaims] that does not hold. Or brings is set: when the given slots
// are set, the claim's rank brings another rank the chunk need, into which that rank still folds its
// part.
type overlap struct {
	claim
	brings bool
}

func (o *overlap) Error() string {
	if o.brings {
		return fmt.Sprintf("rank %d may get %v from rank %d while it folds %v into %v", o.need.Rank, o.need.Slot, o.rank, o.asked, o.need.Slot)
	}
	if o.need.Rank == o.rank {
		return fmt.Sprintf("rank %d may write %v before it folds %v into %v", o.rank, o.given[0], o.asked, o.need.Slot)
	}
	return fmt.Sprintf("rank %d may write %v before rank %d has its %v", o.rank, o.given[0], o.need.Rank, o.asked)
}

func (o *overlap) ranks() []int {
	if o.need.Rank == o.rank {
		return []int{o.rank}
	}
	return []int{o.rank, o.need.Rank}
}

// overlap returns an [overlap] if a chunk may be written before the contribution in its place was
// read, and nil otherwise.
func (sub *subject) overlap() error {
	if !sub.overlaps.known {
		sub.overlaps.known, sub.overlaps.err = true, findOverlap(sub)
	}
	return sub.overlaps.err
}

func findOverlap(sub *subject) error {
	if o := findSecondWay(sub); o != nil {
		return o
	}
	claims := overlapClaims(sub)
	if len(claims) == 0 {
		return nil
	}
	refute := func(c claim) error { return &overlap{claim: c} }
	// The first claim refutes most schedules, and checking it takes one run.
	if c := claims[0]; sub.without(c.need).All(c.rank, c.given) {
		return refute(c)
	}
	return prove(sub, claims, refute)
}

// findSecondWay returns an [overlap] if a rank may get a chunk from another rank before it has folded
// its part into the chunk, and nil otherwise.
func findSecondWay(sub *subject) *overlap {
	h := &sub.s.Header
	for rank := range sub.s.Programs {
		for _, rule := range sub.s.Programs[rank].Rules {
			for _, a := range rule.Do {
				if a.Op != ir.Fold || a.Slot.Kind() != ir.KindInput || a.As.Kind() != ir.KindChunk || h.InputOf(a.As.Index()) != a.Slot.Index() {
					continue
				}
				wanted := h.Wanted(rank)
				if !wanted.Has(a.As.Index()) || sub.foldedUpon(rank, a.As) != nil {
					continue
				}
				need := place(rank, a.As)
				if from, given, ok := sub.brings(sub.without(need), need); ok {
					return &overlap{claim{rank: from, given: given, need: need, asked: a.Slot}, true}
				}
			}
		}
	}
	return nil
}

// brings returns a rank that puts or multicasts the chunk p to another rank in a world, and the
// slots for which it waits before.
func (sub *subject) brings(res *fixpoint.Result, p Place) (from int, upon []ir.Slot, ok bool) {
	for rank := range sub.s.Programs {
		for i, rule := range sub.s.Programs[rank].Rules {
			if rank == p.Rank || res.Rule(rank, i) < 0 {
				continue
			}
			for _, a := range rule.Do {
				if a.Op == ir.Mcast && a.Slot == p.Slot || a.Op == ir.Put && int(a.To) == p.Rank && a.Sets() == p.Slot {
					return rank, rule.When, true
				}
			}
		}
	}
	return 0, nil, false
}

// overlapClaims claims that each read of a contribution is over when the result in its place is
// there.
func overlapClaims(sub *subject) []claim {
	var claims []claim
	for rank := range sub.s.Programs {
		claims = overlapClaimsAt(claims, &sub.s.Header, &sub.s.Programs[rank], func(c ir.Slot) bool { return sub.layout.Slot(rank, c) >= 0 })
	}
	return claims
}

// overlapClaimsAt appends the claims for one rank, of whose chunks occurs reports which occur.
func overlapClaimsAt(claims []claim, h *ir.Header, p *ir.Program, occurs func(c ir.Slot) bool) []claim {
	reads := make(map[ir.Slot]int)
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Slot.Kind() == ir.KindInput {
				reads[a.Slot]++
			}
		}
	}
	for k := range h.Wanted(p.Rank).All() {
		c := ir.Chunk(k)
		if len(reads) == 0 || h.FoldedRanks(k) == 0 || !occurs(c) {
			continue
		}
		x := ir.Input(h.InputOf(k))
		if reads[x] == 0 || reads[x] == 1 && p.Rank < h.FoldedRanks(k) {
			continue
		}
		given := []ir.Slot{c}
		for i := range p.Rules {
			for _, a := range p.Rules[i].Do {
				if a.Slot != x || a.Op == ir.Fold && a.As == c {
					continue
				}
				need := place(int(a.To), a.Sets())
				if a.Op == ir.Fold {
					need.Rank = p.Rank
				}
				claims = append(claims, claim{rank: p.Rank, given: given, need: need, asked: x})
			}
		}
	}
	return claims
}

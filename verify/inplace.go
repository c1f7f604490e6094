package verify

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// inPlace takes the memory of a contribution's part x<k> and of a chunk that is folded from it, and
// that the rank wants, for one. A put reads until its destination has the bytes: they may be pulled,
// or wait for the network. So the chunk may be written only when all destinations of x<k> have it,
// and when the rank has folded all that x<k> goes into. A runtime can delay the write or copy the
// part: the check says whether it has to.
//
// A rank that reads a part only once has done so before it gets the result, if the part goes into that:
// check contributes has shown it, and there is no other way.
var inPlace = Check{
	Name:    "in-place",
	Summary: "a note, a proof where the algorithm promises it: no rank gets a result before its own contribution, whose memory it may share, has been read",
	scope:   everyFold,
	prove:   proveInPlace,
}

const noteInPlace = "input and output may share memory"

func proveInPlace(sub *subject) (string, error) {
	if firstError(sub, proveContributes) != nil {
		return "", nil
	}
	err := sub.overlap()
	var o *overlap
	switch {
	case err == nil:
		return noteInPlace, nil
	case !errors.As(err, &o):
		return "", err
	case promised[sub.s.Name()].inPlace:
		return "", sub.failWithout(o.ranks(), o.rank, o.given, o.need, "%s", o.Error())
	}
	return "not without a copy or a delayed write: " + o.Error(), nil
}

// overlap is a claim of [overlapClaims] that does not hold.
type overlap struct{ claim }

func (o *overlap) Error() string {
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

// overlap returns an [overlap] if a chunk may be written before the contribution that has its place
// was read, nil if that cannot be.
func (sub *subject) overlap() error {
	if !sub.overlaps.known {
		sub.overlaps.known, sub.overlaps.err = true, findOverlap(sub)
	}
	return sub.overlaps.err
}

func findOverlap(sub *subject) error {
	claims := overlapClaims(sub)
	if len(claims) == 0 {
		return nil
	}
	refute := func(c claim) error { return &overlap{c} }
	// Most schedules are refuted by the first claim, which takes one run.
	if c := claims[0]; sub.without(c.need).All(c.rank, c.given) {
		return refute(c)
	}
	return prove(sub, claims, refute)
}

// overlapClaims claims that each read of a contribution is over once the result in its place is
// there.
func overlapClaims(sub *subject) []claim {
	h := &sub.s.Header
	var claims []claim
	reads := make(map[ir.Slot]int)
	for rank := range sub.s.Programs {
		rules := sub.s.Programs[rank].Rules
		clear(reads)
		for i := range rules {
			for _, a := range rules[i].Do {
				if a.Slot.Kind() == ir.KindInput {
					reads[a.Slot]++
				}
			}
		}
		for k := range h.Wanted(rank).All() {
			c := ir.Chunk(k)
			if len(reads) == 0 || h.FoldedRanks(k) == 0 || sub.layout.Slot(rank, c) < 0 {
				continue
			}
			x := ir.Input(h.InputOf(k))
			if reads[x] == 0 || reads[x] == 1 && rank < h.FoldedRanks(k) {
				continue
			}
			given := []ir.Slot{c}
			for i := range rules {
				for _, a := range rules[i].Do {
					if a.Slot != x || a.Op == ir.Fold && a.As == c {
						continue
					}
					need := place(int(a.To), a.Sets())
					if a.Op == ir.Fold {
						need.Rank = rank
					}
					claims = append(claims, claim{rank: rank, given: given, need: need, asked: x})
				}
			}
		}
	}
	return claims
}

package verify

import "github.com/schedgen/schedgen/ir"

// barrier computes for every slot the set of ranks that must have entered before it is set. It
// takes rules literally: a rule that announces its rank's arrival must wait for enter.
var barrier = Check{
	Name:    "barrier",
	Summary: "no rank leaves before every rank has entered",
	scope:   &everyBarrier,
	prove:   proveBarrier,
}

func proveBarrier(sub *subject) (string, error) {
	return "", eachWindow(&sub.equations, nil, sub.s.Ranks, maxRuns, func(a *must) error {
		for rank := range sub.s.Programs {
			if late := a.firstIgnored(rank); late >= 0 {
				return sub.failWithout([]int{rank, late}, rank, sub.s.Programs[rank].Done, place(late, ir.Enter),
					"rank %d may leave before rank %d enters", rank, late)
			}
		}
		return nil
	})
}

// firstIgnored returns a rank of the span, other than rank, that need not have entered when rank
// leaves. It returns -1 if there is none.
func (a *must) firstIgnored(rank int) int {
	set := a.needed(a.Done(rank))
	late := set.firstMissing(a.span.lo, a.span.hi)
	if int(late) == rank { // it has entered if it leaves
		late = set.firstMissing(late+1, a.span.hi)
	}
	if late >= a.span.hi {
		return -1
	}
	return int(late)
}

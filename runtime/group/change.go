package group

import "github.com/schedgen/schedgen/runtime/membership"

// Change is a step from one view to the next that has begun at a member.
type Change struct {
	View membership.View
	// Came are the members that were not in the view before; of a member's first
	// view that is everybody.
	Came []membership.Member
	// Left have called Leave. Where a view is given up at once for the next one this is not always
	// heard of a member that has published nothing: then it is among the Lost.
	Left []membership.Member
	// Lost have not: they have died, or were taken for dead.
	Lost []membership.Member
}

// changeTo returns what has changed from the era before to e.
func changeTo(e, before *era) Change {
	c := Change{View: e.view}
	for _, m := range e.view.Members {
		if !before.view.Has(m.ID) {
			c.Came = append(c.Came, m)
		}
	}
	for rank, m := range before.view.Members {
		switch {
		case e.view.Has(m.ID):
		case before.left[rank]:
			c.Left = append(c.Left, m)
		default:
			c.Lost = append(c.Lost, m)
		}
	}
	return c
}

package group

import "github.com/schedgen/schedgen/runtime/membership"

// Change is the step from one view to the next that has begun at a member.
type Change struct {
	View membership.View // the view that has begun
	// Came are the members that were not in the previous view. In a member's first view it lists
	// all members.
	Came []membership.Member
	// Left are the members that have called Leave. If other members die at the same time, it may be
	// unknown that a member has left; the member is then in Lost.
	Left []membership.Member
	// Lost are the other members that are gone: they have died, or were taken for dead.
	Lost []membership.Member
}

// changeTo returns the change from the era before to e, and makes e remember which members leave.
func changeTo(e, before *era) Change {
	c := Change{View: e.view}
	ranks, came := ranksOf(e.view), make([]bool, len(e.view.Members))
	for rank := range came {
		came[rank] = true
	}
	for rank, m := range before.view.Members {
		now, stays := ranks[m.ID]
		switch {
		case stays:
			came[now], e.left[now] = false, before.left[rank]
		case before.left[rank]:
			c.Left = append(c.Left, m)
		default:
			c.Lost = append(c.Lost, m)
		}
	}
	for rank, m := range e.view.Members {
		if came[rank] {
			c.Came = append(c.Came, m)
		}
	}
	return c
}

func ranksOf(v membership.View) map[membership.ID]int {
	ranks := make(map[membership.ID]int, len(v.Members))
	for rank, m := range v.Members {
		ranks[m.ID] = rank
	}
	return ranks
}

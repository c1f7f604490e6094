package group

import "github.com/schedgen/schedgen/runtime/membership"

// Change is a step from one view to the next that has begun at a member.
type Change struct {
	View membership.View
	// Came are the members that were not in the view before; of a member's first
	// view that is everybody.
	Came []membership.Member
	// Left have called Leave. Where others die at the same time this is not always heard: then
	// they are among the Lost.
	Left []membership.Member
	// Lost have not: they have died, or were taken for dead.
	Lost []membership.Member
}

// changeTo returns what has changed from the era before to e, and has e remember who leaves.
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

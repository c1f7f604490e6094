package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// fewOfRole is the number of ranks of a role that are shown besides the first if there is room: the
// second and the last.
const fewOfRole = 2

// pickRoles chooses a rank of each role and, if there is room, the second and the last rank of the
// role.
func (t *run) pickRoles(most int) pick {
	roles := t.roles()
	shown := make([][]int, min(len(roles), most))
	room := most - len(shown)
	for i := range shown {
		shown[i] = roles[i][:1]
	}
	for range fewOfRole {
		for i := range shown {
			if next := nextOfRole(roles[i], shown[i]); next >= 0 && room > 0 {
				shown[i] = append(slices.Clone(shown[i]), next)
				room--
			}
		}
	}
	why := "one of each role, and some that are like it"
	if n := len(roles); n > len(shown) {
		why = fmt.Sprintf("one of each of %d roles out of %d", len(shown), n)
	}
	ranks := slices.Concat(shown...)
	slices.Sort(ranks)
	return pick{ranks, -1, why + ": " + tellRoles(roles, shown)}
}

// nextOfRole returns the next rank of a role to show, or -1 if there is none.
func nextOfRole(role, shown []int) int {
	switch n := len(shown); {
	case n >= len(role):
		return -1
	case n == 1:
		return role[1]
	}
	return role[len(role)-1]
}

// tellRoles describes the ranks shown of each role, and how many are alike.
func tellRoles(roles, shown [][]int) string {
	var parts []string
	for i, ranks := range shown {
		part := list(intRuns(ranks, " to "))
		if n := len(roles[i]); n > len(ranks) {
			part += fmt.Sprintf(" (of %s alike)", number(n))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// roles groups the ranks by what they do. Programs that differ only in ranks and in slot numbers
// are one role.
func (t *run) roles() [][]int {
	at := map[string]int{}
	var out [][]int
	for rank := range t.Programs {
		key := roleOf(&t.Programs[rank])
		if _, ok := at[key]; !ok {
			at[key] = len(out)
			out = append(out, nil)
		}
		out[at[key]] = append(out[at[key]], rank)
	}
	return out
}

// roleOf spells a program without ranks and slot numbers.
func roleOf(p *ir.Program) string {
	var b []byte
	for i := range p.Rules {
		r := &p.Rules[i]
		b = append(appendKinds(b, r.When), '?')
		b = strconv.AppendInt(append(b, byte('a'+r.Unless.Kind())), int64(r.After), 10)
		for _, a := range r.Do {
			if a.Joins {
				b = append(b, '+')
			}
			b = append(b, byte('A'+a.Op), byte('a'+a.Slot.Kind()))
		}
		b = append(b, ';')
	}
	return string(appendKinds(b, p.Done))
}

func appendKinds(b []byte, slots []ir.Slot) []byte {
	for _, s := range slots {
		b = append(b, byte('a'+s.Kind()))
	}
	return b
}

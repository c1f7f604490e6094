package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// program writes the function from ranks to programs.
func (g *goWriter) program() {
	n := &spelling{used: g.used}
	n.vars = [numVars]string{varRank: "rank", varPlace: "place", varHost: "host"}
	roles := &picker{goWriter: g, roles: g.roles, name: "roles", do: func(role int) { g.p("return newRole%d(rank), nil", role) }}
	body := g.captured(func() { roles.pick(n) })
	g.p("// program returns what rank does.")
	g.p("func program(rank int) (machine.Program, error) {")
	g.p("if rank < 0 || rank >= Ranks {\nreturn nil, fmt.Errorf(%q, rank, Ranks)\n}", "no rank %d of %d")
	g.define(n)
	g.p("%s}\n%s", body, roles.text)
}

// picker writes what each rank does by its role.
type picker struct {
	*goWriter
	roles []*role
	name  string         // of the table of roles
	do    func(role int) // writes what a role does, which returns
	text  string         // of that table, if there is one
}

// define writes the definitions of variables that have been spelled.
func (g *goWriter) define(n *spelling) {
	if n.seen[varPlace] {
		g.used[opPlaceOf] = true
		g.p("place := placeOf(rank)")
	}
	if n.seen[varHost] {
		g.used[opHostOf] = true
		g.p("host := hostOf(rank)")
	}
}

// arm is a role and the condition under which a rank has it: that it is one of
// few, that it lies between two, or that an expression of it does.
type arm struct {
	role   int
	ranks  []int
	e      *expr
	lo, hi *int // bounds of e
}

// pick writes a switch over the roles: each is told from those that follow it
// by a condition. If some cannot be told so, a table tells all.
func (g *picker) pick(n *spelling) {
	arms, last, ok := g.arms()
	if !ok {
		g.pickFromTable()
		return
	}
	lists := !slices.ContainsFunc(arms, func(a arm) bool { return a.e != nil })
	switch {
	case len(arms) == 0:
	case lists:
		g.p("switch rank {")
	default:
		g.p("switch {")
	}
	for _, a := range arms {
		g.p("case %s:", g.condition(a, lists, n))
		g.do(a.role)
	}
	if len(arms) > 0 {
		g.p("}")
	}
	g.do(last)
}

// condition spells when a rank has the role of an arm, in a switch over ranks
// as a list.
func (g *goWriter) condition(a arm, listed bool, n *spelling) string {
	switch {
	case listed:
		return strings.Join(g.named(a.ranks), ", ")
	case a.e == nil:
		return "rank == " + strings.Join(g.named(a.ranks), " || rank == ")
	}
	e := n.spell(a.e, 4)
	switch {
	case a.lo == nil:
		return fmt.Sprintf("%s <= %d", e, *a.hi)
	case a.hi == nil:
		return fmt.Sprintf("%s >= %d", e, *a.lo)
	case *a.lo == *a.hi:
		return fmt.Sprintf("%s == %d", e, *a.lo)
	}
	return fmt.Sprintf("%d <= %s && %s <= %d", *a.lo, e, e, *a.hi)
}

// named spells ranks, the root by that name.
func (g *goWriter) named(ranks []int) []string {
	var out []string
	for _, r := range ranks {
		if r == g.root && g.s.HasMessage() {
			out = append(out, "Root")
		} else {
			out = append(out, strconv.Itoa(r))
		}
	}
	return out
}

// arms returns the roles with their conditions, and the last, which needs none:
// that of most ranks.
func (g *picker) arms() (list []arm, last int, ok bool) {
	rest := seq(len(g.roles))
	for i, ro := range g.roles {
		if len(ro.ranks) > len(g.roles[last].ranks) {
			last = i
		}
	}
	for len(rest) > 1 {
		at := slices.IndexFunc(rest, func(i int) bool {
			if i == last {
				return false
			}
			a, ok := g.arm(i, rest)
			if ok {
				list = append(list, a)
			}
			return ok
		})
		if at < 0 {
			return nil, 0, false
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return list, last, true
}

// maxListed is the number of ranks up to which a condition names them all.
const maxListed = 8

// arm returns the condition that tells the ranks of a role from those of the
// rest.
func (g *picker) arm(role int, rest []int) (a arm, ok bool) {
	a = arm{role: role, ranks: g.roles[role].ranks}
	var others []int
	for _, i := range rest {
		if i != role {
			others = append(others, g.roles[i].ranks...)
		}
	}
	if len(a.ranks) == 1 {
		return a, true
	}
	if a.bound(variableOf(varRank), others, g.env) {
		return a, true
	}
	for _, f := range g.frames {
		for _, e := range g.conditionForms(base{f.own, f}) {
			if e.size() <= 2*len(a.ranks) && a.bound(e, others, g.env) {
				return a, true
			}
		}
	}
	return a, len(a.ranks) <= maxListed
}

// conditionForms are formulas whose values tell ranks apart, odd and even ones
// above all.
func (g *goWriter) conditionForms(b base) []*expr {
	x := variableOf(b.variable)
	return append([]*expr{x, of2(opMod, x, lit(2))}, g.formsOf(&sought{bases: []base{b}})...)
}

// bound makes it the arm's condition that e lies within what it is at the
// arm's ranks, and reports whether it does so at none of the others.
func (a *arm) bound(e *expr, others []int, env func(rank int) env) bool {
	lo, hi, ok := extremes(e, a.ranks, env)
	if !ok {
		return false
	}
	below, above := false, false
	for _, r := range others {
		at := env(r)
		v := e.at(&at)
		if at.bad || lo <= v && v <= hi {
			return false
		}
		below, above = below || v < lo, above || v > hi
	}
	if e.op != opVar && lo != hi && below && above {
		return false
	}
	a.e = e
	if below || lo == hi {
		a.lo = &lo
	}
	if above || lo == hi {
		a.hi = &hi
	}
	return true
}

// extremes returns the least and the largest value of e at ranks.
func extremes(e *expr, ranks []int, env func(rank int) env) (lo, hi int, ok bool) {
	for i, r := range ranks {
		at := env(r)
		v := e.at(&at)
		if at.bad {
			return 0, 0, false
		}
		if i == 0 {
			lo, hi = v, v
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi, true
}

// pickFromTable looks the role up.
func (g *picker) pickFromTable() {
	g.p("switch %s[rank] {", g.name)
	for i := range g.roles[1:] {
		g.p("case %d:", i+1)
		g.do(i + 1)
	}
	g.p("}")
	g.do(0)
	g.text = g.captured(g.table)
}

// table writes the table of roles.
func (g *picker) table() {
	of := rolesOfRanks(g.s.Ranks, g.roles)
	g.p("// %s tells the role of each rank.\nvar %s = [Ranks]%s{", g.name, g.name, integer(of))
	for i := 0; i < len(of); i += 32 {
		g.p("%s,", commas(of[i:min(i+32, len(of))]))
	}
	g.p("}\n")
}

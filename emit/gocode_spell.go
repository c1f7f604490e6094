package emit

import (
	"fmt"
	"strconv"
)

// spelling is how expressions are spelled in one function of generated code.
type spelling struct {
	vars  [numVars]string
	given map[string]string // expression -> name
	role  string            // the name of the role, for its tables
	used  map[op]bool       // operators that need an import or a function
	seen  [numVars]bool     // variables that have been spelled

	// field, if not nil, names what does not depend on the slot being set.
	field func(core *expr) string
}

// text spells e in Go.
func (n *spelling) text(e *expr) string { return n.spell(e, 0) }

// spell spells e as an operand of an operator of the precedence outer, or of
// none.
func (n *spelling) spell(e *expr, outer int) string {
	if name := n.given[e.key()]; name != "" {
		return name
	}
	switch e.op {
	case opLit:
		if e.n < 0 && outer > 0 {
			return "(" + strconv.Itoa(e.n) + ")"
		}
		return strconv.Itoa(e.n)
	case opRanks:
		return "Ranks"
	case opChunks:
		return "Chunks"
	}
	if n.field != nil && !e.uses(varSlot) && !e.uses(varK) && core(e) == e {
		return n.field(e)
	}
	switch e.op {
	case opVar:
		n.seen[e.n] = true
		return n.vars[e.n]
	case opCell:
		return fmt.Sprintf("int(%sTable[rank][%d])", n.role, e.n)
	}
	if e.op > opXor {
		return n.called(e)
	}
	precedence := 5
	if e.op >= opAdd {
		precedence = 4
	}
	text := n.spell(e.args[0], precedence) + operators[e.op] + n.spell(e.args[1], precedence+1)
	if precedence < outer {
		return "(" + text + ")"
	}
	return text
}

func (n *spelling) called(e *expr) string {
	n.used[e.op] = true
	a := n.text(e.args[0])
	switch e.op {
	case opListed:
		return fmt.Sprintf("int(%sList%d[rank][%s])", n.role, e.n, a)
	case opZeros:
		return "bits.TrailingZeros(uint(" + a + "))"
	case opLen:
		return "bits.Len(uint(" + a + "))"
	case opMin:
		return "min(" + a + ", " + n.text(e.args[1]) + ")"
	case opMax:
		return "max(" + a + ", " + n.text(e.args[1]) + ")"
	case opRankAt:
		return "rankAt(" + a + ")"
	case opMaster:
		return "master(" + a + ")"
	case opMembers:
		return "members(" + a + ")"
	}
	panic(fmt.Sprintf("no spelling of operator %d", e.op))
}

// core returns what is left of e without a factor and a summand, nil if that
// is nothing.
func core(e *expr) *expr {
	for {
		switch {
		case (e.op == opAdd || e.op == opSub) && e.args[1].op == opLit:
			e = e.args[0]
		case (e.op == opMul || e.op == opSub) && e.args[0].op == opLit:
			e = e.args[1]
		case e.op == opLit || e.op == opRanks || e.op == opChunks:
			return nil
		default:
			return e
		}
	}
}

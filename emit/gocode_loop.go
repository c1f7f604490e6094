package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
)

// piece is Go code with holes for numbers: an expression, several, or statements.
type piece struct {
	form    string // the same for pieces that differ only in numbers
	code    []jen.Code
	numbers []operand
	loops   int  // how many loops stand within each other
	element bool // it is an element of a list, for a statement that appends it
}

// beside returns parts side by side.
func beside(parts ...piece) piece {
	var form, numbers int
	for i := range parts {
		form, numbers = form+len(parts[i].form)+2, numbers+len(parts[i].numbers)
	}
	var text strings.Builder
	text.Grow(form)
	p := piece{code: make([]jen.Code, 0, len(parts)), numbers: make([]operand, 0, numbers)}
	for i, part := range parts {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(part.form)
		p.code = append(p.code, part.code...)
		p.numbers = append(p.numbers, part.numbers...)
		p.loops = max(p.loops, part.loops)
	}
	p.form = text.String()
	return p
}

// joint returns what build makes of parts. name is what the form tells of build.
func joint(name string, build func(...jen.Code) *jen.Statement, parts ...piece) piece {
	p := beside(parts...)
	p.form = name + "(" + p.form + ")"
	p.code = []jen.Code{build(p.code...)}
	return p
}

// id returns a piece that is a name.
func id(name string) piece { return piece{form: name, code: []jen.Code{jen.Id(name)}} }

// call returns a call of a function of package ir.
func call(name string, arguments ...piece) piece {
	return joint("ir."+name, jen.Qual(irPath, name).Call, arguments...)
}

// spread returns p..., the last argument of a call.
func spread(p piece) piece {
	return joint("...", func(c ...jen.Code) *jen.Statement { return jen.Add(c...).Op("...") }, p)
}

// assign returns the statement that sets a variable.
func assign(name string, value piece) piece { return joint(name+" =", jen.Id(name).Op("=").Add, value) }

// appending returns the statement that appends values to a variable.
func appending(name string, values ...piece) piece {
	return assign(name, joint("append", jen.Append, append([]piece{id(name)}, values...)...))
}

// moves reports whether a number of the piece moves with the rank.
func (p piece) moves() bool {
	return slices.ContainsFunc(p.numbers, func(n operand) bool { return n.moves })
}

// fill fills the holes for a role of ranks in first … last.
func (p *piece) fill(first, last int) {
	for i := range p.numbers {
		*p.numbers[i].hole = *p.numbers[i].code(first, last)
	}
}

// operand is a number of a program: at, plus the rank if it moves, plus what loops add. If it moves
// and mod is not 0, it is the sum modulo mod, the number of ranks.
type operand struct {
	at, mod int
	moves   bool
	int32   bool  // it has the type int32
	steps   []int // what each turn of a loop adds, the innermost loop first
	lo, hi  int   // what all loops together add at least and at most
	hole    *jen.Statement
}

// piece returns a hole for the number.
func (n operand) piece() piece {
	n.hole = new(jen.Statement)
	return piece{form: "0", code: []jen.Code{n.hole}, numbers: []operand{n}}
}

// step returns how much b is more than a, if nothing else differs.
func (a *operand) step(b *operand) (step int, ok bool) {
	if a.mod != b.mod || a.moves != b.moves || a.lo != b.lo || a.hi != b.hi || !slices.Equal(a.steps, b.steps) {
		return 0, false
	}
	step = b.at - a.at
	switch {
	case !a.moves || a.mod == 0:
	case 2*step > a.mod:
		step -= a.mod
	case 2*step <= -a.mod:
		step += a.mod
	}
	return step, true
}

// loopNames are the variables of loops, the innermost first.
const loopNames = "ijkmuvwxyz"

// code returns the number as an expression, for ranks in first … last.
func (n *operand) code(first, last int) *jen.Statement {
	at, wraps := n.at, false
	if n.moves && n.mod > 0 {
		for at+n.lo+first < 0 {
			at += n.mod
		}
		for at+n.lo+first >= n.mod {
			at -= n.mod
		}
		wraps = at+n.hi+last >= n.mod
	}
	var more, less []jen.Code
	add := func(v int, term jen.Code) {
		switch {
		case v > 0:
			more = append(more, jen.Op("+"), term)
		case v < 0:
			less = append(less, jen.Op("-"), term)
		}
	}
	if n.moves {
		add(1, jen.Id("rank"))
	}
	for i, step := range n.steps {
		term := jen.Id(loopNames[i : i+1])
		if step > 1 || step < -1 {
			term = jen.Lit(max(step, -step)).Op("*").Add(term)
		}
		add(step, term)
	}
	add(at, jen.Lit(max(at, -at)))
	if len(more) > 0 {
		more = more[1:] // no sign before the first term
	}
	sum := jen.Add(more...).Add(less...)
	switch {
	case len(*sum) == 0:
		sum.Lit(0)
	case wraps && len(*sum) > 1:
		sum = jen.Parens(sum).Op("%").Id("Ranks")
	case wraps:
		sum.Op("%").Id("Ranks")
	}
	if n.int32 && (n.moves || len(n.steps) > 0) {
		sum = jen.Int32().Call(sum)
	}
	return sum
}

const (
	maxBody   = 8   // maximum number of pieces that repeat in a loop
	leastLoop = 130 // minimum number of bytes of forms that a loop takes the place of
)

// roll returns elements and statements that append to a variable, with loops in place of those that
// repeat and whose numbers grow by the same step each time.
func roll(list []piece, name string) []piece {
	for n := 1; n <= maxBody; n++ {
		if next := rollBy(list, n, name); len(next) < len(list) {
			list, n = next, 0 // loops may repeat, too
		}
	}
	return list
}

// rollBy makes loops of n statements that repeat.
func rollBy(list []piece, n int, name string) (out []piece) {
	for len(list) >= 2*n {
		if by, times := turns(list, n); times > 1 {
			body := beside(merged(list[:n], name)...)
			if (times-1)*len(body.form) >= leastLoop && body.loops < len(loopNames) {
				out, list = append(out, body.loop(by, times)), list[times*n:]
				continue
			}
		}
		out, list = append(out, list[0]), list[1:]
	}
	return append(out, list...)
}

// merged returns the statements of a list. One statement appends neighbours that are elements.
func merged(list []piece, name string) (statements []piece) {
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(p piece) bool { return !p.element })
		switch {
		case n < 0:
			return append(statements, appending(name, list...))
		case n > 0:
			statements = append(statements, appending(name, list[:n]...))
		}
		statements, list = append(statements, list[n]), list[n+1:]
	}
	return statements
}

// turns returns how often the first n pieces of list repeat, and how much their numbers grow each
// time.
func turns(list []piece, n int) (by []int, times int) {
	for times = 1; (times+1)*n <= len(list); times++ {
		next, ok := steps(list[(times-1)*n:times*n], list[times*n:(times+1)*n])
		if !ok || times > 1 && !slices.Equal(next, by) {
			break
		}
		by = next
	}
	return by, times
}

// steps returns how much the numbers of b are more than those of a, if nothing else differs.
func steps(a, b []piece) (by []int, ok bool) {
	for i := range a {
		if a[i].form != b[i].form {
			return nil, false
		}
		for k := range a[i].numbers {
			step, ok := a[i].numbers[k].step(&b[i].numbers[k])
			if !ok {
				return nil, false
			}
			by = append(by, step)
		}
	}
	return by, true
}

// loop returns the loop that repeats the statements of p. by is how much their numbers grow in each
// turn.
func (p piece) loop(by []int, times int) piece {
	head := jen.Range().Lit(times)
	for i := range p.numbers {
		n, all := &p.numbers[i], by[i]*(times-1)
		if by[i] == 0 {
			continue
		}
		n.lo, n.hi = n.lo+min(all, 0), n.hi+max(all, 0)
		steps := make([]int, p.loops+1)
		copy(steps, n.steps)
		steps[p.loops] = by[i]
		n.steps = steps
		head = jen.Id(loopNames[p.loops : p.loops+1]).Op(":=").Range().Lit(times)
	}
	p.form = fmt.Sprintf("for i := range %d { %s }", times, p.form)
	p.code = []jen.Code{jen.For(head).Block(p.code...)}
	p.loops++
	return p
}

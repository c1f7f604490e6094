package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// piece is Go text with holes for numbers.
type piece struct {
	text    string
	numbers []operand
	loops   int // how many loops stand within each other
}

const hole = "\x00"

// joint joins pieces and strings.
func joint(parts ...any) piece {
	var size, numbers int
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			size += len(part)
		case piece:
			size, numbers = size+len(part.text), numbers+len(part.numbers)
		}
	}
	var text strings.Builder
	text.Grow(size)
	p := piece{numbers: make([]operand, 0, numbers)}
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			text.WriteString(part)
		case piece:
			text.WriteString(part.text)
			p.numbers = append(p.numbers, part.numbers...)
			p.loops = max(p.loops, part.loops)
		}
	}
	p.text = text.String()
	return p
}

// moves reports whether a number of the piece moves with the rank.
func (p *piece) moves() bool {
	return slices.ContainsFunc(p.numbers, func(n operand) bool { return n.moves })
}

// write writes the piece for a role of ranks in first … last.
func (p piece) write(b *bytes.Buffer, first, last int) {
	for i, text := range strings.Split(p.text, hole) {
		if i > 0 {
			b.WriteString(p.numbers[i-1].text(first, last))
		}
		b.WriteString(text)
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

// text returns the number as an expression, for ranks in first … last.
func (n *operand) text(first, last int) string {
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
	var more, less []string
	add := func(v int, term string) {
		switch {
		case v > 0:
			more = append(more, term)
		case v < 0:
			less = append(less, term)
		}
	}
	if n.moves {
		add(1, "rank")
	}
	for i, step := range n.steps {
		name := loopNames[i : i+1]
		if step > 1 || step < -1 {
			name = fmt.Sprintf("%d*%s", max(step, -step), name)
		}
		add(step, name)
	}
	add(at, fmt.Sprint(max(at, -at)))
	text := strings.Join(more, " + ")
	for _, term := range less {
		text += " - " + term
	}
	switch {
	case len(more)+len(less) == 0:
		text = "0"
	case wraps && len(more)+len(less) > 1:
		text = "(" + text + ") % Ranks"
	case wraps:
		text += " % Ranks"
	}
	if n.int32 && (n.moves || len(n.steps) > 0) {
		text = "int32(" + text + ")"
	}
	return text
}

const (
	maxBody   = 8   // maximum number of pieces that repeat in a loop
	leastLoop = 130 // minimum number of bytes that a loop takes the place of
)

// roll returns statements that append to a variable, with loops in place of those that repeat and
// whose numbers grow by the same step each time.
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
			if body := merged(list[:n], name); (times-1)*len(body.text) >= leastLoop && body.loops < len(loopNames) {
				out, list = append(out, body.loop(by, times)), list[times*n:]
				continue
			}
		}
		out, list = append(out, list[0]), list[1:]
	}
	return append(out, list...)
}

// merged joins statements. Neighbours that append single elements to the variable become one.
func merged(statements []piece, name string) piece {
	head, tail := name+" = append("+name+", ", ")\n"
	single := func(text string) bool { return strings.HasPrefix(text, head) && !strings.HasSuffix(text, "..."+tail) }
	parts := make([]any, len(statements))
	for i, next := range statements {
		if i > 0 && single(next.text) && single(statements[i-1].text) {
			last := parts[i-1].(piece)
			last.text = strings.TrimSuffix(last.text, tail)
			parts[i-1], next.text = last, ", "+strings.TrimPrefix(next.text, head)
		}
		parts[i] = next
	}
	return joint(parts...)
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
		if a[i].text != b[i].text {
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

// loop returns the loop that repeats the piece. by is how much its numbers grow in each turn.
func (p piece) loop(by []int, times int) piece {
	numbers := slices.Clone(p.numbers)
	head := fmt.Sprintf("for range %d {\n", times)
	for i := range numbers {
		n, all := &numbers[i], by[i]*(times-1)
		if by[i] == 0 {
			continue
		}
		n.lo, n.hi = n.lo+min(all, 0), n.hi+max(all, 0)
		steps := make([]int, p.loops+1)
		copy(steps, n.steps)
		steps[p.loops] = by[i]
		n.steps = steps
		head = fmt.Sprintf("for %c := range %d {\n", loopNames[p.loops], times)
	}
	return piece{text: head + p.text + "}\n", numbers: numbers, loops: p.loops + 1}
}

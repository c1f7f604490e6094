package emit

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// commenter spells the rules of a role as the text form does, with formulas
// in braces where its ranks have different numbers.
type commenter struct {
	*spelling
	depth int // of loops
}

// enter names the variable of a loop that runs more than once, and returns
// what leaves the loop again.
func (c *commenter) enter(v variable, times *expr) (leave func()) {
	depth := c.depth
	if !times.is(1) {
		c.vars[v] = loopNames[depth]
		c.depth++
	}
	return func() { c.depth = depth }
}

// rule spells the rules of a family: those of every k, or, if k is not nil, of
// that one.
func (c *commenter) rule(f *family, k *expr) string {
	if k == nil {
		defer c.enter(varK, f.times.expr)()
		if f.times.expr.is(1) {
			k = lit(0)
		}
	}
	at := func(e *expr) *expr {
		if k == nil {
			return e
		}
		return e.put(varK, k)
	}
	var parts []string
	for i := range f.when {
		moved := mul(f.step[i].expr, variableOf(varK))
		parts = append(parts, c.span(&f.when[i], at(moved)))
	}
	when := strings.Join(parts, " ")
	var rules []string
	for _, run := range f.runs {
		rules = append(rules, c.run(run, when, at))
	}
	text := strings.Join(rules, "; ")
	if k == nil {
		text += c.loops(", each", varK, f.times.expr)
	}
	return text
}

// run spells the rules of a run.
func (c *commenter) run(run *repeat, when string, at func(*expr) *expr) string {
	defer c.enter(varJ, run.times.expr)()
	var actions []string
	for _, s := range run.fitted {
		actions = append(actions, c.segment(s, c.action, ", ", at))
	}
	do := strings.Join(actions, ", ")
	if run.again == nil {
		return when + " -> " + do
	}
	text := fmt.Sprintf("%s unless %s after %s -> %s", when, c.slot(run.again.kind, at(run.again.unless.expr)), c.braced(at(run.again.after.expr)), do)
	return text + c.loops(", each", varJ, run.times.expr)
}

// ranks spells the ranks that actions go to.
func (c *commenter) ranks(run *repeat) string {
	var list []string
	for _, s := range run.fitted {
		list = append(list, c.segment(s, func(s *segment, at func(*expr) *expr) string {
			return c.braced(at(s.to.expr.put(varTo, s.at)))
		}, " ", unchanged))
	}
	return strings.Join(list, " ")
}

// actions spells actions that belong to no rule.
func (c *commenter) actions(run *repeat) string {
	var list []string
	for _, s := range run.fitted {
		list = append(list, c.segment(s, c.action, ", ", unchanged))
	}
	return strings.Join(list, ", ")
}

func unchanged(e *expr) *expr { return e }

// segment spells actions by one: few one by one.
func (c *commenter) segment(s *segment, one func(*segment, func(*expr) *expr) string, between string, at func(*expr) *expr) string {
	const few, short = 3, 8
	defer c.enter(varI, s.outer.expr)()
	defer c.enter(varH, s.inner.expr)()
	inner, isInner := s.inner.expr.constant()
	outer, isOuter := s.outer.expr.constant()
	_, alike := s.to.expr.constant()
	if isInner && isOuter && inner*outer <= few && (alike || len(c.text(s.to.expr)) <= short) {
		var list []string
		for i := range outer {
			for h := range inner {
				list = append(list, one(s, func(e *expr) *expr { return at(e.put(varI, lit(i)).put(varH, lit(h))) }))
			}
		}
		return strings.Join(list, between)
	}
	return one(s, at) + c.loops(" for", varI, s.outer.expr) + c.loops(" for", varH, s.inner.expr)
}

func (c *commenter) action(s *segment, at func(*expr) *expr) string {
	text := s.op.String() + " " + c.slot(s.kind, at(s.slot.expr))
	if s.op == ir.Put {
		text += " @" + c.braced(at(s.to.expr.put(varTo, s.at)))
	}
	return text
}

// loops spells a loop that runs more than once.
func (c *commenter) loops(word string, v variable, times *expr) string {
	if times.is(1) {
		return ""
	}
	return fmt.Sprintf("%s %s < %s", word, c.vars[v], c.text(times))
}

// span spells the slots of a span, moved by so many.
func (c *commenter) span(s *slotSpan, by *expr) string {
	first := add(s.first.expr, by)
	last := sub(add(first, s.n.expr), lit(1))
	const few = 4
	if n, ok := s.n.expr.constant(); ok && n <= few {
		var list []string
		for i := range n {
			list = append(list, c.slot(s.kind, add(first, lit(i))))
		}
		return strings.Join(list, " ")
	}
	return c.slot(s.kind, first) + " … " + c.slot(s.kind, last)
}

// slot spells a slot.
func (c *commenter) slot(kind ir.Kind, index *expr) string {
	switch kind {
	case ir.KindEnter:
		return "enter"
	case ir.KindChunk:
		return "c" + c.braced(index)
	}
	return "s" + c.braced(index)
}

// braced spells a number, in braces unless it is the same everywhere.
func (c *commenter) braced(e *expr) string {
	if _, ok := e.constant(); ok {
		return c.text(e)
	}
	return "{" + c.text(e) + "}"
}

// comment writes lines of a comment.
func (g *goWriter) comment(text string) {
	const width = 110
	for _, line := range foldText(text, width) {
		g.p("// %s", line)
	}
}

// foldText cuts a text into lines at spaces.
func foldText(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

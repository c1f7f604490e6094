package emit

import (
	"fmt"
	"slices"
	"strings"
)

// table is what numbers of a role are that are no formulas: cells, one at each
// rank, and lists, as many at each rank as loops pass by.
type table struct {
	cells [][]int // column -> its value at each rank of the role, in order
	lists []rankList
}

// rankList is numbers of each rank of a role, in order, for the passes of loops.
type rankList struct {
	what string
	rows [][]int
}

// cell returns the expression for a number with these values, one at each
// rank: that of a column, of an earlier one if that differs by a factor and a
// summand only.
func (t *table) cell(values []int) *expr {
	for i, column := range t.cells {
		if a, c, ok := between(column, values); ok {
			return add(mul(lit(a), &expr{op: opCell, n: i}), lit(c))
		}
	}
	t.cells = append(t.cells, values)
	return &expr{op: opCell, n: len(t.cells) - 1}
}

// between returns a and c such that values are a·column + c.
func between(column, values []int) (a, c int, ok bool) {
	for i := range column {
		d, by := values[i]-values[0], column[i]-column[0]
		if by == 0 {
			continue
		}
		if a = d / by; d%by != 0 {
			return 0, 0, false
		}
		break
	}
	c = values[0] - a*column[0]
	for i := range column {
		if a*column[i]+c != values[i] {
			return 0, 0, false
		}
	}
	return a, c, true
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// list returns the expression for a number with these values at the ranks,
// where index is what counts the passes of the loops that it stands in. what
// tells what the numbers are.
func (t *table) list(what string, rows [][]int, index *expr) *expr {
	n := slices.IndexFunc(t.lists, func(l rankList) bool { return l.what == what && slices.EqualFunc(l.rows, rows, slices.Equal) })
	if n < 0 {
		n = len(t.lists)
		t.lists = append(t.lists, rankList{what, rows})
	}
	return &expr{op: opListed, n: n, args: []*expr{index}}
}

// tables writes what is no formula.
func (w *roleWriter) tables() {
	if len(w.table.cells) > 0 {
		w.p("// %sTable has numbers of each rank.", w.name)
		w.p("var %sTable = [Ranks][%d]%s{", w.name, len(w.table.cells), integer(w.table.cells...))
		for k, r := range w.ranks {
			var row []int
			for _, column := range w.table.cells {
				row = append(row, column[k])
			}
			w.p("%d: {%s},", r, commas(row))
		}
		w.p("}\n")
	}
	for i, list := range w.table.lists {
		w.p("// %sList%d has, for each rank, %s.", w.name, i, list.what)
		w.p("var %sList%d = [Ranks][]%s{", w.name, i, integer(list.rows...))
		for k, r := range w.ranks {
			w.p("%d: {%s},", r, commas(list.rows[k]))
		}
		w.p("}\n")
	}
}

// integer returns the smallest type that holds all numbers.
func integer(lists ...[]int) string {
	most := 0
	for _, l := range lists {
		for _, n := range l {
			if n < 0 {
				return "int32"
			}
			most = max(most, n)
		}
	}
	switch {
	case most < 1<<8:
		return "uint8"
	case most < 1<<16:
		return "uint16"
	}
	return "int32"
}

func commas(numbers []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), ", "), "[]")
}

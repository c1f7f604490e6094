package emit

import (
	"fmt"
	"slices"
)

const (
	// maxGoText is the most bytes of Go that are written for a schedule: what
	// the compiler takes seconds for.
	maxGoText = 256 << 10

	leastRole   = 800 // bytes that a role comes to at least,
	leastNumber = 3   // and a number of a table
)

// estimate is how many bytes of text the roles come to at least.
func (g *goWriter) estimate() int {
	n := leastRole * len(g.roles)
	for _, ro := range slices.Concat(g.roles, g.placed) {
		n += leastNumber * ro.table.numbers()
	}
	return n
}

// fits returns an error if so many bytes for ranks of so many kinds are too
// many.
func (g *goWriter) fits(size, kinds int) error {
	if size <= maxGoText {
		return nil
	}
	what := fmt.Sprintf("its %s do %s", count(g.s.Ranks, "rank"), count(kinds, "different thing"))
	numbers := 0
	for _, ro := range slices.Concat(g.roles, g.placed) {
		numbers += ro.table.numbers()
	}
	if numbers > 0 {
		what += fmt.Sprintf(", with %s in tables", count(numbers, "number"))
	}
	return &Unfit{fmt.Sprintf("it would be %d KB of Go or more, and over %d KB the compiler takes too long (%s); "+
		"write it as text or json, and give machine.Of what ir.ParseText or ir.ParseJSON reads; "+
		"or name its algorithm in runtime.Config: each rank computes its own part then",
		(size+1023)>>10, maxGoText>>10, what)}
}

// numbers is how many the table has.
func (t *table) numbers() int {
	n := 0
	for _, column := range t.cells {
		n += len(column)
	}
	for _, list := range t.lists {
		for _, row := range list.rows {
			n += len(row)
		}
	}
	return n
}

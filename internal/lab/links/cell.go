//go:build linux

package links

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
)

// cell is a collective operation, a number of hosts, and their links.
type cell struct {
	algorithm string
	rate      int64 // rate of each end of a link in bits per second; 0: unlimited
	perMille  int   // lost frames to each host, per thousand
	bytes     int   // length of a block
	hosts     int
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s on %d hosts, %s, %s loss", c.algorithm, words.Size(int64(c.bytes)), c.hosts, units.Rate(c.rate), units.Loss(c.perMille))
}

// collective returns the name of the collective.
func (c cell) collective() string {
	name, _, _ := strings.Cut(c.algorithm, "/")
	return name
}

// wire returns the seconds that a link needs for the blocks of the busiest link, or 0 if links are
// unlimited.
func (c cell) wire() float64 { return c.busiest() * units.Wire(c.bytes, c.rate) }

// busiest returns the least number of blocks that the busiest end of a link carries, for any
// algorithm. A rank receives each block that it wants and does not hold. It sends each block that
// it alone holds and others want, only once, because a multicast may take it to all. For
// collectives that fold, see folded. It returns 0 if the collective is not in the table.
func (c cell) busiest() float64 {
	row, ok := ir.CollectiveNamed(c.collective())
	if !ok || row.Blocks == nil {
		return 0
	}
	if row.Inputs != nil {
		return c.folded(&row)
	}
	const root = 0
	most := 0
	held := make([]int, row.Blocks(c.hosts)) // number of ranks that hold each block
	for rank := range c.hosts {
		blocks := row.Held(c.hosts, root, rank)
		for i := range blocks.Count {
			held[blocks.At(i)]++
		}
	}
	lacked := make([]bool, len(held)) // whether a rank wants the block and does not hold it
	for rank := range c.hosts {
		has, wants, down := row.Held(c.hosts, root, rank), row.Wanted(c.hosts, root, rank), 0
		for i := range wants.Count {
			if block := wants.At(i); has.Index(block) < 0 {
				lacked[block] = true
				down++
			}
		}
		most = max(most, down)
	}
	for rank := range c.hosts {
		has, up := row.Held(c.hosts, root, rank), 0
		for i := range has.Count {
			if block := has.At(i); lacked[block] && held[block] == 1 {
				up++
			}
		}
		most = max(most, up)
	}
	return float64(most)
}

// folded returns the least number of blocks that the busiest link takes in, for any algorithm, if
// contributions are folded. Folding the blocks of P ranks into one takes P-1 messages of partial
// results. The result then travels to every rank that wants it, except the one that made it. The
// links share these messages. Each rank that wants a block takes in at least one.
func (c cell) folded(row *ir.Collective) float64 {
	const root = 0
	if c.hosts == 1 {
		return 0
	}
	transfers := 0
	for block := range row.Blocks(c.hosts) {
		if row.Folded(c.hosts, block) < c.hosts {
			return 1 // prefixes share partial results
		}
		transfers += c.hosts - 2 // the rank that makes the result need not receive it
		for rank := range c.hosts {
			if w := row.Wanted(c.hosts, root, rank); w.Index(block) >= 0 {
				transfers++
			}
		}
	}
	return max(1, float64(transfers)/float64(c.hosts))
}

// compareCells orders cells as in the report. Cells of the matrix come first.
func compareCells(a, b cell) int {
	place := func(c cell) int {
		if i := slices.Index(algorithms, c.algorithm); i >= 0 {
			return i
		}
		return len(algorithms)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.algorithm, b.algorithm), units.CompareRates(a.rate, b.rate),
		cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.perMille, b.perMille), cmp.Compare(a.hosts, b.hosts))
}

//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/bench/internal/units"
	"github.com/schedgen/schedgen/ir"
)

// cell is a collective operation on links.
type cell struct {
	algorithm string
	rate      int64 // of each link's ends, bits per second; 0: not limited
	perMille  int   // of the frames to each host that are lost
	bytes     int   // of a block
	hosts     int
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s on %d hosts, %s, %s loss", c.algorithm, units.Size(c.bytes), c.hosts, units.Rate(c.rate), units.Loss(c.perMille))
}

// collective returns the name of the collective.
func (c cell) collective() string {
	name, _, _ := strings.Cut(c.algorithm, "/")
	return name
}

// wire returns how many seconds the blocks that busiest counts take a link; 0 if the link is not
// limited.
func (c cell) wire() float64 { return c.busiest() * units.Wire(c.bytes, c.rate) }

// busiest returns how many blocks the busiest end of a link carries at least, whatever the
// algorithm: a rank receives each block that it wants and does not hold once, and sends each block
// that it alone holds, and that another one wants, once, since a multicast may take it to all.
// Where contributions are folded, see folded. It is 0 if the collective is not in the table.
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
	held := make([]int, row.Blocks(c.hosts)) // by how many ranks
	for rank := range c.hosts {
		blocks := row.Held(c.hosts, root, rank)
		for i := range blocks.Count {
			held[blocks.At(i)]++
		}
	}
	lacked := make([]bool, len(held)) // by a rank that wants it
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

// folded returns how many blocks the busiest link takes in at least, whatever the algorithm, where
// contributions are folded. Folding the blocks of P ranks into one takes P-1 partial results. The
// result then travels to every rank that wants it, except the one that made it. The links share
// these messages. Each rank that wants a block takes in at least one.
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
		transfers += c.hosts - 2 // the first of those that want it needs no result
		for rank := range c.hosts {
			if w := row.Wanted(c.hosts, root, rank); w.Index(block) >= 0 {
				transfers++
			}
		}
	}
	return max(1, float64(transfers)/float64(c.hosts))
}

// compareCells orders cells as the report has them: those of the matrix first.
func compareCells(a, b cell) int {
	place := func(c cell) int {
		if i := slices.Index(algorithms, c.algorithm); i >= 0 {
			return i
		}
		return len(algorithms)
	}
	order := func(c cell) []int {
		rate := int(c.rate)
		if rate == 0 {
			rate = int(^uint(0) >> 1)
		}
		return []int{rate, c.bytes, c.perMille, c.hosts}
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.algorithm, b.algorithm), slices.Compare(order(a), order(b)))
}

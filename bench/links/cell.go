//go:build linux

package main

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/bench/internal/units"
)

// cell is a broadcast on links.
type cell struct {
	algorithm string
	rate      int64 // of each link's ends, bits per second; 0: not limited
	perMille  int   // of the frames to each host that are lost
	bytes     int
	hosts     int
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s to %d hosts, %s, %s loss", c.algorithm, units.Size(c.bytes), c.hosts, units.Rate(c.rate), units.Loss(c.perMille))
}

// wire returns how many seconds one copy of the message takes a link; 0 if the
// link is not limited.
func (c cell) wire() float64 { return units.Wire(c.bytes, c.rate) }

// compareCells orders cells as the report has them.
func compareCells(a, b cell) int {
	order := func(c cell) []int {
		rate := int(c.rate)
		if rate == 0 {
			rate = int(^uint(0) >> 1)
		}
		return []int{slices.Index(algorithms, c.algorithm), rate, c.bytes, c.perMille, c.hosts}
	}
	return slices.Compare(order(a), order(b))
}

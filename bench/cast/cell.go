//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/schedgen/schedgen/bench/internal/units"
)

// cell is a file to hosts on links.
type cell struct {
	Bytes    int
	Hosts    int   // that receive; one more sends
	Rate     int64 // of each link's ends, bits a second; 0: not limited
	PerMille int   // of the frames to each host that are lost
	Fault    string
}

// What is wrong with one host, the last.
const (
	faultNone = "none"
	faultSlow = "slow" // its link has a tenth of the others' rate
	faultDies = "dies" // its processes are killed when half of the file has come
	faultCut  = "cut"  // its link is cut then
)

var faults = []string{faultNone, faultSlow, faultDies, faultCut}

// slowness is by what the rate of a slow link is divided.
const slowness = 10

func (c cell) String() string {
	text := fmt.Sprintf("%s to %d hosts, %s, %s loss", units.Size(c.Bytes), c.Hosts, units.Rate(c.Rate), units.Loss(c.PerMille))
	if c.Fault != faultNone {
		text += ", one " + c.Fault
	}
	return text
}

// possible reports whether a cell has a meaning: nothing is ten times slower than
// a link without limit. Faults are not measured together with losses.
func (c cell) possible() bool {
	return c.Fault == faultNone || c.PerMille == 0 && (c.Fault != faultSlow || c.Rate > 0)
}

// wire returns how many seconds one copy of the file takes a link; 0 if the link is
// not limited.
func (c cell) wire() float64 { return units.Wire(c.Bytes, c.Rate) }

// victim is the host with the fault, 0 if there is none. Host 0 sends.
func (c cell) victim() int {
	if c.Fault == faultNone {
		return 0
	}
	return c.Hosts
}

// rateOf is the rate of a host's link.
func (c cell) rateOf(host int) int64 {
	if c.Fault == faultSlow && host == c.victim() {
		return c.Rate / slowness
	}
	return c.Rate
}

// budget is how long a measurement may take if nobody says so: some times what the
// wire takes, or what two cores take at worst where that is the limit.
func (c cell) budget() time.Duration {
	const least, bytesPerSecond = 30 * time.Second, 200e6
	times := 6.0
	if c.Fault == faultSlow {
		times += slowness
	}
	seconds := max(times*c.wire(), float64(c.Bytes)*float64(c.Hosts)/bytesPerSecond)
	return least + time.Duration(seconds*float64(time.Second)).Round(time.Second)
}

// trial is one measurement: of a tool in a cell, for the how manieth time, from 1.
type trial struct {
	cell
	Tool  string
	Round int
}

func (t trial) String() string { return fmt.Sprintf("%v, %s, round %d", t.cell, t.Tool, t.Round) }

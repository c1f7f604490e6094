//go:build linux

package cast

import (
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/words"
)

// cell is a size of a file, a number of hosts, and their links.
type cell struct {
	Bytes    int
	Hosts    int   // number of receivers; one more host sends
	Rate     int64 // rate of each end of a link in bits a second; 0: unlimited
	PerMille int   // lost frames to each host, per thousand
	Fault    string
}

// The faults that the last host may have.
const (
	faultNone = "none"
	faultSlow = "slow" // its link has a tenth of the others' rate
	faultDies = "dies" // its processes are killed when it has half of the file
	faultCut  = "cut"  // its link is cut when it has half of the file
)

var faults = []string{faultNone, faultSlow, faultDies, faultCut}

// slowness is the factor by which a slow link is slower.
const slowness = 10

func (c cell) String() string {
	text := fmt.Sprintf("%s to %d hosts, %s, %s loss", words.Size(int64(c.Bytes)), c.Hosts, units.Rate(c.Rate), units.Loss(c.PerMille))
	if c.Fault != faultNone {
		text += ", one " + c.Fault
	}
	return text
}

// possible reports whether a cell makes sense. An unlimited link has no tenth of its rate, and
// faults are not measured together with losses.
func (c cell) possible() bool {
	return c.Fault == faultNone || c.PerMille == 0 && (c.Fault != faultSlow || c.Rate > 0)
}

// wire returns the seconds that a link needs for one copy of the file, or 0 if the link is
// unlimited.
func (c cell) wire() float64 { return units.Wire(c.Bytes, c.Rate) }

// victim returns the host with the fault, or 0 if there is none. Host 0 is the sender.
func (c cell) victim() int {
	if c.Fault == faultNone {
		return 0
	}
	return c.Hosts
}

// rateOf returns the rate of a host's link.
func (c cell) rateOf(host int) int64 {
	if c.Fault == faultSlow && host == c.victim() {
		return c.Rate / slowness
	}
	return c.Rate
}

// budget returns the default time limit of a measurement: a multiple of the wire's time, or, if
// links are not the limit, a bound of the time that two cores need.
func (c cell) budget() time.Duration {
	const least, bytesPerSecond = 30 * time.Second, 200e6
	times := 6.0
	if c.Fault == faultSlow {
		times += slowness
	}
	seconds := max(times*c.wire(), float64(c.Bytes)*float64(c.Hosts)/bytesPerSecond)
	return least + time.Duration(seconds*float64(time.Second)).Round(time.Second)
}

// trial is one measurement of a tool in a cell. Round counts from 1.
type trial struct {
	cell
	Tool  string
	Round int
}

func (t trial) String() string { return fmt.Sprintf("%v, %s, round %d", t.cell, t.Tool, t.Round) }

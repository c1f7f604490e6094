package loggp

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/sim"
)

// Time is a time or a duration of the model in nanoseconds.
type Time = sim.Time

// Never is the time of an event that does not happen.
const Never = sim.Never

// Params are the parameters of the model. None is negative. Near has no Near itself.
type Params struct {
	L        Time // latency of the network
	O        Time // overhead o: the CPU time of a send, and of a receive
	Gap      Time // gap g: time between the starts of two messages of one byte at an interface
	GPerByte Time // gap G of every further byte

	// Near has the parameters of messages between ranks of one host. There are Hosts hosts, in
	// blocks as even as possible. If Near is nil, these messages cost as much as others.
	Near  *Params
	Hosts int // 0: each rank is on its own host

	Fold sim.PerByte // picoseconds that a fold takes for each byte of each operand but the first
}

// Of returns the parameters of a model of package sim whose G is a whole number of nanoseconds.
func Of(m sim.LogGP) Params {
	return Params{L: m.L, O: m.O, Gap: m.Gap, GPerByte: Time(m.GPerByte / 1000)}
}

// Defaults returns the default parameters of LogGOPSim.
func Defaults() Params { return Params{L: 2500, O: 1500, Gap: 1000, GPerByte: 6} }

// String returns the parameters as in the literature, such as "L=2500 o=1500 g=1000 G=6", in ns.
// The time of a fold, in ns a byte, and the parameters of messages on a host follow if they are
// set.
func (p Params) String() string {
	text := fmt.Sprintf("L=%d o=%d g=%d G=%d", p.L, p.O, p.Gap, p.GPerByte)
	if p.Fold != 0 {
		text += fmt.Sprintf(" fold=%v", p.Fold)
	}
	if p.Near != nil {
		text += " near: " + p.Near.String()
	}
	return text
}

// Model returns the parameters in the form of package sim, whose G is in picoseconds.
func (p Params) Model() sim.LogGP {
	perByte := sim.PerByte(min(p.GPerByte, math.MaxInt64/1000) * 1000)
	m := sim.LogGP{L: p.L, O: p.O, Gap: p.Gap, GPerByte: perByte}
	if p.Near != nil {
		near := p.Near.Model()
		m.Near = &near
	}
	return m
}

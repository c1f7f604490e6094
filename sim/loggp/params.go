package loggp

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/sim"
)

// Time is a time or a duration of the model in nanoseconds.
type Time = sim.Time

// Never is the time of what does not happen.
const Never = sim.Never

// Params are the parameters of the model, none of them negative. Near has none
// itself.
type Params struct {
	L        Time // latency of the network
	O        Time // overhead o: the CPU's part in a send, and in a receive
	Gap      Time // gap g: between the beginnings of two messages of one byte at an interface
	GPerByte Time // gap G of every further byte

	// Near is the same of messages between ranks of one host, of which there are Hosts,
	// in blocks as even as possible. nil: these take no less than others.
	Near  *Params
	Hosts int // 0: each rank is on a host of its own

	Fold sim.PerByte // what a fold takes for each byte of each operand but the first
}

// Defaults returns the parameters that LogGOPSim takes unless told otherwise.
func Defaults() Params { return Params{L: 2500, O: 1500, Gap: 1000, GPerByte: 6} }

// String spells the parameters as the literature does, "L=2500 o=1500 g=1000 G=6", and
// behind them those of messages on a host, if they differ.
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

// Model returns the parameters as package sim has them, whose G is in picoseconds.
func (p Params) Model() sim.LogGP {
	perByte := sim.PerByte(min(p.GPerByte, math.MaxInt64/1000) * 1000)
	m := sim.LogGP{L: p.L, O: p.O, Gap: p.Gap, GPerByte: perByte}
	if p.Near != nil {
		near := p.Near.Model()
		m.Near = &near
	}
	return m
}

package loggp

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/ir"
)

// Time is a time or a duration of the model in nanoseconds.
type Time int64

// Never is the time of what does not happen.
const Never Time = -1

// Params are the parameters of the model, none of them negative.
type Params struct {
	L        Time // latency of the network
	O        Time // overhead o: the CPU's part in a send, and in a receive
	Gap      Time // gap g: between the beginnings of two messages of one byte at an interface
	GPerByte Time // gap G of every further byte
}

// Defaults returns the parameters that LogGOPSim takes unless told otherwise.
func Defaults() Params { return Params{L: 2500, O: 1500, Gap: 1000, GPerByte: 6} }

// String spells the parameters as the literature does, "L=2500 o=1500 g=1000 G=6".
func (p Params) String() string {
	return fmt.Sprintf("L=%d o=%d g=%d G=%d", p.L, p.O, p.Gap, p.GPerByte)
}

// check returns an error for parameters that are no model, and for those with
// which the times of s could exceed the range of Time: no time is later than all
// sends and receives done one after the other.
func (p Params) check(s *ir.Schedule, bytes int) error {
	if min(p.L, p.O, p.Gap, p.GPerByte) < 0 {
		return fmt.Errorf("%v: a parameter is negative", p)
	}
	if bytes < 0 {
		return fmt.Errorf("a message of %d bytes", bytes)
	}
	each := float64(p.L) + 2*float64(p.O) + 2*float64(p.Gap) + 2*float64(p.GPerByte)*float64(bytes)
	if each*deliveries(s) > math.MaxInt64/2 {
		return fmt.Errorf("%v and %d bytes: times could exceed %d ns", p, bytes, int64(math.MaxInt64))
	}
	return nil
}

// deliveries returns how many messages can be received, and at least 1.
func deliveries(s *ir.Schedule) float64 {
	n := 1.0
	for i := range s.Programs {
		for _, r := range s.Programs[i].Rules {
			for _, a := range r.Do {
				if a.Op == ir.Mcast {
					n += float64(s.Ranks)
				} else {
					n++
				}
			}
		}
	}
	return n
}

// onWire returns (s-1)·G for each chunk of a message of n bytes. Signals are
// messages of one byte, and so are chunks without bytes.
func (p Params) onWire(n, chunks int) []Time {
	wire := make([]Time, chunks)
	for k := range wire {
		lo, hi := ir.ChunkBounds(n, chunks, k)
		wire[k] = Time(max(hi-lo, 1)-1) * p.GPerByte
	}
	return wire
}

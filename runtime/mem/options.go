// Package mem is the transport between ranks that are goroutines of one process. It serves tests
// and programs that want ranks without a network. Its faults are seeded and its clock is
// configurable, so it also serves simulations.
package mem

import (
	"cmp"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
)

// Options describe the simulated network. The zero value is a network that loses and delays
// nothing.
type Options struct {
	Seed uint64 // seed of the network's faults and of the communicator's ID

	// Faults of datagrams: probabilities from 0 to 1, drawn for each receiver independently.
	Loss      float64
	Duplicate float64
	Reorder   float64 // it overtakes the datagram before it

	// Delay is the longest time that a frame or datagram is under way; each takes a uniformly
	// random time up to it. Puts of one lane stay in order.
	Delay time.Duration

	// Resent is the probability with which a put frame is lost and sent again, which takes
	// ResendAfter.
	Resent      float64
	ResendAfter time.Duration

	// Rates are the bytes a second that each rank can receive, by rank; no entry, or 0, means no
	// limit. Faster traffic queues, up to Queue datagrams. With Rates each rank is a host of its
	// own.
	Rates []float64
	// Later is after how long Then replaces Rates; 0: never.
	Later time.Duration
	Then  []float64

	Datagram    int  // payload bytes of a datagram; default 8 KiB
	NoMulticast bool // Mcast and Datagram lose everything

	// Groups is how many multicast groups of communicators a rank may be in at a time, besides the
	// group of all ranks; 0: any number; negative: none.
	Groups int
	// JoinDelay is the longest time until multicasts to a group reach a rank that joins it; each
	// join takes a uniformly random time up to it.
	JoinDelay time.Duration

	Windows   bool // ranks have windows; flags are visible as soon as they are written
	Link      int  // frames that a lane between two ranks holds before the sender keeps the rest; default 64
	LinkBytes int  // bytes that a lane holds beyond its first frame; default 1 MiB
	Queue     int  // datagrams that a receiver holds before it loses more; default 256

	Clock clock.Clock // default clock.System

	began time.Time
}

func (o *Options) fill() error {
	for name, p := range map[string]float64{"Loss": o.Loss, "Duplicate": o.Duplicate, "Reorder": o.Reorder, "Resent": o.Resent} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("mem: Options.%s is %v, want a probability from 0 to 1", name, p)
		}
	}
	for name, rates := range map[string][]float64{"Rates": o.Rates, "Then": o.Then} {
		for rank, r := range rates {
			if !(r >= 0) {
				return fmt.Errorf("mem: Options.%s[%d] is %v, want bytes a second", name, rank, r)
			}
		}
	}
	for name, n := range map[string]int{"Datagram": o.Datagram, "Link": o.Link, "LinkBytes": o.LinkBytes, "Queue": o.Queue, "Delay": int(o.Delay), "Later": int(o.Later), "JoinDelay": int(o.JoinDelay), "ResendAfter": int(o.ResendAfter)} {
		if n < 0 {
			return fmt.Errorf("mem: Options.%s is negative: %d", name, n)
		}
	}
	o.Datagram = cmp.Or(o.Datagram, 8<<10)
	o.Link = cmp.Or(o.Link, 64)
	o.LinkBytes = cmp.Or(o.LinkBytes, 1<<20)
	o.Queue = cmp.Or(o.Queue, 256)
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	o.began = o.Clock.Now()
	return nil
}

// slow reports whether frames take time.
func (o *Options) slow() bool {
	return o.Delay > 0 || o.Resent > 0 || len(o.Rates) > 0 || len(o.Then) > 0
}

// takes returns for how long bytes occupy the link to a rank.
func (o *Options) takes(rank, bytes int) time.Duration {
	rates := o.Rates
	if o.Later > 0 && o.Clock.Now().Sub(o.began) >= o.Later {
		rates = o.Then
	}
	if rank >= len(rates) || rates[rank] == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / rates[rank] * float64(time.Second))
}

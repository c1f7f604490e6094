package sim

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/internal/model/link"
)

// Links is a model of hosts at a switch. Every host has a link in each direction, which its ranks
// share. Messages that cross a link at the same time wait for each other. The switch passes a
// message on while it arrives, so the message takes the longer of the sender's and the receiver's
// link, not the sum. CPUs take O for each send and each receive. Ranks of one host reach each other
// after Loop, without a link.
type Links struct {
	O        Time // the CPU's part in a send, and in a receive
	Loop     Time // from a send to its receive on one host
	Up, Down Link // from each host to the switch, and back; queues and bursts are not modelled
}

// Link is one direction of a host's connection to the switch.
type Link = link.Link[Time]

// Load is what has crossed the links of a host.
type Load struct {
	Up   link.Count[Time] `json:"up"`
	Down link.Count[Time] `json:"down"`
}

func (m Links) check(bytes int) error {
	err := checkParams("links", bytes, []Time{m.O, m.Loop, m.Up.Delay, m.Down.Delay}, nil)
	for _, l := range []Link{m.Up, m.Down} {
		switch {
		case err != nil:
		case l.Rate < 0:
			err = fmt.Errorf("links: a rate of %d bit/s: must not be negative", l.Rate)
		case l.Queue != 0 || l.Burst != 0:
			err = fmt.Errorf("links: a queue of %d and a burst of %d bytes: not modelled", l.Queue, l.Burst)
		default:
			err = checkRate("links", l.Rate, bytes)
		}
	}
	return err
}

// checkRate returns an error if the time of a message on a link of that rate could overflow.
func checkRate(model string, rate int64, bytes int) error {
	if float64(bytes)*8e9 > 0.99*math.MaxInt64 || rate > 0 && float64(bytes)*8e9/float64(rate) > maxTime {
		return fmt.Errorf("%s: %d bytes: times could exceed %d ns", model, bytes, int64(maxSum))
	}
	return nil
}

func (m Links) cost(_ int, _ bool) cost {
	return cost{sendCPU: m.O, latency: m.O + m.Loop, recvCPU: m.O}
}

func (m Links) fabric(ranks int, _ *Config, s *costs) (*fabric, error) {
	hosts := s.host(ranks-1) + 1
	f := &fabric{routes: star{hosts}, arcs: make([]arc, 2*hosts), fresh: make([]Link, 2*hosts)}
	for host := range hosts {
		f.fresh[2*host], f.fresh[2*host+1] = m.Up, m.Down
	}
	return f, nil
}

func (m Links) loads(f *fabric, r *Result) {
	r.Loads = make([]Load, len(f.arcs)/2)
	for host := range r.Loads {
		r.Loads[host] = Load{f.arcs[2*host].Count(), f.arcs[2*host+1].Count()}
	}
}

// star is the routes between hosts at a switch, which is the node after them. Arc 2h goes up from
// host h, and arc 2h+1 down to it.
type star struct{ hosts int }

func (s star) next(node, _, to int) (arc, end int) {
	if node == s.hosts {
		return 2*to + 1, to
	}
	return 2 * node, s.hosts
}

func (s star) branches(arcs []int32, node, from int) ([]int32, error) {
	switch {
	case node == from && s.hosts > 1:
		return append(arcs, int32(2*from)), nil
	case node == s.hosts:
		for host := range s.hosts {
			if host != from {
				arcs = append(arcs, int32(2*host+1))
			}
		}
	}
	return arcs, nil
}

func (s star) end(arc int) int {
	if arc%2 == 0 {
		return s.hosts
	}
	return arc / 2
}

func (s star) goesOn(node, _ int) bool { return node == s.hosts }

// String returns the parameters, such as "o=1500 loop=500 up=1000000000 bit/s+5000 …", with times
// in ns.
func (m Links) String() string {
	return fmt.Sprintf("o=%d loop=%d up=%d bit/s+%d down=%d bit/s+%d", m.O, m.Loop, m.Up.Rate, m.Up.Delay, m.Down.Rate, m.Down.Delay)
}

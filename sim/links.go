package sim

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/sim/link"
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
		case float64(bytes)*8e9 > 0.99*math.MaxInt64, l.Rate > 0 && float64(bytes)*8e9/float64(l.Rate) > maxTime:
			err = fmt.Errorf("links: %d bytes: times could exceed %d ns", bytes, int64(maxSum))
		}
	}
	return err
}

func (m Links) cost(_ int, _ bool) cost {
	return cost{sendCPU: m.O, latency: m.O + m.Loop, recvCPU: m.O}
}

// network is the links of a run.
type network struct {
	hosts []ends
	model Links
}

// ends are the two directions of a host's link.
type ends struct{ up, down link.Pipe[Time] }

func newNetwork(m Links, hosts int) *network {
	n := &network{make([]ends, hosts), m}
	n.reset()
	return n
}

func (n *network) reset() {
	for i := range n.hosts {
		n.hosts[i] = ends{link.Pipe[Time]{Link: n.model.Up}, link.Pipe[Time]{Link: n.model.Down}}
	}
}

func (n *network) loads() []Load {
	loads := make([]Load, len(n.hosts))
	for i := range n.hosts {
		loads[i] = Load{n.hosts[i].up.Count(), n.hosts[i].down.Count()}
	}
	return loads
}

// depart sends a message up the link of its sender's host. k is the time at which it would arrive
// on its own host. A multicast sends one copy, which the switch multiplies.
func (e *engine) depart(k key, kind eventKind, r, to int, ready Time, x event) {
	host, bytes := e.costs.host(r), e.costs.lengthOf(x.slot, to)
	if kind == casts {
		e.loop(k, r, x)
		kind = branches
	} else if e.costs.host(to) == host {
		k.at += e.noise(k.seq, to)
		e.push(k, arrives, to, x)
		return
	}
	if len(e.net.hosts) == 1 {
		return
	}
	up := &e.net.hosts[host].up
	left, took := through(up, ready, bytes), up.Serialize(bytes)
	head := left - took + up.Delay + e.saturate(left-took, took, bytes)
	if kind == branches {
		e.push(key{head + e.c.Fanout, k.seq}, kind, r, x)
		return
	}
	e.push(key{head, k.seq}, crosses, to, x)
}

// through returns when the last byte of a message has left a link. If the link is busy until later
// than any time of a run, it adds nothing more.
func through(p *link.Pipe[Time], now Time, bytes int) Time {
	if p.Free() > maxSum {
		return p.Free()
	}
	left, _ := p.Send(now, bytes, 1) // a queue without a bound is never full
	return left
}

// loop delivers a multicast to the other ranks of its sender's host.
func (e *engine) loop(k key, r int, x event) {
	host := e.costs.host(r)
	for to := e.costs.first(host); to < e.costs.first(host+1); to++ {
		if to != r {
			e.deliver(k, to, x)
		}
	}
}

// cross sends a message whose first byte is at the switch down the link of its receiver's host.
func (e *engine) cross(k key, to int, x event) {
	k.at = e.descend(k.at, e.costs.host(to), e.costs.lengthOf(x.slot, to)) + e.noise(k.seq, to)
	e.push(k, arrives, to, x)
}

// branch sends the copies of a multicast down the links of all other hosts.
func (e *engine) branch(k key, r int, x event) {
	for host := range e.net.hosts {
		if host == e.costs.host(r) {
			continue
		}
		at := e.descend(k.at, host, e.costs.lengthOf(x.slot, r))
		for to := e.costs.first(host); to < e.costs.first(host+1); to++ {
			e.deliver(key{at, k.seq}, to, x)
		}
	}
}

// descend returns when the last byte of a message reaches a host if the first byte is at the switch
// now. Neither link lets it arrive earlier.
func (e *engine) descend(now Time, host, bytes int) Time {
	down := &e.net.hosts[host].down
	return max(through(down, now, bytes), now+e.net.model.Up.Serialize(bytes)) + down.Delay
}

// String returns the parameters, such as "o=1500 loop=500 up=1000000000 bit/s+5000 …", with times
// in ns.
func (m Links) String() string {
	return fmt.Sprintf("o=%d loop=%d up=%d bit/s+%d down=%d bit/s+%d", m.O, m.Loop, m.Up.Rate, m.Up.Delay, m.Down.Rate, m.Down.Delay)
}

package sim

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/model/link"
)

// wired is a model in which messages cross the links of a network.
type wired interface {
	Model
	// fabric returns the network of a run.
	fabric(ranks int, c *Config, s *costs) (*fabric, error)
	// loads sets the loads of a result: how much has crossed each arc.
	loads(f *fabric, r *Result)
}

// fabric is the network of a run: arcs between nodes. The first nodes are the hosts. An arc sends
// one message at a time, in the order of their arrival. All nodes pass a message on while it
// arrives.
type fabric struct {
	routes
	arcs  []arc
	fresh []Link // the arcs before a run
	// shared says that messages of other hosts may leave a host, so that a message joins its first
	// arc only when the sender's CPU is done with it.
	shared  bool
	flights pages[flight]
	free    int32   // the first free flight
	scratch []int32 // arcs
}

type arc = link.Pipe[Time]

// routes says which arcs messages take.
type routes interface {
	// next returns the arc that a message between two hosts takes at a node, and the node at its end.
	// It returns -1 if no way leads to the host.
	next(node, from, to int) (arc, end int)
	// branches appends the arcs on which a multicast of a host goes on at a node.
	branches(arcs []int32, node, from int) ([]int32, error)
	// goesOn reports whether there are such arcs at a node to which the multicast came.
	goesOn(node, from int) bool
	// end returns the node at the end of an arc.
	end(arc int) int
}

// flight is a message whose first byte comes to a node that is not its last.
type flight struct {
	x    event
	node int32
	next int32 // the next free flight, if this one is free
	lag  Time  // from the first byte to the last one
}

func (f *fabric) reset() {
	for i, l := range f.fresh {
		f.arcs[i] = arc{Link: l}
	}
	f.flights.clear()
	f.free = 0
}

// launch returns the event of a flight, in place of the message.
func (f *fabric) launch(x flight) event {
	i := f.free
	if i > 0 {
		f.free = f.flights.at(i).next
	} else {
		i = f.flights.add()
	}
	*f.flights.at(i) = x
	return event{slot: i}
}

// land returns the flight of an event.
func (f *fabric) land(x event) flight {
	at := f.flights.at(x.slot)
	was := *at
	at.next, f.free = f.free, x.slot
	return was
}

// pass sends a message over an arc. Its first byte is at the arc now, and its last byte after lag.
// pass returns when the first byte is at the end of the arc, and the lag there. The last byte comes
// no earlier than the slowest arc so far allows.
func (f *fabric) pass(arc int, now, lag Time, bytes int) (head, then Time) {
	p := &f.arcs[arc]
	left, took := through(p, now, bytes), p.Serialize(bytes)
	start := left - took
	return start + p.Delay, max(took, lag-(start-now))
}

// through returns when the last byte of a message has left a link. If the link is busy until later
// than any time of a run, it adds nothing more.
func through(p *arc, now Time, bytes int) Time {
	if p.Free() > maxSum {
		return p.Free()
	}
	left, _ := p.Send(now, bytes, 1) // a queue without a bound is never full
	return left
}

// depart sends a message from its sender's host. k is the time at which it would arrive on its own
// host. A multicast sends one copy over each arc, and nodes multiply it.
func (e *engine) depart(k key, kind eventKind, r, to int, ready Time, x event) error {
	host := e.costs.host(r)
	f := flight{x: x, node: int32(host)}
	switch {
	case kind == casts:
		e.loop(k, r, x)
		if !e.net.shared {
			return e.spread(key{ready, k.seq}, f)
		}
		e.push(key{ready, k.seq}, branches, host, e.net.launch(f))
	case e.costs.host(to) == host:
		k.at += e.noise(k.seq, to)
		e.push(k, arrives, to, x)
	case e.net.shared:
		e.push(key{ready, k.seq}, crosses, to, e.net.launch(f))
	default:
		return e.hop(key{ready, k.seq}, to, f)
	}
	return nil
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

// hop sends a message to a rank over the next arc.
func (e *engine) hop(k key, to int, f flight) error {
	r := e.sender(f.x.from)
	node, from, dest := int(f.node), e.costs.host(r), e.costs.host(to)
	arc, end := e.net.next(node, from, dest)
	if arc < 0 {
		return fmt.Errorf("rank %d sends to rank %d, and the network has no way there", r, to)
	}
	bytes := e.costs.lengthOf(f.x.slot, to)
	head, lag := e.pass(k.at, node == from, arc, f.lag, bytes)
	if end == dest {
		e.push(key{head + lag + e.noise(k.seq, to), k.seq}, arrives, to, f.x)
		return nil
	}
	e.push(key{head, k.seq}, crosses, to, e.net.launch(flight{x: f.x, node: int32(end), lag: lag}))
	return nil
}

// pass sends a message over an arc. The end of its first arc is the switch that all hosts share, if
// that has a limit.
func (e *engine) pass(now Time, first bool, arc int, lag Time, bytes int) (head, then Time) {
	head, then = e.net.pass(arc, now, lag, bytes)
	if first {
		head += e.saturate(head-e.net.arcs[arc].Delay, then, bytes)
	}
	return head, then
}

// spread sends a copy of a multicast over each of the next arcs. It delivers the copies that have
// come to a host.
func (e *engine) spread(k key, f flight) error {
	r := e.sender(f.x.from)
	node, from := int(f.node), e.costs.host(r)
	arcs, err := e.net.branches(e.net.scratch[:0], node, from)
	if e.net.scratch = arcs[:0]; err != nil {
		return err
	}
	bytes := e.costs.lengthOf(f.x.slot, r)
	hosts := e.costs.host(len(e.ranks)-1) + 1
	for _, arc := range arcs {
		head, lag := e.pass(k.at, node == from, int(arc), f.lag, bytes)
		if node == from {
			head += e.c.Fanout
		}
		end := e.net.end(int(arc))
		if end < hosts {
			for to := e.costs.first(end); to < e.costs.first(end+1); to++ {
				e.deliver(key{head + lag, k.seq}, to, f.x)
			}
		}
		if e.net.goesOn(end, from) {
			e.push(key{head, k.seq}, branches, end, e.net.launch(flight{x: f.x, node: int32(end), lag: lag}))
		}
	}
	return nil
}

package simnet

import "github.com/schedgen/schedgen/runtime/wire"

// receive takes a datagram into the socket's buffer, if it has room.
func (p *process) receive(pkt *packet) {
	if !p.alive() || p.state == closing {
		return
	}
	if p.inRoom+pkt.room() > p.w.net.Room {
		p.overrun++
		p.w.note(noteOverrun, p.rank, &pkt.head, pkt.offset)
		return
	}
	pkt.refs++
	p.grams.Push(pkt)
	p.inRoom += pkt.room()
	p.doDue()
}

// readAll reads all arrivals of the lanes.
func (p *process) readAll() (moved bool) {
	lanes := p.ready
	p.ready = nil
	for _, l := range lanes {
		m, frames := l.read(p.w, p.core)
		p.work += frames
		moved = moved || m
		if l.listed = l.in.Len() > 0; l.listed {
			p.ready = append(p.ready, l)
		}
	}
	return moved
}

// Limits on the datagrams that are held, as in runtime/mcast.
const (
	maxStash      = 4096
	maxStashBytes = 1 << 20
)

// offerStash offers held datagrams again.
func (p *process) offerStash() (moved bool) {
	held := p.stash
	p.stash = p.stash[:0]
	for _, g := range held {
		moved = p.offer(g) || moved
	}
	return moved
}

// takeGrams offers the datagrams that have arrived.
func (p *process) takeGrams() (moved bool) {
	for burst := 0; burst < maxBurst && p.grams.Len() > 0 && !p.stashFull(); burst++ {
		g := p.grams.Pop()
		p.inRoom -= g.room()
		p.offer(g)
		p.work++
		moved = true
	}
	return moved
}

func (p *process) stashFull() bool {
	return len(p.stash) >= maxStash || len(p.stash)*(p.w.net.Datagram+1) > maxStashBytes
}

// offer offers a datagram to the core, and reports whether the core has taken it.
func (p *process) offer(g *packet) bool {
	h := g.head
	if p.core.Fragment(&h, g.offset, g.body) == wire.Hold {
		p.stash = append(p.stash, g)
		return false
	}
	p.w.packets.put(g)
	return true
}

// readFrame records that a frame was read.
func (p *process) readFrame(h *wire.Header, dropped bool) {
	p.work++
	what := noteGot
	if dropped {
		what = noteDropped
	}
	p.w.note(what, p.rank, h, h.From)
}

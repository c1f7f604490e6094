package simnet

import "github.com/schedgen/schedgen/runtime/wire"

// host is a machine: its links, and the ranks on it.
type host struct {
	up, down pipe
	ranks    []int
	burst    Time // packets that arrive before then are lost
	dead     bool
}

// launch sends a packet from its host. A packet of a lane that finds the queue full is sent again
// after a while; senders of datagrams check for room first.
func (w *world) launch(p *packet) {
	from := w.hostOf[p.from]
	h := &w.hosts[from]
	if p.to < 0 && len(h.ranks) > 1 || p.to >= 0 && w.hostOf[p.to] == from {
		p.refs++
		w.at(w.now+w.net.Loop, event{kind: atHost, arg: from, pkt: p})
	}
	if p.to >= 0 && w.hostOf[p.to] == from || len(w.hosts) == 1 {
		w.packets.put(p)
		return
	}
	left, ok := h.up.Send(w.now, p.size, w.slowness(from))
	if !ok {
		w.lose(p, from)
		return
	}
	w.at(left+h.up.Delay, event{kind: atSwitch, pkt: p})
}

// branch sends a packet on from the switch.
func (w *world) branch(p *packet) {
	from := w.hostOf[p.from]
	if p.to >= 0 {
		w.forward(p, from, w.hostOf[p.to])
		return
	}
	for to := range w.hosts {
		if to != from {
			p.refs++
			w.forward(p, from, to)
		}
	}
	w.packets.put(p)
}

// forward sends a packet to host to, unless the packet is lost.
func (w *world) forward(p *packet, from, to int) {
	h := &w.hosts[to]
	if w.lostTo(p, from, to) || w.tamper.loses != nil && w.tamper.loses(p) {
		w.lose(p, to)
		return
	}
	left, ok := h.down.Send(w.now, p.size, w.slowness(to))
	if !ok {
		w.lose(p, to)
		return
	}
	e := event{kind: atHost, arg: to, pkt: p}
	if p.lane == nil {
		if w.strikes(FaultDuplicate, p, to) {
			p.refs++
			w.at(left+h.down.Delay+w.random.upTo(Millisecond), e)
		}
		if w.strikes(FaultCorrupt, p, to) {
			e.pkt = w.mangle(p)
		}
	}
	w.at(left+h.down.Delay+w.detour(p, to), e)
	if e.pkt != p {
		w.packets.put(p)
	}
}

// lose handles the loss of a packet on its way to a host. A datagram is gone; a packet of a lane is
// sent again later.
func (w *world) lose(p *packet, to int) {
	w.note(noteLost, p.from, &p.head, to)
	switch {
	case p.lane == nil:
		w.packets.put(p)
	case p.confirms:
		w.unheard(p)
	default:
		w.retry(p)
	}
}

// arrive delivers a packet to its receivers on a host.
func (w *world) arrive(p *packet, to int) {
	if w.hosts[to].dead {
		w.lose(p, to)
		return
	}
	switch {
	case p.confirms:
		p.lane.acknowledge(w, p)
		return
	case p.lane != nil:
		p.lane.receive(w, p)
		return
	}
	for _, rank := range w.hosts[to].ranks {
		if rank != p.from && (p.to < 0 || p.to == rank) {
			w.procs[rank].receive(p)
		}
	}
	w.packets.put(p)
}

// mangle returns a corrupted datagram of the same sender that passed the checksum: its fields are
// inconsistent, and its bytes are garbage.
func (w *world) mangle(p *packet) *packet {
	m := w.packets.get(&p.head, p.body)
	m.from, m.to, m.size, m.offset = p.from, p.to, p.size, p.offset
	r := &w.random
	r.fill(m.body)
	h := &m.head
	switch r.below(8) {
	case 0:
		h.Print ^= 1 << r.below(32)
	case 1:
		h.Epoch++
	case 2:
		h.Kind = wire.FrameKind(r.below(256))
		h.Print ^= 2
	case 3:
		h.Len += 1 + r.below(1000)
	case 4:
		m.offset += 1 + r.below(1<<20)
		h.Print ^= 4
	case 5:
		h.Seq = r.next()
		h.Print ^= 8
	case 6:
		m.body = append(m.body, 0)
		h.Len += len(m.body)
	default:
		h.Slot = ^h.Slot
		h.Print ^= 16
	}
	return m
}

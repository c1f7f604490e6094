package sim

import "github.com/schedgen/schedgen/runtime/wire"

// maxQueued bounds the frames that wait in one lane of a sender: a core that
// exceeds it sends without regard to what has left.
const maxQueued = 1 << 14

// Put implements [core.Net].
func (p *process) Put(to int, f *wire.Frame) {
	p.sends(notePut, to, f)
	l := p.laneTo(to, f.Lane)
	if l.dead || p.gone[to] {
		(&outgoing{frame: *f}).sent()
		return
	}
	if l.queue.n == 0 {
		p.waiting = append(p.waiting, l)
	}
	l.queue.push(outgoing{frame: *f})
	if l.queue.n > maxQueued {
		p.w.fail("rank %d has %d frames queued for rank %d", p.rank, l.queue.n, to)
	}
}

// laneTo returns the lane to a rank, and opens it if it is new.
func (p *process) laneTo(to int, k wire.Lane) *lane {
	i := index(to, k)
	if p.out[i] != nil {
		return p.out[i]
	}
	known := p.connected(to)
	l := &lane{from: p.rank, to: to, kind: k, wide: p.w.net.Flight}
	p.out[i] = l
	w, other := p.w, p.w.procs[to]
	trip := w.tripTo(p.rank, to) + w.tripTo(to, p.rank)
	switch {
	case other.state == crashed && other.silent:
		w.at(w.now+w.net.GiveUp, event{kind: notice, rank: p.rank, arg: to, note: peerSilent})
	case other.alive():
		w.at(w.now+trip, event{kind: opened, lane: l})
	default:
		l.dead = true
		if !known {
			w.at(w.now+trip, event{kind: notice, rank: p.rank, arg: to, note: peerRefused})
		}
	}
	return l
}

// connected reports whether there is a lane between p and a peer.
func (p *process) connected(peer int) bool {
	for k := range wire.Lanes {
		if p.out[index(peer, k)] != nil || p.w.procs[peer].out[index(p.rank, k)] != nil {
			return true
		}
	}
	return false
}

// Mcast implements [core.Net].
func (p *process) Mcast(f *wire.Frame) {
	p.sends(noteMcast, -1, f)
	p.queueCast(-1, f)
}

// Datagram implements [core.Net].
func (p *process) Datagram(to int, f *wire.Frame) {
	p.sends(noteDatagram, to, f)
	p.queueCast(to, f)
}

func (p *process) queueCast(to int, f *wire.Frame) {
	o := outgoing{frame: *f}
	if !p.w.sc.Net.Multicast || p.w.sc.Ranks == 1 {
		o.sent()
		return
	}
	o.frame.Len = f.Whole()
	p.castQueue.push(o)
	p.castTo.push(to)
	if p.castQueue.n > maxQueued {
		p.w.fail("rank %d has %d multicasts and datagrams queued", p.rank, p.castQueue.n)
	}
}

// sends notes a frame, which must be none of a core that has ended.
func (p *process) sends(what noteKind, to int, f *wire.Frame) {
	p.w.note(what, p.rank, &f.Header, to)
	if p.sealed {
		p.w.fail("rank %d sends frame kind %d of operation %d after it has closed", p.rank, f.Kind, f.Seq)
	}
}

// maxBurst is how many datagrams go in one poll, as in runtime/mcast.
const maxBurst = 64

// overrunPause is how long a sender waits that has found its link's queue full.
const overrunPause = 500 * Microsecond

// cast sends datagrams as far as the socket's buffer allows, and reports whether
// any have gone.
func (p *process) cast() bool {
	w := p.w
	h := &w.hosts[w.hostOf[p.rank]]
	sent := 0
	for ; p.castQueue.n > 0 && sent < maxBurst; sent++ {
		o := p.castQueue.at(0)
		n := min(len(o.frame.Body)-o.done, w.net.Datagram)
		size := n + gramHead
		if !p.roomToSend(h, size) {
			break
		}
		p.throw(o, *p.castTo.at(0), n, size)
		if o.done += n; o.done == len(o.frame.Body) {
			o.sent()
			p.castQueue.pop()
			p.castTo.pop()
		}
	}
	p.work += sent
	return sent > 0
}

// roomToSend reports whether a datagram may be sent now; otherwise the process
// looks again when it may.
func (p *process) roomToSend(h *host, size int) bool {
	if len(p.w.hosts) == 1 {
		return true
	}
	for p.sock.n > 0 && p.sock.at(0).at <= p.w.now {
		p.sockBytes -= p.sock.pop().bytes
	}
	switch {
	case p.sockBytes > 0 && p.sockBytes+size > p.w.net.SendRoom:
		p.lookAt(p.sock.at(0).at)
	case h.up.full(p.w.now, size):
		p.lookAt(p.w.now + overrunPause)
	default:
		return true
	}
	return false
}

// throw sends one datagram.
func (p *process) throw(o *outgoing, to, n, size int) {
	w := p.w
	pkt := w.packets.get(&o.frame.Header, o.frame.Body[o.done:o.done+n])
	pkt.from, pkt.to, pkt.size, pkt.offset = p.rank, to, size, o.frame.Offset+o.done
	pkt.head.From = p.rank
	w.launch(pkt)
	up := &w.hosts[w.hostOf[p.rank]].up
	if up.free > w.now && (to < 0 || w.hostOf[to] != w.hostOf[p.rank]) {
		p.sock.push(departure{up.free, size})
		p.sockBytes += size
	}
}

// handAll gives the lanes what their systems take.
func (p *process) handAll() (moved bool) {
	kept := p.waiting[:0]
	for _, l := range p.waiting {
		m, frames := l.hand(p.w)
		p.work += frames
		moved = moved || m
		if l.queue.n > 0 {
			kept = append(kept, l)
		}
	}
	p.waiting = kept
	return moved
}

// abandon forgets what is queued of operations; see [wire.Transport].
func (p *process) abandon() {
	for p.castQueue.n > 0 {
		p.castQueue.at(0).sent()
		p.castQueue.pop()
		p.castTo.pop()
	}
	for r := range p.w.procs {
		l := p.out[index(r, wire.LaneOps)]
		if l == nil {
			continue
		}
		cut := l.queue.n > 0 && l.queue.at(0).done > 0
		for l.queue.n > 0 {
			l.queue.at(0).sent()
			l.queue.pop()
		}
		l.dead = l.dead || cut
	}
}

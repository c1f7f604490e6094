package simnet

import "github.com/schedgen/schedgen/runtime/wire"

// maxQueued bounds the frames that wait in one lane of a sender. A core that exceeds it does not
// wait for its frames to leave.
const maxQueued = 1 << 14

// Put implements [core.Net].
func (p *process) Put(to int, f *wire.Frame) {
	p.sends(notePut, to, f)
	p.w.checkPut(p.rank, to, f)
	l := p.laneTo(to, f.Lane)
	if l.dead || p.gone[to] {
		(&outgoing{frame: *f}).sent()
		return
	}
	if l.queue.Len() == 0 {
		p.waiting = append(p.waiting, l)
	}
	l.queue.Push(outgoing{frame: *f})
	if l.queue.Len() > maxQueued {
		p.w.fail("rank %d has %d frames queued for rank %d", p.rank, l.queue.Len(), to)
	}
}

// Taken implements [wire.Taker]. It counts segments.
func (p *process) Taken(to int) uint64 {
	if l := p.out[index(to, wire.LaneOps)]; l != nil {
		return uint64(l.next)
	}
	return 0
}

// laneTo returns the lane to a rank, and opens it if it is new.
func (p *process) laneTo(to int, k wire.Lane) *lane {
	i := index(to, k)
	if p.out[i] != nil {
		return p.out[i]
	}
	known := p.connected(to)
	l := &lane{from: p.rank, to: to, kind: k, window: newWindow(&p.w.net)}
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
	p.queueCast(&p.group, -1, f)
}

// Datagram implements [core.Net].
func (p *process) Datagram(to int, f *wire.Frame) {
	p.sends(noteDatagram, to, f)
	p.queueCast(&p.direct, to, f)
}

// outlet is a socket for datagrams with its queue.
type outlet struct {
	queue  ring[outgoing]
	to     ring[int]       // receivers of the datagrams in queue
	inLink ring[departure] // datagrams in the link's queue
	bytes  int             // bytes in the link's queue
}

func (p *process) queueCast(out *outlet, to int, f *wire.Frame) {
	o := outgoing{frame: *f}
	if !p.w.sc.Net.Multicast || p.w.sc.Ranks == 1 {
		o.sent()
		return
	}
	o.frame.Len = f.Whole()
	out.queue.Push(o)
	out.to.Push(to)
	if out.queue.Len() > maxQueued {
		p.w.fail("rank %d has %d multicasts and datagrams queued", p.rank, out.queue.Len())
	}
}

// sends records a frame. A core that has ended must not send a frame.
func (p *process) sends(what noteKind, to int, f *wire.Frame) {
	p.w.note(what, p.rank, &f.Header, to)
	if p.sealed {
		p.w.fail("rank %d sends frame kind %d of operation %d after it has closed", p.rank, f.Kind, f.Seq)
	}
}

// maxBurst is the greatest number of datagrams sent in one poll, as in runtime/mcast.
const maxBurst = 64

// overrunPause is how long a sender waits after it has found its link's queue full.
const overrunPause = 500 * Microsecond

// cast sends datagrams as far as the sockets' buffers allow, and reports whether there were any.
func (p *process) cast() bool {
	moved := p.castFrom(&p.direct)
	return p.castFrom(&p.group) || moved
}

func (p *process) castFrom(out *outlet) bool {
	sent := 0
	for ; out.queue.Len() > 0 && sent < maxBurst; sent++ {
		o := out.queue.At(0)
		n := min(len(o.frame.Body)-o.done, p.w.net.Datagram)
		if !p.roomToSend(out, n+gramHead) {
			break
		}
		p.throw(out, o, *out.to.At(0), n)
		if o.done += n; o.done == len(o.frame.Body) {
			o.sent()
			out.pop()
		}
	}
	p.work += sent
	return sent > 0
}

func (out *outlet) pop() {
	out.queue.Pop()
	out.to.Pop()
}

// roomToSend reports whether a datagram may be sent now. If not, it schedules a look of the process
// for the time when it may be sent.
func (p *process) roomToSend(out *outlet, size int) bool {
	w := p.w
	if len(w.hosts) == 1 {
		return true
	}
	for out.inLink.Len() > 0 && out.inLink.At(0).At <= w.now {
		out.bytes -= out.inLink.Pop().Bytes
	}
	switch {
	case out.bytes > 0 && out.bytes+size > w.net.SendRoom:
		p.lookAt(out.inLink.At(0).At)
	case w.hosts[w.hostOf[p.rank]].up.Full(w.now, size):
		p.lookAt(w.now + overrunPause)
	default:
		return true
	}
	return false
}

// throw sends one datagram of n bytes.
func (p *process) throw(out *outlet, o *outgoing, to, n int) {
	w := p.w
	pkt := w.packets.get(&o.frame.Header, o.frame.Body[o.done:o.done+n])
	pkt.from, pkt.to, pkt.size, pkt.offset = p.rank, to, n+gramHead, o.frame.Offset+o.done
	pkt.head.From = p.rank
	w.launch(pkt)
	up := &w.hosts[w.hostOf[p.rank]].up
	if up.Free() > w.now && (to < 0 || w.hostOf[to] != w.hostOf[p.rank]) {
		out.inLink.Push(departure{At: up.Free(), Bytes: n + gramHead})
		out.bytes += n + gramHead
	}
}

// handAll passes as much of the lanes to the systems as they take.
func (p *process) handAll() (moved bool) {
	kept := p.waiting[:0]
	for _, l := range p.waiting {
		m, frames := l.hand(p.w)
		p.work += frames
		moved = moved || m
		if l.queue.Len() > 0 {
			kept = append(kept, l)
		}
	}
	p.waiting = kept
	return moved
}

// abandon discards the queued frames of operations; see [wire.Transport].
func (p *process) abandon() {
	for _, out := range [...]*outlet{&p.direct, &p.group} {
		for out.queue.Len() > 0 {
			out.queue.At(0).sent()
			out.pop()
		}
	}
	for r := range p.w.procs {
		l := p.out[index(r, wire.LaneOps)]
		if l == nil {
			continue
		}
		cut := l.queue.Len() > 0 && l.queue.At(0).done > 0
		for l.queue.Len() > 0 {
			l.queue.At(0).sent()
			l.queue.Pop()
		}
		l.dead = l.dead || cut
	}
}

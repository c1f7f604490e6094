package simnet

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// lane carries the puts of one rank to another, in order. Frames wait in queue until the sender's
// system has room for them, and are then sent in segments.
type lane struct {
	from, to int
	kind     wire.Lane
	opened   bool
	dead     bool

	queue   ring[outgoing]
	sys     ring[*packet] // segments that have not been sent
	unacked int           // bytes in the sender's system: not sent, or not confirmed
	fly     int           // bytes of unacked that are under way
	next    int           // number of the next segment
	heard   Time          // when it began to wait for a confirmation
	window
	lost []*packet // lost packets that have not been sent again

	arrivals
	in     ring[*packet]
	unread int // bytes of in
	listed bool
	reading
}

// arrivals describes how much of a lane the receiver's system has.
type arrivals struct {
	came   int       // bytes that have arrived, in any order
	known  int       // bytes of came that are confirmed to the sender
	expect int       // number of the segment that the system waits for
	early  []*packet // segments that arrived before segment expect, by number
}

// reading describes how far the receiver has read a lane.
type reading struct {
	cur     wire.Header // the frame that is being read
	got     int         // bytes of cur that are read
	dropped bool        // the frame is discarded
	shut    bool        // the sender waits for the receiver to read
}

// outgoing is a frame that is partly with the system.
type outgoing struct {
	frame wire.Frame
	done  int
}

// sent tells the sender that nothing refers to the frame's body any more.
func (o *outgoing) sent() {
	o.frame.Release()
}

// hand passes as many bytes to the system as it has room for, and reports whether there were any.
// frames is the number of frames that were passed completely.
func (l *lane) hand(w *world) (moved bool, frames int) {
	room := l.turn(w)
	for l.opened && l.queue.Len() > 0 && l.unacked < w.net.Buffer && room > 0 {
		moved = true
		o := l.queue.At(0)
		n := min(len(o.frame.Body)-o.done, w.net.Segment)
		p := w.packets.get(&o.frame.Header, o.frame.Body[o.done:o.done+n])
		p.from, p.to, p.lane, p.num = l.from, l.to, l, l.next
		p.first, p.load = o.done == 0, n
		if p.first {
			p.load += frameHead
		}
		p.size = p.load + segmentHead
		o.done += n
		p.last = o.done == len(o.frame.Body)
		l.next++
		l.unacked += p.load
		room -= p.load
		l.sys.Push(p)
		if p.last {
			o.sent()
			l.queue.Pop()
			frames++
		}
	}
	l.transmit(w)
	return moved, frames
}

// transmit sends as much as the windows allow: the limit on bytes under way, and the buffer of the
// receiver's system.
func (l *lane) transmit(w *world) {
	l.shut = false
	for l.sys.Len() > 0 && !l.dead {
		load := (*l.sys.At(0)).load
		if l.fly > 0 && l.fly+load > l.wide {
			return
		}
		if in := l.fly + l.unread; in > 0 && in+load > w.net.Buffer {
			l.shut = true
			if w.procs[l.to].silent {
				l.ask(w)
			}
			return
		}
		if l.heard == 0 {
			l.heard = w.now
		}
		l.fly += load
		(*l.sys.At(0)).sentAt = w.now
		l.rest(w.now, &w.net)
		w.launch(l.sys.Pop())
	}
}

// maxTries bounds how often the time until the next retransmission of a packet doubles.
const maxTries = 4

// retry schedules the retransmission of a lost packet, until the receiver is given up.
func (w *world) retry(p *packet) {
	l := p.lane
	l.narrow(&w.net)
	l.lost = append(l.lost, p)
	w.at(w.now+w.net.Resend<<min(p.tries, maxTries), event{kind: resend, lane: l, pkt: p, arg: p.num})
	p.tries++
}

// timeout sends packet number num again, unless it has been sent again already.
func (l *lane) timeout(w *world, p *packet, num int) {
	if slices.Contains(l.lost, p) && p.num == num {
		l.again(w, p)
	}
}

// again queues a lost packet before all later ones.
func (l *lane) again(w *world, p *packet) {
	l.lost = slices.DeleteFunc(l.lost, func(o *packet) bool { return o == p })
	if l.dead {
		w.packets.put(p)
		return
	}
	if w.now-l.heard >= w.net.GiveUp {
		l.dead = true
		w.packets.put(p)
		w.at(w.now, event{kind: notice, rank: l.from, arg: l.to, note: peerSilent})
		return
	}
	l.fly -= p.load
	l.sys.Push(p)
	for i := l.sys.Len() - 1; i > 0 && (*l.sys.At(i)).num < (*l.sys.At(i - 1)).num; i-- {
		*l.sys.At(i), *l.sys.At(i - 1) = *l.sys.At(i - 1), *l.sys.At(i)
	}
	l.transmit(w)
}

// ask makes the sender's system notice that the receiver, whose buffer was full at its last sign of
// life, does not answer its questions for room.
func (l *lane) ask(w *world) {
	w.at(w.now+w.net.GiveUp, event{kind: notice, rank: l.from, arg: l.to, note: peerSilent})
}

// receive takes a segment into the receiver's system, which confirms it.
func (l *lane) receive(w *world, p *packet) {
	l.confirm(w, p)
	to := w.procs[l.to]
	if !to.alive() || to.state == closing || to.gone[l.from] {
		w.packets.put(p)
		return
	}
	for p.num-l.expect >= len(l.early) {
		l.early = append(l.early, nil)
	}
	l.early[p.num-l.expect] = p
	n := 0
	for n < len(l.early) && l.early[n] != nil {
		l.in.Push(l.early[n])
		l.unread += l.early[n].load
		n++
	}
	l.expect += n
	l.early = append(l.early[:0], l.early[n:]...)
	if n > 0 {
		if !l.listed {
			l.listed = true
			to.ready = append(to.ready, l)
		}
		to.doDue()
	}
}

// confirmed records that the receiver's system has received n more bytes.
func (l *lane) confirmed(w *world, n int) {
	l.fly -= n
	l.unacked -= n
	l.widen(n, &w.net)
	if l.heard = w.now; l.unacked == 0 {
		l.heard = 0
	}
	l.transmit(w)
	p := w.procs[l.from]
	switch {
	case p.state == closing:
		p.part()
	case l.queue.Len() > 0 || w.net.Turn > 0 && len(p.waiting) > 0:
		p.doDue()
	}
}

// read passes frames to the sink until one is held or nothing is left. moved reports whether
// anything was read, and frames is the number of frames that were read completely.
func (l *lane) read(w *world, s wire.Sink) (moved bool, frames int) {
	for l.in.Len() > 0 {
		p := *l.in.At(0)
		if p.first {
			l.cur, l.got, l.dropped = p.head, 0, false
			l.cur.From = l.from
		}
		dst, v := s.Body(&l.cur)
		if v == wire.Hold {
			return moved, frames
		}
		moved = true
		l.in.Pop()
		l.unread -= p.load
		if l.dropped = l.dropped || v == wire.Drop; !l.dropped {
			copy(dst[l.got:], p.body)
		}
		l.got += len(p.body)
		if p.last {
			frames++
			w.procs[l.to].readFrame(&l.cur, l.dropped)
			if !l.dropped {
				s.Arrived(&l.cur, dst)
			}
		}
		w.packets.put(p)
		l.reopen(w)
	}
	return moved, frames
}

// reopen tells a waiting sender that there is room again.
func (l *lane) reopen(w *world) {
	if l.shut {
		l.shut = false
		w.at(w.now+w.tripTo(l.to, l.from), event{kind: confirm, lane: l})
	}
}

// idle reports whether everything that was put has reached the receiver's system.
func (l *lane) idle() bool { return l.dead || l.queue.Len() == 0 && l.unacked == 0 }

// drop discards the sender's queue, and ends the lane.
func (l *lane) drop() {
	l.dead = true
	for l.queue.Len() > 0 {
		l.queue.At(0).sent()
		l.queue.Pop()
	}
	for l.sys.Len() > 0 {
		l.sys.Pop()
	}
}

// clear discards everything that the receiver has not read.
func (l *lane) clear() {
	for l.in.Len() > 0 {
		l.in.Pop()
	}
	l.early, l.unread = l.early[:0], 0
}

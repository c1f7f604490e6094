package rdma

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

var errTooLong = fmt.Errorf("verbs: a frame has more than %d bytes", wire.MaxBody)

// The first byte of a completion's ID is its kind. The rank follows, and then a number that depends
// on the kind.
const (
	idSend        = iota + 1 // number of messages and flags posted
	idPulse                  // no number
	idReceive                // number of the buffer
	idGramSend               // number of datagrams posted
	idGramReceive            // number of the buffer
)

func workID(kind, rank int, n uint32) uint64 {
	return uint64(kind)<<56 | uint64(rank)<<32 | uint64(n)
}

func splitID(id uint64) (kind, rank int, n uint32) {
	return int(id >> 56), int(id >> 32 & 0xFFFF), uint32(id)
}

// stage makes works of queued data, and reports whether there was any.
func (t *Transport) stage() bool {
	moved := false
	for _, p := range t.dirty {
		p.dirty = false
		moved = t.send(p) || moved
	}
	t.dirty = t.dirty[:0]
	if !t.grams.queue.Empty() {
		moved = t.cast() || moved
	}
	return moved
}

// hand posts the works and takes completions into found. It returns the number of completions.
func (t *Transport) hand(found []Completion) (n int) {
	for list := t.works; ; list = list[1:] {
		posted, done, failed, err := t.adapter.Exchange(list, found[n:])
		n += done
		if err != nil {
			t.fail(t.rank, fmt.Errorf("take completions: %w", err))
		}
		if list = list[posted:]; failed == nil || len(list) == 0 {
			break
		}
		t.unposted(&list[0], failed)
	}
	t.works = t.works[:0]
	return n
}

// unposted handles a refused work. The peer of its queue pair is lost.
func (t *Transport) unposted(w *Work, why error) {
	kind, rank, _ := splitID(w.ID)
	if kind == idGramSend || kind == idGramReceive {
		t.grams.fail(&t.stats)
		return
	}
	t.fail(rank, fmt.Errorf("post a work: %w", why))
}

// send writes the flags that wait for p, and makes messages of the other queued data, as long as p
// accepts them.
func (t *Transport) send(p *pair) (moved bool) {
	for p.link.progress == open && p.end.how == 0 && int(p.slots.posted-p.slots.done) < t.plan.sends && p.credit.left() > 0 {
		due := int(p.credit.posted-p.credit.told) >= t.plan.receives/2
		rich := p.credit.left() > reserved
		says := len(p.ready) > 0 || len(p.owes) > 0 || len(p.last) > 0
		switch {
		case rich && len(p.flags) > 0:
			t.writeFlag(p)
		case due || rich && says:
			t.message(p, rich)
		default:
			return moved
		}
		moved = true
	}
	return moved
}

// message posts one message to p. It contains records if rich is set.
func (t *Transport) message(p *pair, rich bool) {
	at := t.slot(p)
	b := p.link.region.Memory[at : at+t.plan.message]
	n := messageHead
	if rich {
		n += p.writeTaken(b[n:])
		n += t.fill(p, b[n:])
		n += p.bid(b[n:])
	}
	encodeMessage(b)
	place := p.credit.sent % uint32(t.plan.receives)
	t.spend(p, at, Work{
		Len: uint32(n), Immediate: p.credit.word(false), Remote: p.link.ring.base + uint64(place)*uint64(t.plan.message), Key: p.link.ring.key,
	})
}

// slot returns the offset of the next sending buffer of p.
func (t *Transport) slot(p *pair) int { return t.plan.send(int(p.slots.posted) % t.plan.sends) }

// spend makes w, whose bytes begin at an offset of the pair's region, take p's next place.
func (t *Transport) spend(p *pair, at int, w Work) {
	p.credit.told = p.credit.posted
	p.credit.sent++
	p.slots.posted++
	w.ID, w.To = workID(idSend, p.rank, p.slots.posted), uint16(p.rank)
	w.Op, w.At, w.Local = WriteImmediate, p.link.region.Base+uint64(at), p.link.region.Local
	if int(p.slots.posted)%(t.plan.sends/4) == 0 || p.end.said {
		w.Flags |= Signal
	}
	if int(w.Len) <= t.grams.inline {
		w.Flags |= Inlined
	}
	t.works = append(t.works, w)
}

// writeTaken writes records that say how much of each lane has been taken.
func (p *pair) writeTaken(b []byte) (n int) {
	for len(p.owes) > 0 && len(b)-n >= recordLen {
		l := p.owes[len(p.owes)-1]
		p.owes = p.owes[:len(p.owes)-1]
		l.told, l.owing = l.taken, false
		encodeRecord(b[n:], &wire.Header{Kind: kindTook, Lane: l.lane, Comm: l.comm, Arg: l.taken}, 0)
		n += recordLen
	}
	return n
}

// fill writes records of the lanes that can send, of each in turn as much as there is room for. A
// lane that has more is put behind the others.
func (t *Transport) fill(p *pair, b []byte) (n int) {
	for range len(p.ready) {
		o := p.ready[0]
		bytes := o.fill(b[n:], &t.stats)
		n += bytes
		if o.lane == wire.LaneOps {
			p.taken += uint64(bytes)
		}
		p.ready = append(p.ready[:0], p.ready[1:]...)
		if o.listed = !o.idle() && !o.stuck(); o.listed {
			p.ready = append(p.ready, o)
		}
		if bytes == 0 {
			break // the message is full
		}
	}
	return n
}

// bid writes the last word to p, if everything else has been sent.
func (p *pair) bid(b []byte) int {
	if len(p.last) == 0 || len(p.ready) > 0 || len(b) < recordLen {
		return 0
	}
	encodeRecord(b, &wire.Header{Kind: p.last[0]}, 0)
	p.last = p.last[1:]
	p.end.said = true
	return recordLen
}

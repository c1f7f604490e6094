package rdma

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// mostCompletions is the greatest number of completions that a Poll takes.
const mostCompletions = 128

// exchange posts the staged works, handles the completed ones, and returns the number of
// completions.
func (t *Transport) exchange(s wire.Sink) int {
	n := t.hand(t.found)
	t.park.full = n == len(t.found)
	for i := range n {
		t.complete(&t.found[i], s)
	}
	return n
}

func (t *Transport) complete(c *Completion, s wire.Sink) {
	kind, rank, n := splitID(c.ID)
	if c.Status != 0 {
		t.refuse(kind, rank, c)
		return
	}
	switch kind {
	case idSend:
		p := &t.peers[rank]
		p.slots.done = n
		p.end.gone = p.end.said && n == p.slots.posted
		t.touch(p)
	case idPulse:
		t.peers[rank].pulse = false
	case idReceive:
		t.receive(&t.peers[rank], int(n), c, s)
	case idGramSend:
		t.grams.done = n
	case idGramReceive:
		t.overhear(int(n), c, s)
	}
}

// refuse handles a failed work. A work that was flushed because another work had failed before
// gives no new information.
func (t *Transport) refuse(kind, rank int, c *Completion) {
	if kind == idGramSend || kind == idGramReceive {
		t.grams.fail(&t.stats)
		return
	}
	t.fail(rank, fmt.Errorf("queue pair to rank %d: %w", rank, t.adapter.Explain(c.Status)))
}

// receive handles the message in a place of the ring, or records that a flag has arrived, and frees
// the place.
func (t *Transport) receive(p *pair, i int, c *Completion, s wire.Sink) {
	if p.end.told {
		return
	}
	err := t.allow(p, c.Immediate)
	if err == nil && !isFlag(c.Immediate) {
		err = t.handle(p, i, int(c.Len), s)
	}
	if err != nil {
		t.fail(p.rank, fmt.Errorf("message of rank %d: %w", p.rank, err))
		return
	}
	t.postReceive(p.rank, i)
	if p.credit.posted++; int(p.credit.posted-p.credit.told) >= t.plan.receives/2 {
		t.touch(p)
	}
}

// handle handles the message of n bytes in the i-th place.
func (t *Transport) handle(p *pair, i, n int, s wire.Sink) error {
	if n > t.plan.message {
		return fmt.Errorf("%w: %d bytes", errNoMessage, n)
	}
	at := t.plan.receive(i)
	return t.read(p, p.link.region.Memory[at:at+n], s)
}

// postReceive allows p to write into the i-th place of its ring.
func (t *Transport) postReceive(rank, i int) {
	t.works = append(t.works, Work{ID: workID(idReceive, rank, uint32(i)), To: uint16(rank), Op: Receive})
}

// read handles the records of a message.
func (t *Transport) read(p *pair, b []byte, s wire.Sink) error {
	b, err := decodeMessage(b)
	if err != nil {
		return err
	}
	var r record
	for len(b) > 0 {
		rest, err := decodeRecord(b, &r)
		if err != nil {
			return err
		}
		r.From = p.rank
		if err := t.take(p, &r, b[:recordLen+r.piece], s); err != nil {
			return err
		}
		b = rest[r.piece:]
	}
	return nil
}

// allow records the peer's word of how many messages this rank may send.
func (t *Transport) allow(p *pair, word uint32) error {
	limit, ok := p.credit.allowed(word, t.plan.receives)
	if !ok {
		return fmt.Errorf("%w: it allows %d messages after %d, of which %d are sent", errNoMessage, limit, p.credit.limit, p.credit.sent)
	}
	if limit != p.credit.limit {
		p.credit.limit = limit
		t.touch(p)
	}
	return nil
}

// take handles one record. raw holds its bytes.
func (t *Transport) take(p *pair, r *record, raw []byte, s wire.Sink) error {
	switch r.Kind {
	case kindGoodbye:
		t.finish(p, wire.Closed, nil)
		return nil
	case kindCrash:
		t.finish(p, wire.Broken, errCrashed)
		return nil
	case kindTook:
		if !p.heed(r) {
			return fmt.Errorf("%w: it reports more bytes than were sent", errNoMessage)
		}
		t.touch(p)
		return nil
	}
	l := p.inLane(r)
	if !l.held() {
		took, err := l.take(r, raw[recordLen:], s, &t.stats)
		if err != nil {
			return err
		}
		if took {
			if p.took(l) {
				t.touch(p)
			}
			return nil
		}
		t.set(p, l)
	}
	return l.keep(raw)
}

// set records that records of l wait for the sink.
func (t *Transport) set(p *pair, l *inLane) {
	if len(p.aside) == 0 {
		t.aside = append(t.aside, p)
	}
	p.aside = append(p.aside, l)
}

// offer offers the waiting records to the sink again.
func (t *Transport) offer(s wire.Sink) (moved bool) {
	if len(t.aside) > 0 {
		list := t.aside
		n := 0
		for _, p := range list {
			moved = t.offerPair(p, s) || moved
			if len(p.aside) > 0 {
				list[n] = p
				n++
			}
		}
		t.aside = list[:n]
	}
	return t.grams.stashes.Offer(s) || moved
}

func (t *Transport) offerPair(p *pair, s wire.Sink) (moved bool) {
	n := 0
	for _, l := range p.aside {
		took, err := l.offer(p.rank, s, &t.stats)
		if err != nil {
			t.fail(p.rank, fmt.Errorf("message of rank %d: %w", p.rank, err))
			return moved
		}
		moved = moved || took
		if took && p.took(l) {
			t.touch(p)
		}
		if l.held() {
			p.aside[n] = l
			n++
		}
	}
	p.aside = p.aside[:n]
	return moved
}

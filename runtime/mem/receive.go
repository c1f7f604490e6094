package mem

import (
	"errors"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Poll implements [wire.Transport].
func (t *Transport) Poll(s wire.Sink) bool {
	moved := t.flush()
	now := t.mark()
	moved = t.pollLanes(s, now) || moved
	moved = t.pollGrams(s, now) || moved
	moved = t.pollNotes(s) || moved
	// Send the sink's answers now, not at the next Poll: the caller may have nothing else to wait
	// for.
	return t.flush() || moved
}

// mark records the time up to which this Poll takes arrivals.
func (t *Transport) mark() int64 {
	if !t.o.slow() {
		return 0
	}
	t.in.mu.Lock()
	defer t.in.mu.Unlock()
	t.polled = t.o.Clock.Now().UnixNano()
	return t.polled
}

// pollLanes takes arrived frames, one of each lane in turn, until every lane is empty, held or
// still under way.
func (t *Transport) pollLanes(s wire.Sink, now int64) bool {
	moved := false
	for turn := 0; ; {
		t.in.mu.Lock()
		if turn >= len(t.in.ready) {
			t.in.mu.Unlock()
			return moved
		}
		k := t.in.ready[turn]
		e := t.in.lanes.at(k).entries.at(0)
		if e.ready > now {
			t.in.mu.Unlock()
			turn++
			continue
		}
		// Only this rank removes entries, so the place stays valid. But a sender may grow the ring,
		// so the entry is taken out meanwhile.
		t.cur, *e = *e, t.cur
		t.in.mu.Unlock()
		verdict := t.offer(s)
		t.in.mu.Lock()
		e = t.in.lanes.at(k).entries.at(0)
		*e, t.cur = t.cur, *e
		if verdict != wire.Hold {
			t.dropFirst(k, len(e.body))
			moved = true
		} else {
			turn++
		}
		t.in.mu.Unlock()
	}
}

// offer offers t.cur to the sink.
func (t *Transport) offer(s wire.Sink) wire.Verdict {
	e := &t.cur
	dst, verdict := s.Body(&e.header)
	if verdict == wire.Accept {
		copy(dst, e.body)
		t.stats.GotFrames++
		t.stats.GotBytes += uint64(len(e.body))
		s.Arrived(&e.header, dst)
	}
	return verdict
}

// dropFirst removes the first entry of lane k. The caller holds t.in.mu.
func (t *Transport) dropFirst(k key, bytes int) {
	l := t.in.lanes.at(k)
	l.bytes -= bytes
	l.entries.drop()
	if l.entries.n == 0 {
		at := slices.Index(t.in.ready, k)
		t.in.ready = slices.Delete(t.in.ready, at, at+1)
	}
	if l.waiting {
		l.waiting = false
		t.all[k.peer].Wake()
	}
}

// pollGrams offers the datagrams that have arrived, held ones first. The sink may hold as many
// datagrams as the receiver's queue.
func (t *Transport) pollGrams(s wire.Sink, now int64) bool {
	moved := t.offerHeld(s)
	for skipped := 0; ; {
		t.in.mu.Lock()
		if skipped >= t.in.grams.n {
			t.in.mu.Unlock()
			return moved
		}
		e := t.in.grams.at(skipped)
		if e.ready > now {
			skipped++
			t.in.mu.Unlock()
			continue
		}
		first := t.in.grams.at(0)
		*e, *first = *first, *e
		t.cur, *first = *first, t.cur
		t.in.grams.drop()
		t.in.mu.Unlock()
		t.gram(s)
		moved = true
	}
}

// offerHeld offers held datagrams again; datagrams that are held again go to the end.
func (t *Transport) offerHeld(s wire.Sink) bool {
	moved := false
	for range t.held.n {
		e := t.held.at(0)
		t.cur, *e = *e, t.cur
		t.held.drop()
		if s.Fragment(&t.cur.header, t.cur.offset, t.cur.body) == wire.Hold {
			e := t.held.grow()
			*e, t.cur = t.cur, *e
		} else {
			moved = true
		}
	}
	return moved
}

func (t *Transport) gram(s wire.Sink) {
	e := &t.cur
	t.stats.GotDatagrams++
	if s.Fragment(&e.header, e.offset, e.body) != wire.Hold {
		return
	}
	if t.held.n >= t.o.Queue {
		t.stats.Early++
		return
	}
	kept := t.held.grow()
	*kept, *e = *e, *kept
}

// errCrashed is the error about a rank that closes without goodbye.
var errCrashed = errors.New("its end of the network was closed without goodbye")

// pollNotes reports ranks that have closed. It reports a goodbye after all earlier puts of the rank
// have been taken.
func (t *Transport) pollNotes(s wire.Sink) bool {
	t.in.mu.Lock()
	notes := t.in.notes
	t.in.notes = nil
	for _, n := range notes {
		if n.bye && t.in.puts(n.rank) {
			t.in.notes = append(t.in.notes, n)
		}
	}
	kept := t.in.notes
	t.in.mu.Unlock()
	for _, n := range notes {
		switch {
		case slices.Contains(kept, n):
			continue
		case n.bye:
			s.Ended(n.rank, wire.Closed, nil)
		default:
			s.Ended(n.rank, wire.Broken, errCrashed)
		}
		t.left[n.rank] = true
	}
	return len(notes) > len(kept)
}

// puts reports whether frames of a rank have not been taken yet. The caller holds in.mu.
func (in *inbox) puts(rank int) bool {
	return slices.ContainsFunc(in.ready, func(k key) bool { return k.peer == rank })
}

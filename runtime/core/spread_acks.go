package core

import (
	"fmt"
	mathbits "math/bits"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank acknowledges the messages that have arrived when they are many, when it is asked, when all
// ranks below it have acknowledged them, or after a quarter of the base timeout. A rank with others
// below it needs no such timer, because theirs run. The timeout of the rank above grows with the
// level of the rank below, because the acknowledgement takes as many cycles (paper 002, section
// 3.3.4).

// timer is a timer that the next tick starts.
type timer struct {
	on  bool
	due Time // 0: not set yet
}

// tick reports whether the timer, which takes span, has run out. It stops then.
func (t *timer) tick(now, span Time) bool {
	if !t.on {
		return false
	}
	if t.due == 0 {
		t.due = now + span
	}
	if now < t.due {
		return false
	}
	*t = timer{}
	return true
}

func (s *spread) start(t *timer) {
	t.on, s.timed = true, true
}

// due returns when tick next has something to do.
func (s *spread) due() Time {
	if !s.timed {
		return never
	}
	due := never
	for _, st := range s.streams {
		if st != nil {
			due = min(due, st.due())
		}
	}
	return due
}

// due returns when the first timer of the stream runs out.
func (st *stream) due() Time {
	due := min(st.ack.rings(), st.lack.rings())
	for i := range st.below {
		due = min(due, st.below[i].late.rings())
	}
	return due
}

func (t *timer) rings() Time {
	if !t.on {
		return never
	}
	return t.due
}

// tick does all due work.
func (s *spread) tick(now Time) {
	if !s.timed {
		return
	}
	s.timed = false
	for _, st := range s.streams {
		if st == nil || s.fate.err != nil {
			continue
		}
		if st.ack.tick(now, s.Repair/4) {
			st.own.here = st.next
			s.climb(st)
		}
		if st.lack.tick(now, s.Repair/8) {
			s.ask(st)
		}
		for i := range st.below {
			b := &st.below[i]
			if b.late.tick(now, Time(1+s.level(st, b.rank))*s.Repair) {
				s.overdue(st, b)
			}
		}
		s.timed = s.timed || st.due() != never
	}
}

// level returns the level of a rank in the tree of an origin: how many cycles its acknowledgement
// comes after the leaves' acknowledgements.
func (s *spread) level(st *stream, rank int) int {
	return mathbits.TrailingZeros(uint(s.distance(st.origin, rank)))
}

// distance returns how far a rank is behind an origin.
func (s *spread) distance(origin, rank int) int { return (rank - origin + s.Size) % s.Size }

// above returns the nearest rank above this rank in the tree of an origin that has not left, or -1.
func (s *spread) above(origin int) int {
	for v := s.distance(origin, s.Rank); v > 0; {
		v &= v - 1
		if rank := (origin + v) % s.Size; !s.members.Gone(rank) {
			return rank
		}
	}
	return -1
}

// isBelow reports whether lower is below upper in the tree of an origin. In binary, their distances
// from the origin then differ only in the zeros at the end of upper's distance.
func (s *spread) isBelow(origin, lower, upper int) bool {
	u, l := s.distance(origin, upper), s.distance(origin, lower)
	return u == 0 && l > 0 || u > 0 && l > u && l < u+u&-u
}

// find returns the state of a rank below this rank, or nil if the rank is not below. If ranks
// between have left, that rank may know this first.
func (s *spread) find(st *stream, rank int) *below {
	for i := range st.below {
		if st.below[i].rank == rank {
			return &st.below[i]
		}
	}
	if !s.isBelow(st.origin, rank, s.Rank) {
		return nil
	}
	st.below = append(st.below, below{rank: rank})
	return &st.below[len(st.below)-1]
}

// moved acts on messages that have arrived here.
func (s *spread) moved(st *stream) {
	if st.next > st.own.here && s.ripe(st) {
		st.own.here = st.next
	}
	if st.next > st.own.here && !st.anyBelow() {
		s.start(&st.ack)
	}
	s.climb(st)
	s.expect(st)
}

// ripe reports whether this rank acknowledges now, without waiting for the timer.
func (s *spread) ripe(st *stream) bool {
	more := st.came.minus(st.before(st.own.here))
	switch {
	case st.next-st.own.here >= s.step(), more.bytes >= uint64(s.PublishBytes)/4:
		return true
	case s.share > 0 && more.room >= uint64(s.share)/4:
		return true
	case st.wanted > st.own.here && st.wanted <= st.next:
		return true
	}
	return st.anyBelow() && st.coveredBelow(st.next-1)
}

func (st *stream) anyBelow() bool {
	for i := range st.below {
		if st.below[i].waits {
			return true
		}
	}
	return false
}

// climb acknowledges new progress to the rank above, and frees messages that no rank needs any
// more.
func (s *spread) climb(st *stream) {
	all := st.all()
	if st.up >= 0 && (all.here > st.told.here || all.taken > st.told.taken) && s.fate.err == nil {
		st.told = all
		f := s.fillControl(wire.FrameAck, all.here, s.PublishPrint, uint32(st.origin))
		f.Slot = ir.Slot(all.here - all.taken)
		s.put(st.up, f)
	}
	if st.own.here == st.next {
		st.ack = timer{}
	}
	s.release(st)
}

// acknowledged implements messages.
func (s *spread) acknowledged(h *wire.Header) {
	if !s.valid(h) {
		return
	}
	st := s.stream(int(h.Arg))
	b := s.find(st, h.From)
	if b == nil || uint64(h.Slot) > h.Seq || h.Seq > s.end(st) {
		s.fate.violation(h, "acknowledgement of %d messages of origin %d, of which %d are taken", h.Seq, h.Arg, h.Seq-uint64(h.Slot))
		return
	}
	b.here, b.taken = max(b.here, h.Seq), max(b.taken, h.Seq-uint64(h.Slot))
	s.hears(st, h.Seq)
	if b.here >= st.next {
		b.late = timer{}
	}
	if st.own.here < st.next {
		st.own.here = st.next
	}
	s.climb(st)
}

// valid checks the fields that all frames about the messages of an origin have in common.
func (s *spread) valid(h *wire.Header) bool {
	switch {
	case h.Print != s.PublishPrint:
		s.fate.disagree(h)
	case int(h.Arg) >= s.Size:
		s.fate.violation(h, "frame kind %d about messages of origin %d", h.Kind, h.Arg)
	default:
		s.used = true
		return true
	}
	return false
}

// end returns the greatest number of messages that an origin may have published, as far as this
// rank can know.
func (s *spread) end(st *stream) uint64 {
	if st.origin == s.Rank {
		return st.next
	}
	return st.freed + uint64(s.PublishWindow)
}

// hears records that the messages before seq exist. Their multicasts may only be late.
func (s *spread) hears(st *stream, seq uint64) {
	st.known = max(st.known, seq)
	if st.known > max(st.next, st.asked) {
		s.start(&st.lack)
	}
}

// expect starts the timeouts for the acknowledgements that are missing.
func (s *spread) expect(st *stream) {
	for i := range st.below {
		b := &st.below[i]
		if b.waits && !b.late.on && b.here < st.next && b.asked < st.next {
			b.mark = st.next
			s.start(&b.late)
		}
	}
}

// overdue asks a rank below whose acknowledgement is late, unless it has acknowledged the messages
// that existed when the timeout began.
func (s *spread) overdue(st *stream, b *below) {
	if b.here < b.mark {
		s.question(st, b, st.next)
	}
	s.expect(st)
}

// question tells a rank below that the messages before seq exist, and asks for their
// acknowledgement.
func (s *spread) question(st *stream, b *below, seq uint64) {
	if !b.waits || b.here >= seq || b.asked >= seq {
		return
	}
	b.asked, b.late = seq, timer{}
	s.control(b.rank, wire.FrameFlush, seq, s.PublishPrint, uint32(st.origin))
}

// questioned implements messages.
func (s *spread) questioned(h *wire.Header) {
	if !s.valid(h) {
		return
	}
	st := s.stream(int(h.Arg))
	if !s.isBelow(st.origin, s.Rank, h.From) || h.Seq > s.end(st) {
		s.fate.violation(h, "question about %d messages of origin %d", h.Seq, h.Arg)
		return
	}
	if st.up >= 0 && h.From != st.up && s.isBelow(st.origin, st.up, h.From) {
		s.turn(st, h.From) // the rank above is the first to know that the ranks between have left
	}
	st.wanted = max(st.wanted, h.Seq)
	for i := range st.below {
		s.question(st, &st.below[i], h.Seq)
	}
	s.hears(st, h.Seq)
	s.moved(st)
}

// turn makes this rank acknowledge to rank up.
func (s *spread) turn(st *stream, up int) {
	st.up, st.told, st.asked = up, progress{}, st.next
	s.hears(st, st.known)
	s.climb(st)
}

// ask asks the rank above for all messages that are missing and have not been asked for.
func (s *spread) ask(st *stream) {
	st.lack = timer{}
	from := max(st.asked, st.next)
	for seq := from; seq < st.known; seq++ {
		if st.ring != nil && st.has(seq) {
			continue
		}
		if st.up < 0 {
			s.severed(st)
			return
		}
		first := seq
		for seq+1 < st.known && (st.ring == nil || !st.has(seq+1)) {
			seq++
		}
		f := s.fillControl(wire.FrameLost, first, s.PublishPrint, uint32(st.origin))
		f.Slot = ir.Slot(seq + 1 - first)
		s.put(st.up, f)
	}
	st.asked = max(st.asked, st.known)
}

// severed fails the core because a message that exists cannot reach this rank.
func (s *spread) severed(st *stream) {
	s.fate.broken("publish", 0, &RankError{Rank: st.origin, Err: fmt.Errorf(
		"%w: it has closed its communicator, and so have all ranks that would pass on its messages to rank %d", ErrPeerLeft, s.Rank,
	)})
}

// asked implements messages.
func (s *spread) asked(h *wire.Header) {
	if !s.valid(h) {
		return
	}
	st, n := s.stream(int(h.Arg)), uint64(h.Slot)
	b := s.find(st, h.From)
	if b == nil || n == 0 || n > uint64(s.PublishWindow) || h.Seq > s.end(st) || h.Seq+n > s.end(st) {
		s.fate.violation(h, "request for %d messages of origin %d from %d on", n, h.Arg, h.Seq)
		return
	}
	for seq := max(h.Seq, st.freed); seq < h.Seq+n; seq++ {
		if st.ring == nil || !st.has(seq) {
			b.note(seq, s.PublishWindow)
		} else if p := st.at(seq); p.bytes <= s.longest {
			s.give(st, b, p) // longer messages come without a request
		}
	}
	s.hears(st, h.Seq+n)
}

// note records that the rank has asked for a message that is not here.
func (b *below) note(seq uint64, window int) {
	b.lacks = b.lacks.Roomy(window)
	b.lacks.Add(int(seq % uint64(window)))
}

// served reports whether the rank has asked for a message in vain, and forgets the request.
func (b *below) served(seq uint64, window int) bool {
	return b.lacks.Remove(int(seq % uint64(window)))
}

// give puts a message to a rank that lacks it.
func (s *spread) give(st *stream, b *below, p *piece) {
	s.answers++
	s.put(b.rank, s.fill(st, p))
}

// flush implements messages.
func (s *spread) flush() uint64 {
	st := s.own()
	for i := range st.below {
		s.question(st, &st.below[i], st.next)
	}
	return st.next
}

// flushed implements messages.
func (s *spread) flushed(n uint64) bool { return s.own().all().here >= n }

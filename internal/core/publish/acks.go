package publish

import (
	"fmt"
	mathbits "math/bits"
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank acknowledges the messages that its process has taken when they are many. It acknowledges
// multicasts that have arrived when they are many, when it is asked, when all ranks below it have
// acknowledged them, or after a quarter of the base timeout. A rank with others
// below it needs no such timer, because theirs run. The timeout of the rank above grows with the
// level of the rank below, because the acknowledgement takes as many cycles (paper 002, section
// 3.3.4).

// timer is a timer that the next tick starts.
type timer struct {
	on  bool
	due moment.Time `state:"ignored"` // 0: not set yet
}

// tick reports whether the timer, which takes span, has run out. It stops then.
func (t *timer) tick(now, span moment.Time) bool {
	over := t.on && t.due.Over(now, span)
	if over {
		*t = timer{}
	}
	return over
}

func (m *Messages) start(t *timer) {
	t.on, m.timed = true, true
}

// Timed reports whether a timer may run.
func (m *Messages) Timed() bool { return m.timed }

// Timers visits the timers that run: the kind, the origin of the messages, the rank whose
// acknowledgement is overdue (TimerLate), and when the timer runs out; 0: the next tick starts it.
func (m *Messages) Timers(visit func(kind Timer, origin, rank int, due *moment.Time)) {
	if !m.timed {
		return
	}
	for _, st := range m.streams {
		if st == nil {
			continue
		}
		if st.ack.on {
			visit(TimerAck, st.origin, 0, &st.ack.due)
		}
		if st.lack.on {
			visit(TimerLack, st.origin, 0, &st.lack.due)
		}
		for i := range st.below {
			if b := &st.below[i]; b.late.on {
				visit(TimerLate, st.origin, b.rank, &b.late.due)
			}
		}
	}
}

// Tick does what is due.
func (m *Messages) Tick(now moment.Time) {
	if !m.timed {
		return
	}
	m.timed = false
	for _, st := range m.streams {
		if st == nil || m.host.Failed() {
			continue
		}
		if st.ack.tick(now, m.Repair/4) {
			m.confirm(st)
			m.climb(st)
		}
		if st.lack.tick(now, m.Repair/8) {
			m.requestMissing(st)
		}
		for i := range st.below {
			b := &st.below[i]
			if b.late.tick(now, moment.Time(1+m.level(st, b.rank))*m.Repair) {
				m.overdue(st, b)
			}
		}
		m.timed = m.timed || st.ack.on || st.lack.on || slices.ContainsFunc(st.below, func(b below) bool { return b.late.on })
	}
}

// level returns the level of a rank in the binomial tree of an origin: how many cycles its
// acknowledgement comes after the leaves' acknowledgements.
func (m *Messages) level(st *stream, rank int) int {
	return mathbits.TrailingZeros(uint((rank - st.origin + m.Size) % m.Size))
}

// find returns the state of a rank below this rank, or nil if the rank is not below. If ranks
// between have left, that rank may know this first.
func (m *Messages) find(st *stream, rank int) *below {
	for i := range st.below {
		if st.below[i].rank == rank {
			return &st.below[i]
		}
	}
	if !m.isBelow(st.origin, rank, m.Rank) {
		return nil
	}
	st.below = append(st.below, below{rank: rank})
	return &st.below[len(st.below)-1]
}

// advanced acts on messages that have arrived here.
func (m *Messages) advanced(st *stream) {
	if st.next > st.own.here && m.ripe(st) {
		m.confirm(st)
	}
	if st.next > st.own.here && !st.anyBelow() && m.Multicasts() {
		m.start(&st.ack)
	}
	m.climb(st)
	m.expect(st)
}

// ripe reports whether this rank acknowledges now, without waiting for the timer.
func (m *Messages) ripe(st *stream) bool {
	more := st.came.minus(st.before(st.own.here))
	switch {
	case !m.Multicasts():
		return st.wanted > st.own.here && st.wanted <= st.next || m.AtOnce && more.bytes >= uint64(m.Bytes)/4
	case st.next-st.own.here >= m.step(), more.bytes >= uint64(m.Bytes)/4:
		return true
	case m.share > 0 && more.room >= uint64(m.share)/4:
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
// more. Without multicasts it reports arrivals only to a rank that flushes, and otherwise waits until
// processes have taken them.
func (m *Messages) climb(st *stream) {
	all := st.all()
	news := all.taken > st.told.taken || all.here > st.told.here && (m.Multicasts() || all.here >= st.wanted && st.wanted > st.told.here)
	if st.up >= 0 && news && !m.host.Failed() {
		st.told = all
		m.host.Put(st.up, m.control(wire.FrameAck, all.here, int(all.here-all.taken), st.origin))
	}
	if st.own.here == st.next {
		st.ack = timer{}
	}
	m.release(st)
}

// acknowledged takes the acknowledgement of a rank below.
func (m *Messages) acknowledged(h *wire.Header) {
	if !m.valid(h) {
		return
	}
	st := m.stream(m.origin(h))
	b := m.find(st, h.From)
	if b == nil || uint64(h.Slot) > h.Seq || h.Seq > m.limit(st) {
		m.host.Violation(h, "unexpected acknowledgement of %d messages of origin %d, of which %d are taken", h.Seq, m.origin(h), h.Seq-uint64(h.Slot))
		return
	}
	b.here, b.taken = max(b.here, h.Seq), max(b.taken, h.Seq-uint64(h.Slot))
	m.hears(st, h.Seq)
	if b.here >= st.next {
		b.late = timer{}
	}
	m.confirm(st)
	m.climb(st)
}

// Answered confirms to rank to, which gets an answer of this rank and all below it, the messages of an
// origin that they have: the answer must say the number that Answered returns. So it takes the place
// of the acknowledgement (paper 002, section 3). If no answer goes to the rank above, an
// acknowledgement does.
func (m *Messages) Answered(origin, to int) (here uint64) {
	st := m.stream(origin)
	m.confirm(st)
	if st.up == to {
		st.told = st.all()
	}
	m.climb(st)
	return st.all().here
}

// Heard takes the number that a rank below has got from Answered, without its upper half. It returns
// false if no correct rank has this number.
func (m *Messages) Heard(origin, from int, number uint32) bool {
	st := m.stream(origin)
	b := m.find(st, from)
	if b == nil {
		return false
	}
	here := b.here + uint64(max(0, int32(number-uint32(b.here)))) // an acknowledgement may have overtaken the answer's making
	if here > m.limit(st) {
		return false
	}
	b.here, b.taken = here, max(b.taken, here)
	m.hears(st, here)
	if b.here >= st.next {
		b.late = timer{}
	}
	m.release(st)
	return true
}

// valid checks the fields that all frames about the messages of an origin have in common.
func (m *Messages) valid(h *wire.Header) bool {
	switch {
	case h.Print != m.Print:
		m.host.Disagree(h)
	case m.origin(h) < 0 || m.origin(h) >= m.Size:
		m.host.Violation(h, "unexpected frame kind %d about messages of origin %d", h.Kind, m.origin(h))
	default:
		m.used = true
		return true
	}
	return false
}

// limit returns the greatest number of messages that an origin may have published, as far as this
// rank can know.
func (m *Messages) limit(st *stream) uint64 {
	if st.origin == m.Rank {
		return st.next
	}
	return st.freed + uint64(m.Window)
}

// hears records that the messages before seq exist. Their multicasts may only be late.
func (m *Messages) hears(st *stream, seq uint64) {
	st.known = max(st.known, seq)
	switch {
	case st.known <= max(st.next, st.asked):
	case m.Multicasts():
		m.start(&st.lack)
	case st.up < 0:
		m.severed(st)
	}
}

// expect starts the timeouts for the acknowledgements that are missing.
func (m *Messages) expect(st *stream) {
	if !m.Multicasts() {
		return
	}
	for i := range st.below {
		b := &st.below[i]
		if b.waits && !b.late.on && b.here < st.next && b.asked < st.next {
			b.mark = st.next
			m.start(&b.late)
		}
	}
}

// overdue asks a rank below whose acknowledgement is late, unless it has acknowledged the messages
// that existed when the timeout began.
func (m *Messages) overdue(st *stream, b *below) {
	if b.here < b.mark {
		m.question(st, b, st.next)
	}
	m.expect(st)
}

// question tells a rank below that the messages before seq exist, and asks for their
// acknowledgement.
func (m *Messages) question(st *stream, b *below, seq uint64) {
	if !b.waits || b.here >= seq || b.asked >= seq {
		return
	}
	b.asked, b.late = seq, timer{}
	m.host.Put(b.rank, m.control(wire.FrameFlush, seq, 0, st.origin))
}

// questioned takes a question of a rank above.
func (m *Messages) questioned(h *wire.Header) {
	if !m.valid(h) {
		return
	}
	st := m.stream(m.origin(h))
	if !m.isBelow(st.origin, m.Rank, h.From) || h.Seq > m.limit(st) {
		m.host.Violation(h, "unexpected question about %d messages of origin %d", h.Seq, m.origin(h))
		return
	}
	m.follow(st, h.From)
	st.wanted = max(st.wanted, h.Seq)
	for i := range st.below {
		m.question(st, &st.below[i], h.Seq)
	}
	m.hears(st, h.Seq)
	m.advanced(st)
}

// follow turns to a rank above that has taken the place of ranks between, because it is the first to
// know that they have left.
func (m *Messages) follow(st *stream, from int) {
	if st.up >= 0 && from != st.up && m.isBelow(st.origin, st.up, from) {
		m.turn(st, from)
	}
}

// turn makes this rank acknowledge to rank up.
func (m *Messages) turn(st *stream, up int) {
	st.up, st.told, st.asked = up, progress{}, st.next
	m.hears(st, st.known)
	m.climb(st)
}

// requestMissing asks the rank above for all messages that are missing and have not been asked for.
func (m *Messages) requestMissing(st *stream) {
	st.lack = timer{}
	from := max(st.asked, st.next)
	for seq := from; seq < st.known; seq++ {
		if st.ring != nil && st.has(seq) {
			continue
		}
		if st.up < 0 {
			m.severed(st)
			return
		}
		first := seq
		for seq+1 < st.known && (st.ring == nil || !st.has(seq+1)) {
			seq++
		}
		m.host.Put(st.up, m.control(wire.FrameLost, first, int(seq+1-first), st.origin))
	}
	st.asked = max(st.asked, st.known)
}

// severed fails the communicator, because messages exist that cannot come any more.
func (m *Messages) severed(st *stream) {
	m.host.Severed(st.origin, fmt.Sprintf("so have all ranks that would pass on its messages to rank %d", m.Rank))
}

// asked takes a request of a rank below for messages that it lacks.
func (m *Messages) asked(h *wire.Header) {
	if !m.valid(h) {
		return
	}
	st, n := m.stream(m.origin(h)), uint64(h.Slot)
	b := m.find(st, h.From)
	if b == nil || n == 0 || n > uint64(m.Window) || h.Seq > m.limit(st) || h.Seq+n > m.limit(st) {
		m.host.Violation(h, "unexpected request for %d messages of origin %d from %d on", n, m.origin(h), h.Seq)
		return
	}
	for seq := max(h.Seq, st.freed); seq < h.Seq+n; seq++ {
		if st.ring == nil || !st.has(seq) {
			b.noteLack(seq, m.Window)
		} else if p := st.at(seq); p.bytes <= m.longest {
			m.resend(st, b, p) // longer messages come without a request
		}
	}
	m.hears(st, h.Seq+n)
}

// noteLack records that the rank has asked for a message that is not here.
func (b *below) noteLack(seq uint64, window int) {
	b.lacks = b.lacks.Roomy(window)
	b.lacks.Add(int(seq % uint64(window)))
}

// served reports whether the rank has asked for a message in vain, and forgets the request.
func (b *below) served(seq uint64, window int) bool {
	return b.lacks.Remove(int(seq % uint64(window)))
}

// resend puts a message to a rank that lacks it.
func (m *Messages) resend(st *stream, b *below, p *piece) {
	m.counts.Given++
	m.host.Put(b.rank, m.message(st.origin, p.seq, p.parcel))
}

// Flush asks whether this rank's messages have arrived everywhere. It returns their number.
func (m *Messages) Flush() uint64 {
	st := m.own()
	for i := range st.below {
		m.question(st, &st.below[i], st.next)
	}
	return st.next
}

// Flushed reports whether the first n messages of this rank have arrived everywhere.
func (m *Messages) Flushed(n uint64) bool { return m.own().all().here >= n }

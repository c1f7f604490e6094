package publish

import (
	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/internal/bitset"
	"github.com/schedgen/schedgen/runtime/wire"
)

// stream holds the messages of one origin.
type stream struct {
	origin int
	up     int     // the nearest rank above in the origin's tree that has not left, which gets the acknowledgements; -1: none
	below  []below // the ranks that acknowledge to this rank
	ring   []piece // message, modulo the window; nil before the first

	next  uint64 // messages before this one have arrived here
	known uint64 // messages before this one exist
	asked uint64 // missing messages before this one have been asked for

	consumed uint64 // this process has taken the messages before this one
	freed    uint64 // messages before this one are no longer kept
	held     int    // bytes of the messages that are kept
	came     load   // of all messages before next

	own    progress // this rank's progress, as far as it counts for acknowledgements
	told   progress // the last acknowledgement
	wanted uint64   // the rank above waits for the acknowledgement of messages before this one

	ack  timer // until this rank acknowledges the messages that have come
	lack timer // until it asks for messages that an acknowledgement or a question has revealed
}

// progress says how far the messages of an origin have come.
type progress struct {
	here  uint64 // messages before this one have come
	taken uint64 // processes have taken the messages before this one
}

// load is an amount of messages.
type load struct {
	bytes uint64
	room  uint64 // bytes in a receiver's buffer
}

func (l load) minus(m load) load { return load{l.bytes - m.bytes, l.room - m.room} }

// piece is a message in the ring of its stream.
type piece struct {
	*parcel
	seq    uint64
	state  pieceState
	bytes  int        // length of the message
	parts  int        // datagrams that are missing
	got    bitset.Set // datagram -> whether it has come
	before load       // of all messages before it, once next has passed it
}

type pieceState uint8

const (
	pieceNone pieceState = iota
	piecePart            // some datagrams have come
	pieceWhole
)

// below is a rank below this rank in the tree of an origin, nearest first; ranks between have left.
type below struct {
	rank     int
	progress            // of that rank and all below it
	waits    bool       // this rank knows that the ranks between have left, and has taken their place
	asked    uint64     // the rank has been told that the messages before this one exist
	mark     uint64     // late waits for the acknowledgement of messages before this one
	late     timer      // until it is told that messages exist
	lacks    bitset.Set // message, modulo the window -> the rank has asked for it, in vain so far
}

// kept returns the greatest length in bytes of a message whose memory the ring uses again. With
// this limit, a ring never holds more than a window.
func (m *Messages) kept() int { return m.Bytes / m.Window }

// stream returns the state of an origin's messages.
func (m *Messages) stream(origin int) *stream {
	st := m.streams[origin]
	if st == nil {
		st = &stream{origin: origin, up: m.above(origin)}
		for _, rank := range m.children(nil, origin, m.Rank) {
			st.below = append(st.below, below{rank: rank, waits: true})
		}
		m.streams[origin] = st
	}
	return st
}

func (m *Messages) own() *stream { return m.stream(m.Rank) }

// at returns the place of a message in the ring.
func (st *stream) at(seq uint64) *piece { return &st.ring[seq%uint64(len(st.ring))] }

// has reports whether a message, which has not been freed, has arrived here.
func (st *stream) has(seq uint64) bool {
	p := st.at(seq)
	return p.state == pieceWhole && p.seq == seq
}

// before returns the load of all messages before seq. seq is at most a window behind next.
func (st *stream) before(seq uint64) load {
	if seq >= st.next {
		return st.came
	}
	return st.at(seq).before
}

// all returns the progress of this rank and all below it.
func (st *stream) all() progress {
	p := st.own
	for i := range st.below {
		if b := &st.below[i]; b.waits {
			p.here, p.taken = min(p.here, b.here), min(p.taken, b.taken)
		}
	}
	return p
}

// confirm records that this rank acknowledges all messages that have come.
func (m *Messages) confirm(st *stream) {
	if st.own.here = st.next; m.AtOnce {
		st.own.taken = st.next
	}
}

// room returns the number of bytes that a message takes in a receiver's buffer.
func (m *Messages) room(bytes int) int {
	if bytes > m.longest {
		return 0
	}
	return flow.Footprint(bytes, m.Caps.Datagram)
}

// Came returns how many messages of an origin have arrived here, in order.
func (m *Messages) Came(origin int) uint64 {
	if st := m.streams[origin]; st != nil {
		return st.next
	}
	return 0
}

// HasRoom reports whether another message may be published, and after it as many as are promised.
// Two windows bound the messages under
// way. One holds messages that not all processes have taken. The other, a short one, holds multicasts
// that not all ranks have acknowledged. So multicasts do not overrun the buffers of receivers, even
// if all ranks publish.
func (m *Messages) HasRoom(promised int) bool {
	st := m.own()
	if len(st.below) == 0 {
		return true
	}
	all := st.all()
	if all.taken == st.next && promised < m.Window {
		return true
	}
	if st.next-all.taken+uint64(promised) >= uint64(m.Window) || st.came.minus(st.before(all.taken)).bytes >= uint64(m.Bytes) {
		return false
	}
	return m.share == 0 || st.came.minus(st.before(all.here)).room < uint64(m.share)
}

// Publish publishes a copy of msg, for which there is room.
func (m *Messages) Publish(msg []byte) {
	m.used = true
	st := m.own()
	p := m.place(st, st.next, len(msg), nil)
	copy(p.data, msg)
	p.state = pieceWhole
	m.advance(st)
	st.consumed, st.own = st.next, progress{st.next, st.next}
	m.counts.Published++
	switch {
	case m.Size == 1:
	case len(msg) <= m.longest:
		m.host.Mcast(m.message(st.origin, p.seq, p.parcel))
	default:
		m.passDown(st, p)
	}
	m.advanced(st)
}

// place returns the place of a message of an origin, with room for its bytes. If the place is new, it
// gets the parcel in, unless that is nil.
func (m *Messages) place(st *stream, seq uint64, bytes int, in *parcel) *piece {
	if st.ring == nil {
		st.ring = make([]piece, m.Window)
	}
	p := st.at(seq)
	if p.state != pieceNone {
		return p
	}
	switch {
	case in != nil:
		p.parcel = in
	case p.parcel == nil || p.unsent > 0: // the transport still sends the old message
		p.parcel = m.parcel(bytes)
	case cap(p.data) < bytes:
		p.data = make([]byte, bytes)
	}
	p.data = p.data[:bytes]
	p.seq, p.state, p.bytes = seq, piecePart, bytes
	if m.Caps.Datagram > 0 {
		p.parts = max(1, (bytes+m.Caps.Datagram-1)/m.Caps.Datagram)
		p.got = p.got.Cleared(p.parts)
	}
	st.held += bytes
	return p
}

// advance moves next past the messages that have arrived in order.
func (m *Messages) advance(st *stream) {
	for st.next-st.freed < uint64(len(st.ring)) && st.has(st.next) {
		p := st.at(st.next)
		p.before = st.came
		st.came.bytes += uint64(p.bytes)
		st.came.room += uint64(m.room(p.bytes))
		if st.origin != m.Rank {
			m.inbox.push(letter{origin: st.origin, seq: st.next})
		}
		st.next++
	}
	st.known = max(st.known, st.next)
}

// passDown puts a message to the ranks below.
func (m *Messages) passDown(st *stream, p *piece) {
	for i := range st.below {
		if b := &st.below[i]; b.waits && b.here <= p.seq {
			m.host.Put(b.rank, m.message(st.origin, p.seq, p.parcel))
		}
	}
}

// Fragment takes a datagram of a multicast. It returns false if the datagram is invalid.
func (m *Messages) Fragment(h *wire.Header, offset int, payload []byte) bool {
	if h.Print != m.Print || m.origin(h) != h.From || h.From == m.Rank || h.Len > m.longest {
		return false
	}
	datagram := m.Caps.Datagram
	if offset < 0 || offset > h.Len || offset%datagram != 0 || len(payload) != min(datagram, h.Len-offset) || len(payload) == 0 && h.Len > 0 {
		return false
	}
	st := m.stream(h.From)
	switch {
	case h.Seq < st.next:
		return true
	case !m.fits(st, h):
		return false
	}
	m.used = true
	p := m.place(st, h.Seq, h.Len, nil)
	if p.bytes != h.Len {
		return false
	}
	part := offset / datagram
	if p.state == pieceWhole || p.got.Has(part) {
		return true
	}
	copy(p.data[offset:], payload)
	p.got.Add(part)
	if p.parts--; p.parts == 0 {
		m.complete(st, p)
	}
	known := h.Seq // the messages before this one have been sent completely
	if offset+len(payload) == h.Len {
		known++
	}
	if known > st.next {
		st.known = max(st.known, known)
		m.requestMissing(st)
	}
	return true
}

// fits reports whether a message that has not arrived is within the origin's window.
func (m *Messages) fits(st *stream, h *wire.Header) bool {
	if h.Seq-st.freed >= uint64(m.Window) {
		return false
	}
	known := st.ring != nil && st.at(h.Seq).state != pieceNone
	return known || m.AtOnce || st.held < m.Bytes+m.MaxMessage
}

// Body says where the body of a [wire.FramePublish] goes, or that the frame is dropped.
func (m *Messages) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if p := m.incoming[h.From]; p != nil {
		return p.data, wire.Accept // called again for a later part of the message
	}
	if !m.accepts(h) {
		return nil, wire.Drop
	}
	st := m.stream(m.origin(h))
	switch {
	case !m.isBelow(st.origin, m.Rank, h.From):
		m.host.Violation(h, "unexpected message of origin %d, which does not come by this rank", st.origin)
		return nil, wire.Drop
	case h.Seq < st.next || st.ring != nil && h.Seq-st.freed < uint64(len(st.ring)) && st.has(h.Seq):
		return nil, wire.Drop // the multicast has come meanwhile
	case !m.fits(st, h):
		m.host.Violation(h, "origin %d sends more than its window", st.origin)
		return nil, wire.Drop
	}
	p := m.parcel(h.Len)
	m.incoming[h.From] = p
	return p.data, wire.Accept
}

// Arrived takes a frame of one of the kinds publish, flush, ack, lost and listen, whose body is
// complete.
func (m *Messages) Arrived(h *wire.Header) {
	switch h.Kind {
	case wire.FramePublish:
		m.arrived(h)
	case wire.FrameAck:
		m.acknowledged(h)
	case wire.FrameFlush:
		m.questioned(h)
	case wire.FrameLost:
		m.asked(h)
	case wire.FrameListen:
		m.listened(h)
	}
}

// arrived takes a message whose body is in its buffer.
func (m *Messages) arrived(h *wire.Header) {
	m.used = true
	data := m.incoming[h.From]
	m.incoming[h.From] = nil
	st := m.stream(m.origin(h))
	m.follow(st, h.From)
	if h.Seq < st.next {
		return // the multicast has come meanwhile
	}
	p := m.place(st, h.Seq, h.Len, data)
	if p.state == pieceWhole {
		return
	}
	st.held += h.Len - p.bytes
	p.parcel, p.bytes = data, h.Len
	m.complete(st, p)
}

// complete takes a message that has come completely.
func (m *Messages) complete(st *stream, p *piece) {
	p.state = pieceWhole
	if p.bytes > m.longest {
		m.passDown(st, p)
	}
	for i := range st.below {
		if b := &st.below[i]; b.served(p.seq, m.Window) && p.bytes <= m.longest {
			m.resend(st, b, p)
		}
	}
	m.advance(st)
	m.advanced(st)
}

// Take takes the oldest message that waits. The process owns the bytes from then on. They are copied only if the
// message is still needed.
func (m *Messages) Take() Message {
	l := m.inbox.pop()
	st := m.streams[l.origin]
	p := st.at(l.seq)
	data := p.data
	if p.unsent > 0 || !st.coveredBelow(l.seq) {
		data = append(make([]byte, 0, len(data)), data...)
	} else {
		p.data = nil
	}
	st.consumed++
	m.counts.Delivered++
	if st.consumed-st.own.taken >= m.step() || st.before(st.consumed).minus(st.before(st.own.taken)).bytes >= uint64(m.Bytes)/4 {
		st.own = progress{st.next, st.consumed}
		m.climb(st)
	}
	m.release(st)
	return Message{Origin: l.origin, Seq: l.seq, Data: data}
}

// step is the number of messages that one acknowledgement covers if they are short and no rank
// waits for it. It is never reached if answers acknowledge.
func (m *Messages) step() uint64 {
	if m.AtOnce {
		return uint64(m.Window + 1)
	}
	return uint64(max(1, m.Window/4))
}

// coveredBelow reports whether all ranks below have a message.
func (st *stream) coveredBelow(seq uint64) bool {
	for i := range st.below {
		if b := &st.below[i]; b.waits && b.here <= seq {
			return false
		}
	}
	return true
}

// release frees the messages that no rank needs any more.
func (m *Messages) release(st *stream) {
	for st.freed < st.consumed && st.coveredBelow(st.freed) {
		p := st.at(st.freed)
		p.state = pieceNone
		st.held -= p.bytes
		if p.unsent > 0 {
			p.parcel = nil
		} else if p.bytes > m.longest || cap(p.data) > m.kept() {
			m.keep(p.parcel)
			p.parcel = nil
		}
		st.freed++
	}
}

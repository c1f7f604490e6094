package core

import (
	"github.com/schedgen/schedgen/runtime/core/flow"
	"github.com/schedgen/schedgen/runtime/core/internal/bitset"
	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// spread holds rootless messages that are multicast (paper 002, section 3). Any rank multicasts a
// message whenever its window has room. It numbers its messages, and no rank waits for them.
// Acknowledgements climb the binomial tree rooted at the origin. They are cumulative in two ways:
// one covers a rank and all ranks below it in the tree, and all messages up to a number.
//
// A lost multicast leaves no trace. Three things reveal a loss: a later message of the same origin,
// an acknowledgement from below for a message that has not come here, and a question from the rank
// above, whose timeout for the acknowledgement has passed. The question says how many messages
// exist. It does not put them again, because they may be many and only late. A receiver asks the
// rank above for messages that it lacks. The rank above keeps each message until all ranks below
// have acknowledged it. Questions, requests and answers are puts, so each is sent once.
//
// A message that is too long for the buffers of receivers goes down the tree by puts. No rank asks
// for it.
//
// Memory is bounded by the window of each origin: a rank keeps a message until its process has
// taken it and all ranks below have it, and an origin sends only what fits into the window of every
// rank.
type spread struct {
	*env
	fate    *failure
	members *presence.Roster

	streams  []*stream // by origin; made when first heard of
	incoming []*parcel // sender -> the message that a put has brought in part
	inbox    inbox

	longest int // bytes of the longest message that is multicast; -1: no message is
	share   int // bytes of a receiver's buffer that the multicasts of one origin may take; 0: no limit

	timed     bool // timers may run
	listening bool // the process waits, or has waited, for messages
	used      bool // a message has been published or awaited somewhere: all ranks must hear when this rank leaves

	published, delivered, answers uint64
}

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
func (s *spread) kept() int { return s.PublishBytes / s.PublishWindow }

func (s *spread) init() {
	s.streams = make([]*stream, s.Size)
	s.incoming = make([]*parcel, s.Size)
	s.longest = -1
	if s.Caps.Multicast && s.Caps.Datagram > 0 {
		s.longest = s.MaxMessage
		if s.Caps.Room > 0 {
			s.longest = min(s.longest, max(s.Caps.Datagram, s.Caps.Room/2))
			s.share = max(s.Caps.Datagram, s.Caps.Room/s.Size)
		}
	}
}

// stream returns the state of an origin's messages.
func (s *spread) stream(origin int) *stream {
	st := s.streams[origin]
	if st == nil {
		st = &stream{origin: origin, up: s.above(origin)}
		for _, rank := range s.members.Children(nil, origin, s.Rank, s.Size) {
			st.below = append(st.below, below{rank: rank, waits: true})
		}
		s.streams[origin] = st
	}
	return st
}

func (s *spread) own() *stream { return s.stream(s.Rank) }

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

// room returns the number of bytes that a message takes in a receiver's buffer.
func (s *spread) room(bytes int) int {
	if bytes > s.longest {
		return 0
	}
	return flow.Footprint(bytes, s.Caps.Datagram)
}

func (s *spread) came(origin int) uint64 {
	if st := s.streams[origin]; st != nil {
		return st.next
	}
	return 0
}

func (s *spread) mail() int { return s.inbox.len() }

func (s *spread) count() (sent, taken uint64) { return s.published, s.delivered }

// hasRoom implements messages. Two windows bound the messages under way. One holds messages that
// not all processes have taken. The other, a short one, holds multicasts that not all ranks have
// acknowledged, so that multicasts do not overrun the buffers of receivers even if all ranks
// publish.
func (s *spread) hasRoom() bool {
	st := s.own()
	if len(st.below) == 0 {
		return true
	}
	all := st.all()
	if all.taken == st.next {
		return true
	}
	if st.next-all.taken >= uint64(s.PublishWindow) || st.came.minus(st.before(all.taken)).bytes >= uint64(s.PublishBytes) {
		return false
	}
	return s.share == 0 || st.came.minus(st.before(all.here)).room < uint64(s.share)
}

func (s *spread) publish(msg []byte) {
	s.used = true
	st := s.own()
	p := s.place(st, st.next, len(msg))
	copy(p.data, msg)
	p.state = pieceWhole
	s.advance(st)
	st.consumed, st.own = st.next, progress{st.next, st.next}
	s.published++
	switch {
	case s.Size == 1:
	case len(msg) <= s.longest:
		s.mcast(st, p)
	default:
		s.passDown(st, p)
	}
	s.moved(st)
}

// place returns the place of a message of an origin, with room for its bytes.
func (s *spread) place(st *stream, seq uint64, bytes int) *piece {
	if st.ring == nil {
		st.ring = make([]piece, s.PublishWindow)
	}
	p := st.at(seq)
	if p.state != pieceNone {
		return p
	}
	if p.parcel == nil || p.unsent > 0 { // the transport still sends the old message
		p.parcel = &parcel{}
	}
	if cap(p.data) < bytes {
		p.data = make([]byte, bytes)
	}
	p.data = p.data[:bytes]
	p.seq, p.state, p.bytes = seq, piecePart, bytes
	if s.Caps.Datagram > 0 {
		p.parts = max(1, (bytes+s.Caps.Datagram-1)/s.Caps.Datagram)
		p.got = p.got.Cleared(p.parts)
	}
	st.held += bytes
	return p
}

// advance moves next past the messages that have arrived in order.
func (s *spread) advance(st *stream) {
	for st.next-st.freed < uint64(len(st.ring)) && st.has(st.next) {
		p := st.at(st.next)
		p.before = st.came
		st.came.bytes += uint64(p.bytes)
		st.came.room += uint64(s.room(p.bytes))
		if st.origin != s.Rank {
			s.inbox.push(letter{origin: st.origin, seq: st.next})
		}
		st.next++
	}
	st.known = max(st.known, st.next)
}

func (s *spread) fill(st *stream, p *piece) *wire.Frame {
	f := &s.frame
	*f = wire.Frame{
		Header: wire.Header{
			Kind: wire.FramePublish, Lane: wire.LaneControl, Epoch: s.Epoch, Seq: p.seq, Arg: uint32(st.origin),
			Print: s.PublishPrint, Len: p.bytes, From: s.Rank,
		},
		Body: p.data, Unsent: &p.unsent,
	}
	p.unsent++
	return f
}

func (s *spread) mcast(st *stream, p *piece) {
	s.queued = true
	s.net.Mcast(s.fill(st, p))
}

// passDown puts a message to the ranks below.
func (s *spread) passDown(st *stream, p *piece) {
	for i := range st.below {
		if b := &st.below[i]; b.waits && b.here <= p.seq {
			s.put(b.rank, s.fill(st, p))
		}
	}
}

// fragment takes a datagram of a multicast. It returns false if the datagram is invalid.
func (s *spread) fragment(h *wire.Header, offset int, payload []byte) bool {
	if h.Print != s.PublishPrint || int(h.Arg) != h.From || h.From == s.Rank || h.Len > s.longest {
		return false
	}
	datagram := s.Caps.Datagram
	if offset < 0 || offset > h.Len || offset%datagram != 0 || len(payload) != min(datagram, h.Len-offset) || len(payload) == 0 && h.Len > 0 {
		return false
	}
	st := s.stream(h.From)
	switch {
	case h.Seq < st.next:
		return true
	case !s.fits(st, h):
		return false
	}
	s.used = true
	p := s.place(st, h.Seq, h.Len)
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
		s.complete(st, p)
	}
	if known := h.Seq + uint64(count(offset+len(payload) == h.Len)); known > st.next {
		st.known = max(st.known, known)
		s.ask(st)
	}
	return true
}

// fits reports whether a message that has not arrived is within the origin's window.
func (s *spread) fits(st *stream, h *wire.Header) bool {
	if h.Seq-st.freed >= uint64(s.PublishWindow) {
		return false
	}
	known := st.ring != nil && st.at(h.Seq).state != pieceNone
	return known || st.held < s.PublishBytes+s.MaxMessage
}

// buffer implements messages.
func (s *spread) buffer(h *wire.Header) ([]byte, wire.Verdict) {
	if p := s.incoming[h.From]; p != nil {
		return p.data, wire.Accept // called again for a later part of the message
	}
	if h.Print != s.PublishPrint {
		s.fate.disagree(h)
		return nil, wire.Drop
	}
	if int(h.Arg) >= s.Size || int(h.Arg) == s.Rank || h.Len > s.MaxMessage {
		s.fate.violation(h, "message of origin %d with %d bytes", h.Arg, h.Len)
		return nil, wire.Drop
	}
	st := s.stream(int(h.Arg))
	switch {
	case h.Seq < st.next || st.ring != nil && h.Seq-st.freed < uint64(len(st.ring)) && st.has(h.Seq):
		return nil, wire.Drop // the multicast has come meanwhile
	case !s.fits(st, h):
		s.fate.violation(h, "origin %d sends more than its window", h.Arg)
		return nil, wire.Drop
	}
	p := &parcel{data: make([]byte, h.Len)}
	s.incoming[h.From] = p
	return p.data, wire.Accept
}

// arrived implements messages.
func (s *spread) arrived(h *wire.Header) {
	s.used = true
	data := s.incoming[h.From]
	s.incoming[h.From] = nil
	st := s.stream(int(h.Arg))
	if h.Seq < st.next {
		return // the multicast has come meanwhile
	}
	p := s.place(st, h.Seq, 0)
	if p.state == pieceWhole {
		return
	}
	st.held += h.Len - p.bytes
	p.parcel, p.bytes = data, h.Len
	s.complete(st, p)
}

// complete takes a message that has come completely.
func (s *spread) complete(st *stream, p *piece) {
	p.state = pieceWhole
	if p.bytes > s.longest {
		s.passDown(st, p)
	}
	for i := range st.below {
		if b := &st.below[i]; b.served(p.seq, s.PublishWindow) && p.bytes <= s.longest {
			s.give(st, b, p)
		}
	}
	s.advance(st)
	s.moved(st)
}

// take implements messages. The process owns the bytes from then on. They are copied only if the
// message is still needed.
func (s *spread) take() Message {
	l := s.inbox.pop()
	st := s.streams[l.origin]
	p := st.at(l.seq)
	data := p.data
	if p.unsent > 0 || !st.coveredBelow(l.seq) {
		data = append(make([]byte, 0, len(data)), data...)
	} else {
		p.data = nil
	}
	st.consumed++
	s.delivered++
	if st.consumed-st.own.taken >= s.step() || st.before(st.consumed).minus(st.before(st.own.taken)).bytes >= uint64(s.PublishBytes)/4 {
		st.own = progress{st.next, st.consumed}
		s.climb(st)
	}
	s.release(st)
	return Message{Origin: l.origin, Seq: l.seq, Data: data}
}

// step is the number of messages that one acknowledgement covers if they are short and no rank
// waits for it.
func (s *spread) step() uint64 { return uint64(max(1, s.PublishWindow/4)) }

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
func (s *spread) release(st *stream) {
	for st.freed < st.consumed && st.coveredBelow(st.freed) {
		p := st.at(st.freed)
		p.state = pieceNone
		st.held -= p.bytes
		if cap(p.data) > s.kept() || p.unsent > 0 {
			p.parcel = nil
		}
		st.freed++
	}
}

// listen implements messages. This rank connects with all others, because messages come from all of
// them. So it notices when a rank dies.
func (s *spread) listen() {
	if s.listening {
		return
	}
	s.listening, s.used = true, true
	for _, rank := range s.comeBy() {
		if !s.members.Gone(rank) {
			s.control(rank, wire.FrameListen, 0, s.PublishPrint, 0)
		}
	}
}

func (s *spread) comeBy() []int {
	var all []int
	for rank := range s.Size {
		if rank != s.Rank {
			all = append(all, rank)
		}
	}
	return all
}

func (s *spread) heardListener(h *wire.Header) {
	s.used = true
	if h.Print != s.PublishPrint {
		s.fate.disagree(h)
	}
}

// foreign takes a frame that only overlays have. Its sender uses another algorithm, or is wrong.
func (s *spread) foreign(h *wire.Header) {
	if h.Print != s.PublishPrint {
		s.fate.disagree(h)
		return
	}
	s.fate.violation(h, "frame kind %d about messages that are multicast", h.Kind)
}

func (s *spread) credited(h *wire.Header) { s.foreign(h) }
func (s *spread) answered(h *wire.Header) { s.foreign(h) }
func (s *spread) passedOn(h *wire.Header) { s.foreign(h) }

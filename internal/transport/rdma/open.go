package rdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Two ranks connect by notes over TCP. A rank that has something to put creates its queue pair and
// sends its number. The other rank creates its own queue pair, connects it, and answers. Then the
// first rank connects and says so. A rank sends when it knows that the other's queue pair is
// connected. If two ranks send their numbers at the same time, both use these numbers, and each
// says when it has connected. So there is never more than one queue pair for a rank, and no rank
// has to give way.

// note is what a rank says about its queue pair, in the Arg of a slot on LaneControl; no core puts
// such a slot.
type note uint32

const (
	noteNumber  note = iota // Body has the sender's number, and where its ring is
	noteAnswer              // likewise; the sender is connected
	noteReady               // the sender is connected
	noteGoodbye             // nothing was or will be sent by the queue pair
	noteCrash               // likewise, but something is missing
)

// offerLen is the length of the body of a noteNumber in bytes: its number in 32 bits, the ring's
// key in 32, and the ring's address in 64, big-endian.
const offerLen = 16

// progress is the state of the connection of two ranks.
type progress uint8

const (
	apart     progress = iota
	asking             // this rank has its queue pair, and has sent its number
	connected          // this rank knows the peer's number and receives
	open               // the peer has connected too
)

// link is the connection of a rank with another.
type link struct {
	progress progress
	reached  bool           // datagrams can be sent
	region   Region         // of the pair
	ring     words          // where the peer has its ring
	offer    [offerLen]byte // body of the note that is arriving
}

// words locates the memory of a peer.
type words struct {
	key  uint32
	base uint64
}

// way is TCP between the ranks.
type way struct {
	t       *Transport
	puts    *stream.Transport
	sink    wire.Sink // of the Poll that serves TCP
	cards   []card    // by rank
	opening int       // number of links that are neither apart nor open, with ranks that have not ended
	polls   int       // since TCP was last served
	last    note      // once this rank closes, its word to ranks that it does not connect with any more; otherwise 0
	ends    []ended
}

// ended is how the connections with a rank have ended.
type ended struct {
	rank  int
	how   wire.End
	err   error
	looks int // number of checks for completions since then
}

// A rank that does not wait serves TCP after servePolls Polls. A Poll that has found nothing counts
// as idleWeight, so that a rank that polls rarely does not keep others waiting.
const (
	servePolls = 1 << 10
	idleWeight = 64
)

// due reports whether this Poll serves TCP.
func (w *way) due(woken bool) bool {
	w.polls++
	return woken || w.opening > 0 || w.polls >= servePolls
}

// Open implements [wire.Opener].
func (t *Transport) Open(to int) {
	if t.closed || to < 0 || to >= t.size || to == t.rank {
		return
	}
	if p := &t.peers[to]; p.link.progress == apart && p.end.how == 0 {
		t.ask(p)
	}
}

// ask begins to connect with p.
func (t *Transport) ask(p *pair) {
	number, err := t.build(p)
	if err != nil {
		t.fail(t.rank, err)
		return
	}
	t.tellNumber(p, noteNumber, number)
}

// build creates the queue pair for p, and posts the buffers that p may write to.
func (t *Transport) build(p *pair) (number uint32, err error) {
	if p.link.region, err = t.adapter.Allocate(t.plan.pair()); err != nil {
		return 0, fmt.Errorf("memory for rank %d: %w", p.rank, err)
	}
	if number, err = t.adapter.Open(p.rank); err != nil {
		return 0, fmt.Errorf("open queue pair %d, for rank %d: %w", len(t.begun)+1, p.rank, err)
	}
	n := uint32(t.plan.receives)
	p.credit = credit{limit: n, posted: n, told: n}
	p.link.progress = asking
	t.begun = append(t.begun, p)
	t.way.opening++
	t.park.pending.Store(true)
	for i := range t.plan.receives {
		t.postReceive(p.rank, i)
	}
	t.hand(nil)
	return number, nil
}

func (t *Transport) tellNumber(p *pair, n note, number uint32) {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, offerLen), number)
	b = binary.BigEndian.AppendUint32(b, p.link.region.Remote)
	b = binary.BigEndian.AppendUint64(b, p.link.region.Base+uint64(t.plan.receive(0)))
	t.sendNote(p.rank, n, b)
}

func (t *Transport) sendNote(to int, n note, body []byte) {
	t.speak(to, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneControl, Arg: uint32(n)}, Body: body})
}

var errNote = errors.New("not a valid connection note")

// hear handles a note of p.
func (t *Transport) hear(p *pair, n note, body []byte) error {
	l := &p.link
	switch {
	case n <= noteAnswer && len(body) == offerLen && l.progress == apart && n == noteNumber:
		return t.answer(p, body)
	case n <= noteAnswer && len(body) == offerLen && l.progress == asking:
		if err := t.join(p, body); err != nil {
			return err
		}
		t.sendNote(p.rank, noteReady, nil)
		if n == noteAnswer {
			t.opened(p)
		}
	case n == noteReady && l.progress == connected:
		t.opened(p)
	case n == noteGoodbye && l.progress != apart:
		t.finish(p, wire.Closed, nil)
	case n == noteCrash && l.progress != apart:
		t.finish(p, wire.Broken, errCrashed)
	default:
		return fmt.Errorf("%w: kind %d with %d bytes, in state %d", errNote, n, len(body), l.progress)
	}
	return nil
}

// answer connects with p, which has asked first. A closing rank that has nothing to say to p does
// not connect: it would take nothing, and two closing ranks must not wait for each other.
func (t *Transport) answer(p *pair, body []byte) error {
	if t.way.last != 0 {
		t.sendNote(p.rank, t.way.last, nil)
		return nil
	}
	number, err := t.build(p)
	if err != nil {
		t.fail(t.rank, err)
		return nil
	}
	if err := t.join(p, body); err != nil {
		return err
	}
	t.tellNumber(p, noteAnswer, number)
	return nil
}

// join connects the queue pair for p with p's.
func (t *Transport) join(p *pair, body []byte) error {
	p.link.ring = words{key: binary.BigEndian.Uint32(body[4:]), base: binary.BigEndian.Uint64(body[8:])}
	p.link.progress = connected
	return t.adapter.Connect(p.rank, t.way.cards[p.rank].address, binary.BigEndian.Uint32(body))
}

// opened is called when something can be sent to p.
func (t *Transport) opened(p *pair) {
	p.link.progress = open
	t.way.opening--
	t.touch(p)
}

// serve handles arrivals over TCP.
func (t *Transport) serve(s wire.Sink) (moved bool) {
	t.way.polls, t.way.sink = 0, s
	moved = t.way.puts.Poll(&t.way)
	t.beat()
	return moved
}

// lastLooks is how often completions are checked after TCP has reported that a process is gone.
// Everything that the process has sent has arrived by then, or arrives within a moment.
const lastLooks = 16

// sever handles the ends of TCP connections. A rank that closes regularly says so by the queue
// pair, after everything else, or by a note.
func (t *Transport) sever() {
	n := 0
	for _, e := range t.way.ends {
		switch p := &t.peers[e.rank]; {
		case p.end.how != 0, e.how == wire.Closed && p.link.progress >= connected:
		case p.link.progress >= connected && e.looks < lastLooks:
			e.looks++
			t.way.ends[n] = e
			n++
		default:
			t.finish(p, e.how, e.err)
		}
	}
	t.way.ends = t.way.ends[:n]
}

// Body implements [wire.Sink] for arrivals over TCP.
func (w *way) Body(h *wire.Header) ([]byte, wire.Verdict) {
	isNote := h.Kind == wire.FrameSlot && h.Len <= offerLen
	switch {
	case h.Lane != wire.LaneControl || !isNote && !beside(h.Kind):
		w.Ended(h.From, wire.Broken, fmt.Errorf("%w: kind %d with %d bytes, on lane %d", errNote, h.Kind, h.Len, h.Lane))
		return nil, wire.Drop
	case w.t.peers[h.From].end.how != 0:
		return nil, wire.Drop
	case isNote:
		return w.t.peers[h.From].link.offer[:h.Len], wire.Accept
	}
	return w.sink.Body(h)
}

// Arrived implements [wire.Sink].
func (w *way) Arrived(h *wire.Header, body []byte) {
	p := &w.t.peers[h.From]
	if p.end.how != 0 {
		return
	}
	if h.Kind != wire.FrameSlot {
		w.pass(h, body)
		return
	}
	if err := w.t.hear(p, note(h.Arg), body); err != nil {
		w.t.fail(h.From, fmt.Errorf("connect with rank %d: %w", h.From, err))
	}
}

// Fragment implements [wire.Sink]. TCP has no fragments.
func (w *way) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }

// Ended implements [wire.Sink].
func (w *way) Ended(rank int, how wire.End, err error) {
	if err != nil {
		err = fmt.Errorf("verbs: %w", err)
	}
	w.ends = append(w.ends, ended{rank: rank, how: how, err: err})
	w.t.park.pending.Store(true)
}

package rdma

import (
	"math/rand/v2"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// mostCast is the greatest number of datagrams sent at a time, so that puts are served in between.
const mostCast = 64

// grams is the traffic of the unreliable queue pair.
type grams struct {
	queue   fragment.Queue
	posted  uint32 // number of datagrams
	done    uint32
	sends   int  // datagrams that may be under way to the adapter
	dead    bool // the queue pair is in error: everything is lost
	casts   bool // the port multicasts
	mark    fragment.Mark
	payload int // agreed payload of a datagram in bytes
	room    int // agreed number of bytes that are received without a Poll
	inline  int // bytes that the adapter copies
	group   Group
	groups  groups   // further groups to which communicators multicast
	sources []source // by rank
	current fragment.Part
	stashes fragment.Stashes
	loss    float64
	random  *rand.Rand
}

// source is where a rank's datagrams come from.
type source struct {
	gid    [16]byte
	number uint32
}

// Mcast queues the unreliable transfer of f to all other ranks, or to the ranks of the group that
// f's communicator uses.
func (t *Transport) Mcast(f *wire.Frame) {
	to := everybody
	if g := t.grams.groups.of[f.Comm]; g != nil {
		to = toGroup(g.number)
	}
	t.enqueue(to, f)
}

// Datagram queues the unreliable transfer of f to rank to.
func (t *Transport) Datagram(to int, f *wire.Frame) { t.enqueue(to, f) }

func (t *Transport) enqueue(to int, f *wire.Frame) {
	if t.closed || t.grams.dead || t.size == 1 || !t.grams.casts || to >= t.size || to == t.rank || len(f.Body) > fragment.MaxChunk {
		f.Release()
		return
	}
	if to >= 0 && !t.reach(to) {
		f.Release()
		return
	}
	t.grams.queue.Push(to, f)
	if !t.park.pending.Load() {
		t.park.pending.Store(true)
	}
}

// reach creates the address of a rank for the first datagram. If that fails, the datagram is lost
// and reach returns false.
func (t *Transport) reach(to int) bool {
	l := &t.peers[to].link
	if !l.reached {
		c := &t.way.cards[to]
		if l.reached = t.adapter.Reach(to, c.address, c.gram) == nil; !l.reached {
			t.stats.Unsendable++
		}
	}
	return l.reached
}

// ready reports whether more can be sent without waiting.
func (g *grams) ready() bool { return !g.queue.Empty() && int(g.posted-g.done) < g.sends }

// cast sends queued datagrams.
func (t *Transport) cast() (moved bool) {
	for n := 0; n < mostCast && t.grams.ready(); n++ {
		t.castOne(&t.grams)
		moved = true
	}
	return moved
}

func (t *Transport) castOne(g *grams) {
	c := &g.queue.Waiting()[0]
	payload := c.Next(c.Sent, g.payload)
	at := t.plan.gramSend(int(g.posted) % g.sends)
	b := t.own.Memory[at:]
	fragment.Encode((*[fragment.HeadLen]byte)(b), &t.grams.mark, &c.Head, t.rank, c.Head.Len, c.Offset+c.Sent, payload)
	n := fragment.HeadLen + copy(b[fragment.HeadLen:], payload)
	g.posted++
	w := Work{ID: workID(idGramSend, 0, g.posted), At: t.own.Base + uint64(at), Local: t.own.Local, Len: uint32(n), To: Everybody, Op: SendGram}
	switch {
	case c.To >= 0:
		w.To = uint16(c.To)
	case c.To < everybody:
		w.To, w.Op = uint16(everybody-1-c.To), SendGroup
	}
	if int(g.posted)%(g.sends/4) == 0 {
		w.Flags |= Signal
	}
	if n <= g.inline {
		w.Flags |= Inlined
	}
	t.works = append(t.works, w)
	g.queue.Sent(g.payload, &t.stats)
}

// fail marks the unreliable queue pair as unusable. Its frames may be lost, and now are.
func (g *grams) fail(stats *wire.Stats) {
	stats.Unsendable += 1 + uint64(len(g.queue.Waiting()))
	g.dead = true
	g.queue.Clear()
}

// leave stops the traffic that may be lost.
func (g *grams) leave() {
	g.dead = true
	g.queue.Clear()
}

// overhear takes the datagram in a buffer, and posts the buffer again.
func (t *Transport) overhear(i int, c *Completion, s wire.Sink) {
	at := t.plan.gramReceive(i)
	if !t.grams.dead {
		t.sort(t.own.Memory[at:at+int(c.Len)], c.Source, s)
	}
	t.postGramReceive(i)
}

func (t *Transport) postGramReceive(i int) {
	t.works = append(t.works, Work{
		ID: workID(idGramReceive, 0, uint32(i)), At: t.own.Base + uint64(t.plan.gramReceive(i)), Local: t.own.Local, Len: uint32(GRHLen + t.plan.gram), Op: ReceiveGram,
	})
}

// sort handles one datagram from queue pair from.
func (t *Transport) sort(b []byte, from uint32, s wire.Sink) {
	g, p := &t.grams, &t.grams.current
	switch f := t.examine(b, from); {
	case f.Count(&t.stats), f == fragment.Ours:
	case g.loss > 0 && g.random.Float64() < g.loss:
		t.stats.Injected++
	default:
		t.stats.GotDatagrams++
		payload := b[GRHLen+fragment.HeadLen:]
		if s.Fragment(&p.Header, p.Offset, payload) == wire.Hold && !g.stashes.Add(p, payload) {
			t.stats.Early++
		}
	}
}

// examine reads the header of a datagram into grams.current.
func (t *Transport) examine(b []byte, from uint32) fragment.Fault {
	if len(b) < GRHLen {
		return fragment.Foreign
	}
	g, p := &t.grams, &t.grams.current
	if f := fragment.Decode(b[GRHLen:], &t.grams.mark, t.size, g.payload, p); f != fragment.Sound {
		return f
	}
	if g.sources[p.From].number != from || !g.sources[p.From].sent(b) {
		return fragment.Forged
	}
	if p.From == t.rank {
		return fragment.Ours
	}
	return fragment.Sound
}

// sent reports whether the header before a datagram names s as the sender. The header is a global
// route header of InfiniBand or has an IPv4 header in its last 20 bytes.
func (s *source) sent(b []byte) bool {
	if isIPv4(s.gid) {
		return [4]byte(b[32:36]) == [4]byte(s.gid[12:])
	}
	return [16]byte(b[8:24]) == s.gid
}

// isIPv4 reports whether a global identifier is an IPv4 address.
func isIPv4(gid [16]byte) bool {
	return [12]byte(gid[:12]) == [12]byte{10: 0xFF, 11: 0xFF}
}

package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// asks is a core's requests on their way out, and how long those before took to
// be answered. A put may wait for long where datagrams do not.
type asks struct {
	datagrams askRing
	puts      askRing
	answers   delay // how long they take
}

// askRing is memory for requests, which is used in turn.
type askRing struct {
	list []ask // maxAsks, made when the first is
	next int
}

// ask is a request: frames refer to their bodies until they have left.
type ask struct {
	body   [8 * maxWanted]byte
	unsent int
}

const (
	maxAsks = 16 // requests of a kind under way; what does not fit is asked for later

	// looseBytes is how much is asked for by a datagram at most: what a sending
	// socket takes. What is beyond is asked for a moment later.
	looseBytes = 32 << 10

	// Too much patience costs time, too little a chunk sent twice.
	minPatience = Time(1e6)
)

// What the slot of a request says of the chunks that it is for. One that may be late comes
// to who is asked as to who asks, unless it is lost: see debt.
const (
	wasPassed = ir.None  // the multicast has passed them, or has fallen silent
	mayBeLate = ir.Enter // nothing of it has been heard
)

// looseParts is looseBytes in fragments.
func (rc *recovery) looseParts() int { return max(1, looseBytes/max(1, rc.Caps.Datagram)) }

// patience returns how long to wait for an answer; base is the timeout of
// repairs. Answers that queue up on a link that the multicast fills take longer and
// longer: to ask again before they can have come would have them sent twice, and
// the queue grow. Those of the root come behind its multicast, others do not: so the times
// differ, and the wait is made of mean and deviation as TCP's is (RFC 6298), up to 2.5
// times the mean: where much is lost the deviation is large because of that.
func (a *asks) patience(base Time) Time {
	mean := a.answers.mean
	if mean == 0 {
		return max(base/4, 1)
	}
	return min(max(2*mean, min(a.answers.late(), 5*mean/2), minPatience), maxBackoff*base)
}

// wantParts asks rank to by datagram for the first fragments that are missing from
// number from on, of chunks below hi; it is answered so. n is how many, and next the
// fragment to go on from. ok is false if the request has to wait.
func (rc *recovery) wantParts(o *op, from, hi, to int) (n, next int, ok bool) {
	a := rc.asks.datagrams.vacant()
	if a == nil {
		return 0, from, false
	}
	dst, n := o.missingParts(a.body[:0], from, hi, rc.looseParts())
	if n == 0 {
		return 0, from, true
	}
	rc.queued = true
	rc.trace(EventAsked, o.seq, ir.None, to)
	rc.net.Datagram(to, rc.fillAsk(o, &rc.asks.datagrams, a, dst))
	last := len(dst) - 8
	return n, int(binary.BigEndian.Uint32(dst[last:]) + binary.BigEndian.Uint32(dst[last+4:])), true
}

// want asks rank to by put for the first chunks of [lo, hi) that are missing, at most so
// many, and returns how many; ok is false if the request has to wait. why is wasPassed or mayBeLate.
func (rc *recovery) want(o *op, lo, hi, most, to int, why ir.Slot) (n int, ok bool) {
	a := rc.asks.puts.vacant()
	if a == nil {
		return 0, false
	}
	dst, n := o.missingChunks(a.body[:0], lo, hi, most)
	if n > 0 {
		rc.trace(EventAsked, o.seq, ir.None, to)
		f := rc.fillAsk(o, &rc.asks.puts, a, dst)
		f.Slot = why
		rc.put(to, f)
	}
	return n, true
}

// vacant returns memory for a request, nil if all is under way.
func (r *askRing) vacant() *ask {
	if r.list == nil {
		r.list = make([]ask, maxAsks)
	}
	if slot := &r.list[r.next%maxAsks]; slot.unsent == 0 {
		return slot
	}
	return nil
}

// fillAsk takes a, which is vacant in r, for a request of the given runs, which are in
// its memory.
func (rc *recovery) fillAsk(o *op, r *askRing, a *ask, runs []byte) *wire.Frame {
	r.next++
	a.unsent++
	f := rc.fillWant(o, runs)
	f.Unsent = &a.unsent
	return f
}

// missingChunks appends the runs of the chunks of [lo, hi) that have not come, at most
// so many chunks; n is how many.
func (o *op) missingChunks(dst []byte, lo, hi, most int) (out []byte, n int) {
	runs := runs{most: most}
	for k := lo; k < hi && !runs.full(dst); k++ {
		if !o.machine.Has(ir.Chunk(k)) {
			dst = runs.add(dst, k)
		}
	}
	return dst, runs.n
}

// missingParts appends the runs of the fragments from number from on, of chunks below
// hi, that have not come, at most so many fragments; n is how many.
func (o *op) missingParts(dst []byte, from, hi, most int) (out []byte, n int) {
	runs := runs{most: most}
	for k := o.frags.chunkOf(from); k < min(hi, o.chunks) && !runs.full(dst); k++ {
		if o.machine.Has(ir.Chunk(k)) {
			continue
		}
		for i := max(from, int(o.frags.first[k])); i < int(o.frags.first[k+1]) && !runs.full(dst); i++ {
			if !o.frags.has(i) {
				dst = runs.add(dst, i)
			}
		}
	}
	return dst, runs.n
}

// runs writes the runs of a request: the first and the number of each.
type runs struct {
	most int // units in all
	n    int
}

// full reports whether no unit can be added to dst for certain.
func (r *runs) full(dst []byte) bool { return r.n == r.most || len(dst) == 8*maxWanted }

// add adds unit i, which is beyond all in dst.
func (r *runs) add(dst []byte, i int) []byte {
	r.n++
	if n := len(dst); n > 0 {
		first, length := binary.BigEndian.Uint32(dst[n-8:]), binary.BigEndian.Uint32(dst[n-4:])
		if first+length == uint32(i) {
			binary.BigEndian.PutUint32(dst[n-4:], length+1)
			return dst
		}
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(i))
	return binary.BigEndian.AppendUint32(dst, 1)
}

// tellWhole says that nothing is missing here, before the call returns.
func (rc *recovery) tellWhole(o *op, to int) {
	f := rc.fillWant(o, nil)
	f.Arg, f.Unsent = uint32(o.chunks), &o.unsent
	o.unsent++
	rc.put(to, f)
}

func (rc *recovery) fillWant(o *op, runs []byte) *wire.Frame {
	rc.frame = wire.Frame{Header: wire.Header{
		Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: rc.Epoch, Seq: o.seq, Print: o.print,
		Arg: uint32(o.lost.yields.have), Len: len(runs), From: rc.Rank,
	}, Body: runs}
	return &rc.frame
}

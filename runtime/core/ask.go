package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// asks is a core's requests on their way out, and how long those before took to
// be answered.
type asks struct {
	ring []ask // maxAsks, made when the first is
	next int
	mean Time // of the time that an answer takes; 0: not known
}

// ask is a request: frames refer to their bodies until they have left.
type ask struct {
	body   [8 * maxWanted]byte
	unsent int
}

const (
	maxAsks = 16 // requests under way; what does not fit is asked for later

	// looseBytes is how much is asked for by a datagram at most: what a sending
	// socket takes. What is beyond is asked for a moment later.
	looseBytes = 32 << 10

	// Too much patience costs time, too little a chunk sent twice.
	minPatience = Time(1e6)
)

// looseParts is looseBytes in fragments.
func (rc *recovery) looseParts() int { return max(1, looseBytes/max(1, rc.Caps.Datagram)) }

// patience returns how long to wait for an answer; base is the timeout of
// repairs. Answers that queue up on a link that the multicast fills take longer and
// longer: to ask again before they can have come would have them sent twice, and
// the queue grow.
func (a *asks) patience(base Time) Time {
	if a.mean == 0 {
		return max(base/4, 1)
	}
	return min(max(2*a.mean, minPatience), maxBackoff*base)
}

// took notes how long an answer has taken.
func (a *asks) took(d Time) {
	if a.mean == 0 {
		a.mean = d
	}
	a.mean = max(a.mean+(d-a.mean)/8, 1)
}

// wantParts asks rank to by datagram for the fragments that are missing of the
// chunks of [lo, hi), the first ones if they are many; it is answered so. some
// reports whether there are some, and first is the chunk of the first of them.
// Without datagrams to one rank it is want.
func (rc *recovery) wantParts(o *op, lo, hi, to int) (first int, some bool) {
	if !rc.Caps.Direct {
		return rc.want(o, lo, hi, to)
	}
	rc.layout(o)
	return rc.wantPartsFrom(o, int(o.frags.first[lo]), hi, to)
}

// wantPartsFrom asks for fragments from number from on.
func (rc *recovery) wantPartsFrom(o *op, from, hi, to int) (first int, some bool) {
	a := rc.asks.vacant()
	if a == nil {
		return 0, false
	}
	dst, n := o.missingParts(a.body[:0], from, hi, rc.looseParts())
	o.lost.gaps.rest = rest{}
	if len(dst) == 0 {
		return 0, false
	}
	last := len(dst) - 8
	next := int(binary.BigEndian.Uint32(dst[last:]) + binary.BigEndian.Uint32(dst[last+4:]))
	if o.missesBeyond(next, hi) {
		o.lost.gaps.rest = rest{from: next, pending: max(1, n*3/4)}
	}
	rc.queued = true
	rc.net.Datagram(to, rc.fillAsk(o, a, dst))
	return o.frags.chunkOf(int(binary.BigEndian.Uint32(dst))), true
}

// want asks rank to by put for the chunks of [lo, hi) that are missing; some
// reports whether there are some, and first is the first of them.
func (rc *recovery) want(o *op, lo, hi, to int) (first int, some bool) {
	a := rc.asks.vacant()
	if a == nil {
		return 0, false
	}
	runs := o.missingChunks(a.body[:0], lo, hi)
	if len(runs) == 0 {
		return 0, false
	}
	rc.put(to, rc.fillAsk(o, a, runs))
	return int(binary.BigEndian.Uint32(runs)), true
}

// vacant returns memory for a request, nil if all is under way.
func (a *asks) vacant() *ask {
	if a.ring == nil {
		a.ring = make([]ask, maxAsks)
	}
	if slot := &a.ring[a.next%maxAsks]; slot.unsent == 0 {
		return slot
	}
	return nil
}

// fillAsk takes a for a request of the given runs, which are in its memory.
func (rc *recovery) fillAsk(o *op, a *ask, runs []byte) *wire.Frame {
	rc.asks.next++
	a.unsent++
	f := rc.fillWant(o, runs)
	f.Unsent = &a.unsent
	return f
}

// missingChunks appends the runs of the chunks of [lo, hi) that have not come.
func (o *op) missingChunks(dst []byte, lo, hi int) []byte {
	runs := runs{most: o.chunks}
	for k := lo; k < hi && !runs.full(dst); k++ {
		if !o.machine.Has(ir.Chunk(k)) {
			dst = runs.add(dst, k)
		}
	}
	return dst
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

// missesBeyond reports whether a fragment from number from on, of a chunk below hi,
// has not come.
func (o *op) missesBeyond(from, hi int) bool {
	var one [8]byte
	_, n := o.missingParts(one[:0], from, hi, 1)
	return n > 0
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

package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// asks holds a core's outgoing requests, and how long earlier ones took to be answered. Datagrams
// and puts have separate rings, since a put may wait for long when datagrams do not.
type asks struct {
	datagrams askRing
	puts      askRing
	answers   moment.Delay // time to an answer
}

// askRing is memory for requests, used in turn.
type askRing struct {
	list []ask // maxAsks requests, allocated for the first one
	next int
}

// ask is a request. Frames refer to its body until they have left.
type ask struct {
	body   [8 * maxWanted]byte
	unsent int
}

const (
	maxAsks = 16 // greatest number of requests of a kind under way; further ones are made later

	// looseBytes is how many bytes one datagram may ask for: as much as a sending socket takes. The
	// rest is asked for a moment later.
	looseBytes = 32 << 10

	// Too much patience costs time, too little a chunk sent twice.
	minPatience = Time(1e6)
)

// The Slot of a request says why the chunks are missing. A chunk that may be late also reaches the
// rank that is asked, unless it is lost: see debt.
const (
	wasPassed = ir.None  // the multicast has passed the chunks, or has stopped
	mayBeLate = ir.Enter // the sender has heard nothing of the multicast
)

// looseParts is looseBytes in fragments.
func (rc *recovery) looseParts() int { return max(1, looseBytes/max(1, rc.Caps.Datagram)) }

// patience returns how long to wait for an answer; base is the timeout of repairs. On a link that
// the multicast fills, answers queue up and take longer and longer. Asking again too early would
// make ranks send them twice, and the queue grow. Answers of the root queue behind its multicast,
// others do not, so the times vary. The wait uses mean and deviation, like TCP's timeout (RFC
// 6298), but at most 2.5 times the mean, since heavy loss makes the deviation large.
func (a *asks) patience(base Time) Time {
	mean := a.answers.Mean()
	if mean == 0 {
		return max(base/4, 1)
	}
	return min(max(2*mean, min(a.answers.Late(), 5*mean/2), minPatience), moment.Longest(base))
}

// wantParts asks rank to, by datagram, for the first missing fragments from number from on, of
// chunks below hi. Answers come by datagram too. n is the number of fragments, and next the
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

// want asks rank to, by put, for the first missing chunks of [lo, hi), at most most of them. It
// returns how many. ok is false if the request has to wait. why is wasPassed or mayBeLate.
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

// vacant returns memory for a request, or nil if all requests are under way.
func (r *askRing) vacant() *ask {
	if r.list == nil {
		r.list = make([]ask, maxAsks)
	}
	if slot := &r.list[r.next%maxAsks]; slot.unsent == 0 {
		return slot
	}
	return nil
}

// fillAsk returns the frame of a request for the given runs, which lie in a, the vacant memory of
// r.
func (rc *recovery) fillAsk(o *op, r *askRing, a *ask, runs []byte) *wire.Frame {
	r.next++
	a.unsent++
	f := rc.ops.fillWant(o, runs)
	f.Unsent = &a.unsent
	return f
}

// missingChunks appends the runs of the missing chunks of [lo, hi), at most most chunks; n is how
// many.
func (o *op) missingChunks(dst []byte, lo, hi, most int) (out []byte, n int) {
	runs := runs{most: most}
	for k := lo; k < hi && !runs.full(dst); k++ {
		if !o.machine.Has(ir.Chunk(k)) {
			dst = runs.add(dst, k)
		}
	}
	return dst, runs.n
}

// missingParts appends the runs of the missing fragments from number from on, of chunks below hi,
// at most most fragments; n is how many.
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

// runs writes the runs of a request: the first unit and the number of units of each.
type runs struct {
	most int // units in all
	n    int
}

// full reports whether dst may have no room for another unit.
func (r *runs) full(dst []byte) bool { return r.n == r.most || len(dst) == 8*maxWanted }

// add adds unit i, which must be greater than all units in dst.
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

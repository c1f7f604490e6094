package loss

import (
	"encoding/binary"
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// MaxRequest is the greatest length of a request in bytes.
const MaxRequest = 8 * maxRuns

const (
	maxRuns     = 128 // runs of units in a request; the rest is asked for later
	maxRequests = 16  // greatest number of requests of a kind under way; further ones are made later

	// looseBytes is how many bytes one datagram may ask for: as much as a sending socket takes. The
	// rest is asked for a moment later.
	looseBytes = 32 << 10

	// Too much patience costs time, too little a chunk sent twice.
	minPatience = moment.Time(1e6)
)

// Request is a request for runs of chunks or of fragments. A frame may refer to it until the frame
// has left.
type Request struct {
	Unsent int  // frames that refer to the request and have not left
	Late   bool // the chunks may only be late: this rank has heard nothing of the multicast
	n      int
	body   [MaxRequest]byte
}

// Runs returns, for each run, the first unit and the number of units, as big-endian numbers of 32
// bits.
func (q *Request) Runs() []byte { return q.body[:q.n] }

// ring is memory for requests, used in turn.
type ring struct {
	list []Request // maxRequests, allocated for the first one
	next int
}

// vacant returns memory for a request, or nil if all requests are under way.
func (r *ring) vacant() *Request {
	if r.list == nil {
		r.list = make([]Request, maxRequests)
	}
	if q := &r.list[r.next%maxRequests]; q.Unsent == 0 {
		return q
	}
	return nil
}

// normalize forgets requests that have left.
func (r *ring) normalize() {
	if !slices.ContainsFunc(r.list, func(q Request) bool { return q.Unsent > 0 }) {
		*r = ring{}
	}
}

// partsAtOnce is looseBytes in fragments.
func (r *Recovery) partsAtOnce() int { return max(1, looseBytes/max(1, r.cfg.Datagram)) }

// patience returns how long to wait for an answer. On a link that the multicast fills, answers
// queue up and take longer and longer. Asking again too early would make ranks send them twice, and
// the queue grow. Answers of the root queue behind its multicast, and other answers do not, so the
// times vary. The wait uses mean and deviation, like TCP's timeout (RFC 6298), but at most 2.5
// times the mean, since heavy loss makes the deviation large.
func (r *Recovery) patience() moment.Time {
	mean := r.answers.Mean()
	if mean == 0 {
		return max(r.cfg.Repair/4, 1)
	}
	return min(max(2*mean, min(r.answers.Late(), 5*mean/2), minPatience), moment.Longest(r.cfg.Repair))
}

// askParts requests by datagram, at rank to, the first missing fragments of chunks below hi,
// beginning with number from. Answers come by datagram too. n is the number of fragments, and next
// the fragment to go on from. ok is false if the request has to wait.
func (r *Recovery) askParts(l *Losses, from, hi, to int, f Facts) (n, next int, ok bool) {
	q := r.datagrams.vacant()
	if q == nil {
		return 0, from, false
	}
	dst, n := l.missingParts(q.body[:0], from, hi, r.partsAtOnce(), f)
	if n == 0 {
		return 0, from, true
	}
	r.request(&r.datagrams, q, AskParts, dst, to, false)
	last := len(dst) - 8
	return n, int(binary.BigEndian.Uint32(dst[last:]) + binary.BigEndian.Uint32(dst[last+4:])), true
}

// askChunks requests by put, at rank to, the first missing chunks of [lo, hi), at most most of
// them. It returns their number. ok is false if the request has to wait.
func (r *Recovery) askChunks(l *Losses, lo, hi, most, to int, late bool, f Facts) (n int, ok bool) {
	q := r.puts.vacant()
	if q == nil {
		return 0, false
	}
	dst, n := missingChunks(q.body[:0], lo, hi, most, f)
	if n > 0 {
		r.request(&r.puts, q, AskChunks, dst, to, late)
	}
	return n, true
}

// request outputs the request for runs, which lie in q, the vacant memory of from.
func (r *Recovery) request(from *ring, q *Request, do Action, runs []byte, to int, late bool) {
	from.next++
	q.n, q.Late = len(runs), late
	q.Unsent++
	r.out = append(r.out, Output{Do: do, To: to, Request: q})
}

// missingChunks appends the runs of the missing chunks of [lo, hi), at most most chunks; n is their
// number.
func missingChunks(dst []byte, lo, hi, most int, f Facts) (out []byte, n int) {
	runs := runs{most: most}
	for k := lo; k < hi && !runs.full(dst); k++ {
		if f.Lacks(k) {
			dst = runs.add(dst, k)
		}
	}
	return dst, runs.n
}

// missingParts appends the runs of the missing fragments of chunks below hi, beginning with number
// from, at most most fragments; n is their number.
func (l *Losses) missingParts(dst []byte, from, hi, most int, f Facts) (out []byte, n int) {
	runs := runs{most: most}
	for k := l.Parts.chunkOf(from); k < min(hi, l.chunks) && !runs.full(dst); k++ {
		if !f.Lacks(k) {
			continue
		}
		for i := max(from, int(l.Parts.first[k])); i < int(l.Parts.first[k+1]) && !runs.full(dst); i++ {
			if !l.Parts.has(i) {
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
func (r *runs) full(dst []byte) bool { return r.n == r.most || len(dst) == MaxRequest }

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

// countRuns returns how many units a request asks for, and whether all are below units.
func countRuns(runs []byte, units int) (n int, ok bool) {
	for ; len(runs) >= 8; runs = runs[8:] {
		first, length := int64(binary.BigEndian.Uint32(runs)), int64(binary.BigEndian.Uint32(runs[4:]))
		if first+length > int64(units) {
			return 0, false
		}
		n += int(length)
	}
	return n, len(runs) == 0
}

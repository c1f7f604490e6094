package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// asks is a core's requests on their way out, and how long those before took to
// be answered.
type asks struct {
	ring [maxAsks]ask
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

	// looseBytes is how much is asked for by datagrams at most: what a sending
	// socket takes. More is left to puts, which adapt to what the network takes.
	looseBytes = 32 << 10

	// Too much patience costs time, too little a chunk sent twice.
	minPatience = Time(1e6)
)

// looseChunks is looseBytes in chunks of o.
func (o *op) looseChunks() int { return looseBytes / max(1, (o.n+o.chunks-1)/max(1, o.chunks)) }

// patience returns how long to wait for an answer; base is the timeout of
// repairs.
func (a *asks) patience(base Time) Time {
	most := max(base/4, 1)
	if a.mean == 0 {
		return most
	}
	return min(max(2*a.mean, minPatience), most)
}

// took notes how long an answer has taken.
func (a *asks) took(d Time) {
	if a.mean == 0 {
		a.mean = d
	}
	a.mean = max(a.mean+(d-a.mean)/8, 1)
}

// want asks rank to for the chunks of [lo, hi) that are missing; any reports
// whether there are some, and first is the first of them. Few are asked for by
// datagram if loose is set, and are answered so.
func (rc *recovery) want(o *op, lo, hi, to int, loose bool) (first int, any bool) {
	a := &rc.asks.ring[rc.asks.next%maxAsks]
	if a.unsent > 0 {
		return 0, false
	}
	runs := missingRuns(a.body[:0], lo, hi, func(k int) bool { return o.machine.Has(ir.Chunk(k)) })
	if len(runs) == 0 {
		return 0, false
	}
	rc.asks.next++
	a.unsent++
	f := rc.fillWant(o, runs)
	f.Unsent = &a.unsent
	n, _ := countRuns(runs, o.chunks)
	if rc.queued = true; loose && rc.Caps.Direct && n <= o.looseChunks() {
		rc.net.Datagram(to, f)
	} else {
		rc.net.Put(to, f)
	}
	return int(binary.BigEndian.Uint32(a.body[:])), true
}

// tellWhole says that nothing is missing here.
func (rc *recovery) tellWhole(o *op, to int) { rc.put(to, rc.fillWant(o, nil)) }

func (rc *recovery) fillWant(o *op, runs []byte) *wire.Frame {
	rc.frame = wire.Frame{Header: wire.Header{
		Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: rc.Epoch, Seq: o.seq, Print: o.print, Len: len(runs), From: rc.Rank,
	}, Body: runs}
	return &rc.frame
}

package runtime

import (
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

type kind uint8

const (
	kindBcast kind = iota
	kindBarrier
)

type opState uint8

const (
	opFree     opState = iota
	opActive           // the process is inside the call; buf is the caller's
	opReturned         // requests are still answered, from keep
)

// op is one operation of this rank, running or past. Operations live in a
// ring and are reused, so that a warm communicator allocates nothing.
type op struct {
	seq     uint64
	state   opState
	kind    kind
	root    int
	print   uint32
	plan    *plan
	machine machine.Engine  // runs the operation
	own     machine.Machine // does so unless the plan has engines of its own
	chunks  int
	n       int    // bytes of the message
	buf     []byte // the message: the caller's while active, keep afterwards, nil if it is gone
	keep    []byte // memory for the copy
	unsent  int    // frames that refer to buf or still have to leave
	gate    gate
	repairs []repair // armed or not, one for every repair rule that ever was armed
	armed   int      // how many are armed
	frags   fragments
	gaps    gaps
	flow    flow
	heard   bool      // a datagram of the operation has come, in time or not
	byMcast int       // chunks that came by multicast first
	byPut   int       // chunks that came by put first
	stirred bool      // a slot has been set since moved was written
	moved   time.Time // when a slot was last set, or the last probe sent
	probes  int       // stall probes sent without a slot set since
}

// begin makes o operation seq under p on buf.
func (o *op) begin(seq uint64, k kind, root int, p *plan, print uint32, buf []byte) {
	o.seq, o.kind, o.root, o.plan, o.print = seq, k, root, p, print
	o.state = opActive
	o.buf, o.n, o.chunks = buf, len(buf), p.chunks
	o.machine = p.engine(o)
	o.repairs, o.armed = o.repairs[:0], 0
	o.byMcast, o.byPut, o.probes, o.heard = 0, 0, 0, false
	o.frags.reset()
	o.gaps.reset()
}

// chunk returns the place of chunk slot s in the message; nil if the message
// is gone.
func (o *op) chunk(s ir.Slot) []byte {
	if o.buf == nil && o.n > 0 {
		return nil
	}
	lo, hi := ir.ChunkBounds(o.n, o.chunks, s.Index())
	return o.buf[lo:hi:hi]
}

// holds reports whether o can send chunk slot s now.
func (o *op) holds() bool { return o.state == opActive || o.n == 0 || o.buf != nil }

// ready reports whether the call may return: everything has come that the
// schedule waits for, and everything that fired rules ask for has been handed
// over.
func (o *op) ready() bool { return o.machine.Done() && o.unsent == 0 && !o.gate.closed }

// retire ends the call. If ranks may still ask for chunks, the message is
// kept, as far as limit bytes suffice; beyond that the repairs of ranks that
// are still in the operation have to do.
func (o *op) retire(limit int) {
	o.state = opReturned
	o.armed, o.repairs = 0, o.repairs[:0]
	if o.n == 0 || !o.plan.program.Keeps() || o.n > limit {
		o.buf = nil
		return
	}
	o.keep = append(o.keep[:0], o.buf...)
	o.buf = o.keep
}

// fragments keeps track of the datagrams of the running operation's chunks:
// the process-local status bitmap of paper 000, section 2.1.
type fragments struct {
	size  int      // bytes of a full fragment
	first []int32  // chunk -> its first bit; one longer than the chunks; empty until a datagram has come
	got   []uint64 // fragment -> it has arrived
	left  []int32  // chunk -> fragments still to come
}

func (f *fragments) reset() { f.first = f.first[:0] }

func (f *fragments) layout(n, chunks, size int) {
	f.size = size
	f.first = append(f.first[:0], 0)
	f.left = f.left[:0]
	total := int32(0)
	for k := range chunks {
		lo, hi := ir.ChunkBounds(n, chunks, k)
		pieces := int32(max(1, (hi-lo+size-1)/size))
		total += pieces
		f.left = append(f.left, pieces)
		f.first = append(f.first, total)
	}
	words := (int(total) + 63) / 64
	if cap(f.got) < words {
		f.got = make([]uint64, words)
	}
	f.got = f.got[:words]
	clear(f.got)
}

// fits reports whether a payload of length bytes at offset is a whole
// fragment of a chunk of n bytes.
func (f *fragments) fits(n, offset, length int) bool {
	if offset < 0 || offset > n || offset%f.size != 0 {
		return false
	}
	return length == min(f.size, n-offset) && (length > 0 || n == 0)
}

// add marks the fragment of chunk k at offset and reports whether it is new.
func (f *fragments) add(k, offset int) bool {
	bit := int(f.first[k]) + offset/f.size
	if f.got[bit/64]&(1<<(bit%64)) != 0 {
		return false
	}
	f.got[bit/64] |= 1 << (bit % 64)
	f.left[k]--
	return true
}

func (f *fragments) complete(k int) bool { return f.left[k] == 0 }

//go:build linux

package segment

import (
	"errors"
	"fmt"
	"math/bits"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/yield"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Transport is one rank's end of a communicator. Its methods follow the rules of [wire.Transport].
type Transport struct {
	segment
	annex   annex
	rank    int
	id      [16]byte
	clock   clock.Clock
	park    park
	peers   []peer
	watch   watch
	mine    caster
	shelf   shelf
	windows windowSets
	pace    wire.Pace            // wire.Caps.Pace
	listens bool                 // it listens to further communicators
	blocked atomic.Bool          // a multicast waits for slow readers
	held    [MaxSize / 64]uint64 // peers with held frames
	failed  error                // why this rank cannot go on; the next Poll reports it
	stats   wire.Stats
	closed  bool
}

// newTransport returns the transport over s, which all ranks have joined, and takes s over. kick is
// Config.Kick.
func newTransport(s segment, rank int, c clock.Clock, kick func(rank int)) *Transport {
	t := &Transport{segment: s, rank: rank, id: s.header().id, pace: s.header().pace, clock: c, peers: make([]peer, s.size)}
	t.park = park{bell: s.bell(rank), words: (s.size + 63) / 64, watches: s.size <= maxWatched, yields: yields(s.size), process: yield.This(), kick: kick}
	t.mine.line, t.mine.rings = s.casts(rank)
	t.mine.late = make([]bool, s.size)
	t.mine.starts = make([]uint64, len(t.mine.rings.cells))
	for r := range t.peers {
		t.peers[r].init(s, r, rank)
		t.mine.positions = append(t.mine.positions, &s.position(rank, r).cells)
	}
	t.shelf.lender, t.shelf.crowded = make([]bool, s.size), s.size > goruntime.NumCPU()
	first := s.firstSet().use(t)
	for other := range s.size {
		if other != rank {
			first.others = append(first.others, other)
		}
	}
	t.windows.list[0] = first
	t.tryLoans()
	t.watchAll()
	return t
}

func (p *peer) init(s segment, rank, own int) {
	p.rank, p.line, p.bell = rank, s.rank(rank), s.bell(rank)
	p.pid, p.start = atomic.LoadUint32(&p.line.pid), atomic.LoadUint64(&p.line.start)
	for lane := range wire.Lanes {
		in, out := &p.in[lane], &p.out[lane]
		in.line, in.rings = s.lane(rank, own, lane)
		out.line, out.rings = s.lane(own, rank, lane)
		in.head.Lane, in.head.From = lane, rank
	}
	p.cast.line, p.cast.rings = s.casts(rank)
	p.cast.position = &s.position(rank, own).cells
}

// Rank returns this process's number in the communicator.
func (t *Transport) Rank() int { return t.rank }

// Size returns the number of ranks.
func (t *Transport) Size() int { return t.size }

// ID returns the communicator's identity, drawn by the rank that made the segment.
func (t *Transport) ID() [16]byte { return t.id }

// Caps returns the Caps, with multicast.
func (t *Transport) Caps() wire.Caps {
	return wire.Caps{Multicast: true, Datagram: t.gram, Local: t.size, Pace: &t.pace}
}

// Stats returns the counters. The caller holds the lock of Poll.
func (t *Transport) Stats() wire.Stats {
	s := t.stats
	s.MemoryBytes = s.PutBytes
	return s
}

// idlePolls is how many polls without result pass between two reads of the clock, for check.
const idlePolls = 1 << 12

// Poll implements [wire.Transport].
func (t *Transport) Poll(s wire.Sink) bool {
	if t.closed {
		return false
	}
	moved := t.mine.queue.n > 0 && t.cast()
	for i := range t.park.words {
		set := uint64(0)
		if t.park.watches {
			set = t.stare()
		}
		if set |= t.held[i]; atomic.LoadUint64(&t.park.bell.bits[i]) != 0 {
			set |= atomic.SwapUint64(&t.park.bell.bits[i], 0)
			moved = true // perhaps there is a flag
		}
		moved = set != 0 && t.serve(i, set, s) || moved
	}
	if t.failed != nil {
		s.Ended(t.rank, wire.Broken, fmt.Errorf("shm: %w", t.failed))
		t.failed = nil
	}
	if moved {
		t.watch.idle = 0
		t.hush()
	} else if t.watch.idle++; t.watch.idle >= idlePolls || t.park.lapsed.Load() {
		t.watch.idle = 0
		t.park.lapsed.Store(false)
		t.checkAgain()
	}
	if t.watch.ended.Load() && t.watch.ended.Swap(false) {
		t.check()
	}
	return moved
}

// serve visits the peers whose bits of word i are set.
func (t *Transport) serve(i int, set uint64, s wire.Sink) bool {
	moved := false
	for ; set != 0; set &= set - 1 {
		rank := i*64 + bits.TrailingZeros64(set)
		if rank >= t.size || rank == t.rank || t.peers[rank].gone {
			continue
		}
		moved = t.visit(&t.peers[rank], s) || moved
	}
	return moved
}

// visit moves everything between p and this rank.
func (t *Transport) visit(p *peer, s wire.Sink) bool {
	state := atomic.LoadUint32(&p.line.state)
	moved := t.flush(p)
	if changes := atomic.LoadUint32(&p.in[wire.LaneOps].line.changes); changes != p.changes {
		t.heedChanges(p, changes)
	}
	for lane := range p.in {
		moved = t.read(p, &p.in[lane], s) || moved
	}
	if p.more != nil {
		moved = t.readFurther(p, s) || moved
	}
	if p.cast.waits() && !p.gone {
		moved = t.hear(p, s) || moved
	}
	t.end(p, state, s)
	bit := uint64(1) << (p.rank % 64)
	if !p.gone && (p.in[0].held || p.in[1].held || p.cast.held || p.more != nil && p.more.held()) {
		t.held[p.rank/64] |= bit
	} else {
		t.held[p.rank/64] &^= bit
	}
	return moved
}

// Close implements [wire.Transport].
func (t *Transport) Close(bye bool, linger time.Duration) error {
	if t.closed {
		return nil
	}
	state, late := uint32(stateCrashed), []int(nil)
	if bye {
		state = stateLeft
		t.drain(linger)
		late = t.giveUp()
	}
	t.closed = true
	own := t.segment.rank(t.rank)
	store32(&own.state, state)
	for rank := range t.peers {
		if rank != t.rank {
			t.ring(rank)
			t.forget(&t.peers[rank])
		}
	}
	t.mine.empty()
	err := t.release()
	if len(late) > 0 {
		return fmt.Errorf("shm: close: not everything could be sent to ranks %v in time", late)
	}
	return err
}

// drain sends queued frames, until their number has not decreased for linger. It drops arrivals, so
// that two closing ranks do not wait for each other.
func (t *Transport) drain(linger time.Duration) {
	patience := clock.Patience{Limit: linger}
	for {
		moved := t.Poll(wire.Nobody{})
		left := t.unwritten()
		rest := patience.Rest(t.clock.Now(), left)
		if left == 0 || rest <= 0 {
			return
		}
		if !moved {
			t.Wait(rest)
		}
	}
}

// unwritten returns how much is not written: bytes, and frames.
func (t *Transport) unwritten() (n int) {
	for rank := range t.peers {
		t.peers[rank].eachOut(func(o *outbound) { n += o.unwritten() })
	}
	return n
}

// giveUp marks the lanes on which something is missing and returns their receivers.
func (t *Transport) giveUp() (late []int) {
	for rank := range t.peers {
		found := false
		t.peers[rank].eachOut(func(o *outbound) {
			if !o.idle() {
				store32(&o.line.late, 1)
				found = true
			}
		})
		if found {
			late = append(late, rank)
		}
	}
	return late
}

// release frees all resources of the transport, when no goroutine parks any more.
func (t *Transport) release() error {
	t.park.shut.Store(true)
	t.watch.close()
	unpark(t.park.bell)
	t.park.life.Lock()
	defer t.park.life.Unlock()
	return errors.Join(t.annex.unmap(), t.windows.unmap(), t.unmap())
}

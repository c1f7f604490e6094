package rdma

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// laneWindow is how many bytes of a lane, heads of records among them, a rank keeps that
// its sink has not taken.
const laneWindow = 64 << 10

// leastPiece is the shortest piece that a body is cut into, unless it ends there.
const leastPiece = 512

// laneIndex returns the index of a lane among those of a pair: each communicator has one
// of its own for operations, and all share the one of control, which is the last.
func laneIndex(l wire.Lane, comm uint8) int {
	if l == wire.LaneControl {
		return maxLanes - 1
	}
	return int(comm)
}

const maxLanes = 256 + 1

// outLane is the sending end of a lane.
type outLane struct {
	lane   wire.Lane
	comm   uint8
	queue  frames
	begun  bool   // the head of the first frame is sent
	offset int    // bytes of its body that are
	cut    bool   // the receiver is to be told that a frame does not come whole
	sent   uint32 // bytes, modulo 2^32
	taken  uint32 // of those, by the receiver's sink
	listed bool   // it is among the pair's ready lanes
}

// idle reports whether everything is sent.
func (o *outLane) idle() bool { return o.queue.n == 0 && !o.cut }

// room returns how many bytes the receiver still keeps.
func (o *outLane) room() int { return laneWindow - int(o.sent-o.taken) }

// need returns how many bytes there must be room for, so that what is next is sent.
func (o *outLane) need() int {
	if o.cut {
		return recordLen
	}
	return recordLen + min(len(o.queue.first().Body)-o.offset, leastPiece)
}

// stuck reports whether the lane has to wait for its receiver.
func (o *outLane) stuck() bool { return o.room() < o.need() }

// fill writes records of what is next into b, and returns how many bytes of it they take.
func (o *outLane) fill(b []byte, stats *wire.Stats) (n int) {
	for !o.idle() && !o.stuck() && o.need() <= len(b)-n {
		if o.cut {
			o.cut = false
			n += o.write(b[n:], &wire.Header{Kind: kindCut, Lane: o.lane, Comm: o.comm}, nil)
			continue
		}
		f := o.queue.first()
		piece := f.Body[o.offset:]
		piece = piece[:min(len(piece), len(b)-n-recordLen, o.room()-recordLen)]
		n += o.writeFrame(b[n:], f, piece)
		if o.offset == len(f.Body) {
			stats.PutFrames++
			stats.PutBytes += uint64(len(f.Body))
			o.offset, o.begun = 0, false
			o.queue.pop()
		}
	}
	return n
}

// writeFrame writes a piece of f, with its head if that has not gone before.
func (o *outLane) writeFrame(b []byte, f *wire.Frame, piece []byte) int {
	h := wire.Header{Kind: kindMore, Lane: o.lane, Comm: o.comm}
	if !o.begun {
		h = f.Header
		h.Len = len(f.Body)
	}
	o.begun = true
	o.offset += len(piece)
	return o.write(b, &h, piece)
}

func (o *outLane) write(b []byte, h *wire.Header, piece []byte) int {
	encodeRecord(b, h, len(piece))
	copy(b[recordLen:], piece)
	n := recordLen + len(piece)
	o.sent += uint32(n)
	return n
}

// abandon forgets what is queued.
func (o *outLane) abandon() {
	if o.begun {
		o.cut = true
	}
	o.begun, o.offset = false, 0
	o.queue.clear()
}

// forget gives back memory that holds nothing.
func (o *outLane) forget() {
	if o.queue.n == 0 {
		o.queue = frames{}
	}
}

// unwritten returns how many bytes are not sent, and 1 for each frame.
func (o *outLane) unwritten() (n int) {
	if o.cut {
		n = 1
	}
	for i := range o.queue.n {
		n += 1 + len(o.queue.list[(o.queue.head+i)&(len(o.queue.list)-1)].Body)
	}
	return n - o.offset
}

// inLane is the receiving end of a lane.
type inLane struct {
	lane wire.Lane
	comm uint8
	head wire.Header // of the frame that comes, or is held
	open bool        // a part of it has been taken
	drop bool        // the rest is of no use to the sink
	done int         // bytes of its body that have been taken

	stash []byte // records that the sink has held, and those behind them
	at    int    // of these bytes, that it has taken

	taken uint32 // bytes that the sink has taken, modulo 2^32
	told  uint32 // of those, that the sender knows of
	owing bool   // it is among those of which the sender is to be told
}

// forget gives back memory that holds nothing.
func (l *inLane) forget() {
	if !l.held() {
		l.stash, l.at = nil, 0
	}
}

// held reports whether records wait for the sink.
func (l *inLane) held() bool { return l.at < len(l.stash) }

// take offers a record to the sink; false means that it holds it back.
func (l *inLane) take(r *record, piece []byte, s wire.Sink, stats *wire.Stats) (bool, error) {
	if err := l.begin(r); err != nil {
		return false, err
	}
	if r.Kind == kindCut {
		l.open = false
		l.taken += recordLen
		return true, nil
	}
	var dst []byte
	if !l.drop {
		var v wire.Verdict
		if dst, v = s.Body(&l.head); v == wire.Hold {
			return false, nil
		}
		l.drop = v == wire.Drop || len(dst) != l.head.Len
	}
	l.open = true
	if !l.drop {
		copy(dst[l.done:], piece)
	}
	l.done += len(piece)
	l.taken += uint32(recordLen + len(piece))
	if l.done == l.head.Len {
		l.open = false
		if !l.drop {
			stats.GotFrames++
			stats.GotBytes += uint64(l.done)
			s.Arrived(&l.head, dst)
		}
	}
	return true, nil
}

// begin checks that r may follow what has come before, and begins a frame.
func (l *inLane) begin(r *record) error {
	switch {
	case r.Kind == kindMore || r.Kind == kindCut:
		if !l.open {
			return fmt.Errorf("%w: kind %d outside of a frame", errNoMessage, r.Kind)
		}
	case l.open:
		return fmt.Errorf("%w: a frame within another", errNoMessage)
	default:
		l.head, l.done, l.drop = r.Header, 0, false
	}
	if r.piece > l.head.Len-l.done {
		return fmt.Errorf("%w: %d bytes at %d of %d", errNoMessage, r.piece, l.done, l.head.Len)
	}
	if r.piece == 0 && l.done < l.head.Len && r.Kind != kindCut {
		return fmt.Errorf("%w: no bytes of a body of %d", errNoMessage, l.head.Len)
	}
	return nil
}

// keep puts a whole record behind those that wait.
func (l *inLane) keep(raw []byte) error {
	if len(l.stash)-l.at+len(raw) > laneWindow {
		return fmt.Errorf("%w: more of a lane than was allowed", errNoMessage)
	}
	if l.at > 0 && len(l.stash)+len(raw) > cap(l.stash) {
		l.stash = l.stash[:copy(l.stash, l.stash[l.at:])]
		l.at = 0
	}
	l.stash = append(l.stash, raw...)
	return nil
}

// offer offers what waits to the sink again, and reports whether it has taken some.
func (l *inLane) offer(from int, s wire.Sink, stats *wire.Stats) (moved bool, err error) {
	var r record
	for l.held() {
		rest, err := decodeRecord(l.stash[l.at:], &r)
		if err != nil {
			return moved, err
		}
		r.From = from
		took, err := l.take(&r, rest[:r.piece], s, stats)
		if err != nil || !took {
			return moved, err
		}
		moved = true
		l.at += recordLen + r.piece
	}
	l.stash, l.at = l.stash[:0], 0
	return moved, nil
}

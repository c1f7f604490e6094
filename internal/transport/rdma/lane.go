package rdma

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// laneWindow is the greatest number of bytes of a lane, including headers of records, that a rank
// stores for its sink.
const laneWindow = 64 << 10

// leastPiece is the least length of a piece of a body, except the last piece.
const leastPiece = 512

// laneIndex returns the index of a lane in a pair. Each communicator has a lane of its own for
// operations. All communicators share the control lane, which is the last.
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
	begun  bool   // the header of the first frame has been sent
	offset int    // bytes of its body that have been sent
	cut    bool   // the receiver must be told that a frame will not be completed
	sent   uint32 // bytes sent, modulo 2^32
	taken  uint32 // bytes of sent that the receiver's sink has taken
	listed bool   // the lane is in the pair's ready list
}

// idle reports whether everything is sent.
func (o *outLane) idle() bool { return o.queue.n == 0 && !o.cut }

// room returns how many more bytes the receiver can store.
func (o *outLane) room() int { return laneWindow - int(o.sent-o.taken) }

// need returns how many bytes of room the next record needs.
func (o *outLane) need() int {
	if o.cut {
		return recordLen
	}
	return recordLen + min(len(o.queue.first().Body)-o.offset, leastPiece)
}

// stuck reports whether the lane has to wait for its receiver.
func (o *outLane) stuck() bool { return o.room() < o.need() }

// fill writes the next records into b, and returns their length in bytes.
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

// writeFrame writes a piece of f, with the header if it has not been written before.
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

// abandon discards queued frames.
func (o *outLane) abandon() {
	if o.begun {
		o.cut = true
	}
	o.begun, o.offset = false, 0
	o.queue.clear()
}

// forget frees memory that holds nothing.
func (o *outLane) forget() {
	if o.queue.n == 0 {
		o.queue = frames{}
	}
}

// unwritten returns the number of unsent bytes, plus 1 for each frame.
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
	head wire.Header // of the frame that is arriving, or is held
	open bool        // a part of the frame has been taken
	drop bool        // the sink does not need the rest
	done int         // bytes of the body that have been taken

	stash []byte // held records, and the records after them
	at    int    // bytes of stash that the sink has taken

	taken uint32 // bytes that the sink has taken, modulo 2^32
	told  uint32 // bytes of taken that the sender knows of
	owing bool   // the lane is in the pair's owes list
}

// forget frees memory that holds nothing.
func (l *inLane) forget() {
	if !l.held() {
		l.stash, l.at = nil, 0
	}
}

// held reports whether records wait for the sink.
func (l *inLane) held() bool { return l.at < len(l.stash) }

// take offers a record to the sink. It returns false if the sink holds it.
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

// begin checks that r may follow the previous record, and begins a frame.
func (l *inLane) begin(r *record) error {
	switch {
	case r.Kind == kindMore || r.Kind == kindCut:
		if !l.open {
			return fmt.Errorf("%w: kind %d outside of a frame", errNoMessage, r.Kind)
		}
	case l.open:
		return fmt.Errorf("%w: a frame begins within another", errNoMessage)
	default:
		l.head, l.done, l.drop = r.Header, 0, false
	}
	if r.piece > l.head.Len-l.done {
		return fmt.Errorf("%w: a piece of %d bytes at byte %d of a body of %d", errNoMessage, r.piece, l.done, l.head.Len)
	}
	if r.piece == 0 && l.done < l.head.Len && r.Kind != kindCut {
		return fmt.Errorf("%w: an empty piece of a body of %d bytes", errNoMessage, l.head.Len)
	}
	return nil
}

// keep adds a whole record to the waiting records.
func (l *inLane) keep(raw []byte) error {
	if len(l.stash)-l.at+len(raw) > laneWindow {
		return fmt.Errorf("%w: it sends more in a lane than was allowed", errNoMessage)
	}
	if l.at > 0 && len(l.stash)+len(raw) > cap(l.stash) {
		l.stash = l.stash[:copy(l.stash, l.stash[l.at:])]
		l.at = 0
	}
	l.stash = append(l.stash, raw...)
	return nil
}

// offer offers the waiting records to the sink again, and reports whether it has taken some.
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

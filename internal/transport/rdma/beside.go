package rdma

import "github.com/schedgen/schedgen/runtime/wire"

// Frames about the communicator, as opposed to an operation or a message, go over TCP to ranks
// without a queue pair. So a goodbye to ranks to which nothing was put, or an agreement among all
// ranks, creates no queue pairs. There may be no time left to create any. The lane keeps its order:
// notes use the same lane of TCP, and a rank sends its first message by the queue pair only after
// the other rank has answered such a note, and so has received everything that was sent before over
// TCP.

// beside reports whether frames of kind k on LaneControl go over TCP if no queue pair has been
// requested.
func beside(k wire.FrameKind) bool {
	switch k {
	case wire.FrameProbe, wire.FrameAbort, wire.FrameLeave, wire.FrameWatch, wire.FrameAlive, wire.FrameAgree, wire.FrameClash, wire.FrameDispute:
		return true
	}
	return false
}

// putBeside puts f to a rank over TCP.
func (t *Transport) putBeside(to int, f *wire.Frame) {
	t.stats.PutFrames++
	t.stats.PutBytes += uint64(len(f.Body))
	t.speak(to, f)
}

// speak puts f to a rank over TCP, and makes the next Poll serve TCP.
func (t *Transport) speak(to int, f *wire.Frame) {
	t.way.puts.Put(to, f)
	t.way.polls = servePolls
	t.park.pending.Store(true)
}

// pass passes a frame that was put over TCP to the sink.
func (w *way) pass(h *wire.Header, body []byte) {
	w.t.stats.GotFrames++
	w.t.stats.GotBytes += uint64(h.Len)
	w.sink.Arrived(h, body)
}

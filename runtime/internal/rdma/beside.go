package rdma

import "github.com/schedgen/schedgen/runtime/wire"

// What a rank says of the communicator, and not of an operation or a message, goes over TCP to those that
// it is not connected with: a goodbye to ranks that it has put nothing to, or an agreement among all,
// makes no queue pairs, for which there may be no time any more. The lane stays in order. Notes take the same
// lane of TCP, and a rank's first message goes by the queue pair when the other has answered
// such a note: so the other has taken all that came before it over TCP.

// beside reports whether frames of kind k, on LaneControl, go over TCP where no queue pair has been
// asked for.
func beside(k wire.FrameKind) bool {
	switch k {
	case wire.FrameProbe, wire.FrameAbort, wire.FrameLeave, wire.FrameWatch, wire.FrameAlive, wire.FrameAgree, wire.FramePassed, wire.FrameClash, wire.FrameDispute:
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

// speak puts f to a rank over TCP, where the next Poll looks.
func (t *Transport) speak(to int, f *wire.Frame) {
	t.way.puts.Put(to, f)
	t.way.polls = servePolls
	t.park.pending.Store(true)
}

// pass hands what was put beside to the sink.
func (w *way) pass(h *wire.Header, body []byte) {
	w.t.stats.GotFrames++
	w.t.stats.GotBytes += uint64(h.Len)
	w.sink.Arrived(h, body)
}

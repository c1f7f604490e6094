package core

// sender is this rank as an origin. It holds a window of messages that have not been consumed
// everywhere. It uses a parcel's memory again when its message has left the window, because then
// all children have the message.
type sender struct {
	origin  *origin
	bytes   uint64   // bytes of all messages so far
	before  []uint64 // message, modulo the window -> bytes of all messages before it
	parcels []parcel
}

func (s *sender) init(o *origin, window int) {
	s.origin = o
	s.before = make([]uint64, window)
	s.parcels = make([]parcel, window)
}

// hasRoom reports whether another message may be sent.
func (rl *rootless) hasRoom() bool {
	s := &rl.own
	next := s.origin.next
	done := s.origin.credited(next)
	if done == next {
		return true
	}
	window := uint64(len(s.before))
	return next-done < window && s.bytes-s.before[done%window] < uint64(rl.PublishBytes)
}

// publish sends msg, for which there must be room. If msg cannot reach all ranks, the core fails.
func (rl *rootless) publish(msg []byte) {
	s := &rl.own
	seq := s.origin.next
	i := seq % uint64(len(s.parcels))
	p := &s.parcels[i]
	p.data = append(p.data[:0], msg...)
	s.before[i] = s.bytes
	s.bytes += uint64(len(msg))
	s.origin.next++
	rl.published++
	rl.forward(s.origin, rl.Rank, seq, p)
}

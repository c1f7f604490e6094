package simnet

import "math"

// longFrames is the least number of bytes in a lane for which the lane waits for its turn, as in
// runtime/tcp.
const longFrames = 4 << 10

// turn returns how many bytes a lane may pass to the system. For long frames this is the difference
// between Net.Turn and the bytes under way to other hosts or, if the lane is the only one, the
// bytes with the system. (runtime/tcp has more bytes with the system where lines are long.)
func (l *lane) turn(w *world) int {
	if w.net.Turn == 0 || w.hostOf[l.from] == w.hostOf[l.to] || !l.long() {
		return math.MaxInt
	}
	others := 0
	for _, o := range w.procs[l.from].out {
		if o != nil && o != l && !o.dead && w.hostOf[o.to] != w.hostOf[l.from] {
			others += o.fly
		}
	}
	mine := l.fly
	if others == 0 {
		mine = l.unacked
	}
	if left := w.net.Turn - others - mine; left >= longFrames {
		return left
	}
	return 0
}

// long reports whether the frames that wait in a lane are long.
func (l *lane) long() bool {
	n := 0
	for i := 0; i < l.queue.Len() && n < longFrames; i++ {
		o := l.queue.At(i)
		n += len(o.frame.Body) - o.done + frameHead
	}
	return n >= longFrames
}

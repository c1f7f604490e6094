package core

import "github.com/schedgen/schedgen/runtime/wire"

// watch finds a rank that has fallen silent and that no connection tells of: its
// process is stopped, its host has vanished, or the network is cut. Every rank watches
// the next one that has not gone, so that each is watched by one, and asks it for a sign of
// life. It does so while an operation of it does not move, while its process waits
// for messages, and while it is asked itself: so one rank that waits has all of them
// watched, each by one frame an interval. While all goes well nobody asks.
type watch struct {
	*env
	fate    *failure
	members *membership

	wanted bool   // since the last tick something has asked for it
	on     bool   // this rank watches
	until  Time   // when it stops, unless it is asked for again
	target int    // whom it watches
	heard  bool   // the target has been heard of since the last tick
	took   uint64 // how much of what was put to it had left at the last tick: a slow link is not silence
	last   Time   // when there was a sign of life
	ask    Time   // when it is asked for one
	looked Time   // when tick last looked
}

// The interval of questions: so many to a silence, but no longer than maxInterval.
const (
	questions   = 8
	maxInterval = Time(2e9)
	stays       = 3 // intervals for which a rank watches after it was last asked to
)

func (w *watch) interval() Time { return max(1, min(w.Silence/questions, maxInterval)) }

// want has this rank watch for a while.
func (w *watch) want() { w.wanted = w.Silence > 0 && w.Size > 1 }

// hear notes a frame of rank.
func (w *watch) hear(rank int) {
	if w.on && rank == w.target {
		w.heard = true
	}
}

// asked answers a rank that asks for a sign of life.
func (w *watch) asked(from int) {
	w.want()
	w.control(from, wire.FrameAlive, 0, 0, 0)
}

// askedLoosely does so for a rank that asks by datagram.
func (w *watch) askedLoosely(from int) {
	w.want()
	w.sayLoosely(from, wire.FrameAlive)
}

// sayLoosely sends a frame of the watch as a datagram: where much is lost, a put that is may be sent
// again after half a minute only.
func (w *watch) sayLoosely(to int, k wire.FrameKind) {
	w.queued = true
	w.net.Datagram(to, w.fillControl(k, 0, 0, 0))
}

// active reports whether time matters here.
func (w *watch) active() bool { return w.wanted || w.on }

// due returns when tick has something to do next.
func (w *watch) due() Time {
	if w.on {
		return min(w.ask, w.until)
	}
	if _, some := w.next(); w.wanted && some {
		return 1
	}
	return never
}

// tick asks the target for a sign of life, and declares it lost when there was none for too
// long.
func (w *watch) tick(now Time) {
	if w.wanted {
		w.wanted, w.until = false, now+stays*w.interval()
	}
	target, some := w.next()
	if now >= w.until || !some {
		w.on = false
		return
	}
	if !w.on || target != w.target {
		w.on, w.target, w.heard, w.took = true, target, false, w.taken(target)
		w.last, w.ask, w.looked = now, now, now
	}
	if gap := now - w.looked; gap > 2*w.interval() {
		w.last += gap // this rank itself was stopped: what has come meanwhile has not been taken
	}
	w.looked = now
	if took := w.taken(target); w.heard || took != w.took {
		w.heard, w.took, w.last = false, took, now
	}
	if now-w.last >= w.Silence {
		w.on = false
		w.fate.silent(target, w.Silence)
		return
	}
	if now >= w.ask {
		w.ask = now + w.interval()
		w.control(target, wire.FrameWatch, 0, 0, 0)
		if w.Caps.Direct && now-w.last >= w.interval() { // what was put may have been lost, and be sent again late
			w.sayLoosely(target, wire.FrameWatch)
		}
	}
}

// next returns the nearest rank after this one that has not gone, of those that say goodbye
// to this one: see probe.
func (w *watch) next() (rank int, some bool) {
	for distance := 1; distance < w.Size; distance = farther(distance) {
		if rank = (w.Rank + distance) % w.Size; !w.members.gone(rank) {
			return rank, true
		}
	}
	return 0, false
}

func (w *watch) taken(to int) uint64 {
	if t, ok := w.net.(wire.Taker); ok {
		return t.Taken(to)
	}
	return 0
}

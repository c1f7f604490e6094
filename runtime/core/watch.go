package core

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// watch finds silent ranks that no connection reports: the process is stopped, the host has
// vanished, or the network is cut. Every rank watches the next rank that has not gone, so that each
// rank is watched by one. It asks that rank for signs of life while one of its own operations does
// not move, while its process waits for messages, and while it is asked itself. So one waiting rank
// makes all ranks watched, each by one frame an interval. While all goes well no rank asks.
//
// Ranks may fall silent together, and then no rank watches the one behind a silent one. So a rank
// whose targets do not answer asks twice as many, up to the next one that answers. Silence is
// counted for each of them, so all are lost at about the same time.
//
// Among more than 17 ranks this is not enough: the ranks that would watch a silent one may all have
// left, which not all ranks hear. So a rank whose operation has not moved for a silence also asks
// the ranks that it waits for, a few at a time. None of them can have left in good order, since it
// would have put what this rank lacks first.
type watch struct {
	*env
	fate    *failure
	members *membership
	agree   *agreement
	ops     *operations

	wanted  bool     // a watch has been requested since the last tick
	on      bool     // this rank watches
	until   Time     // when it stops, unless it is requested again
	targets []target // watched ranks, the nearest first: all but the last are late with their answers
	ask     Time     // when to ask them next
	looked  Time     // when tick last looked

	awaited []target // other watched ranks, which operations wait for
	next    int      // where the search for more of them goes on
	askers  []int    // ranks that have asked this one and would not get its goodbye otherwise
}

// target is a watched rank.
type target struct {
	rank  int
	heard bool   // a frame has arrived since the last tick
	took  uint64 // how much of the puts to it had left at the last tick: a slow link is not silence
	last  Time   // last sign of life
	alive bool   // there was a sign of life while it was watched
}

// maxAwaited is how many ranks that operations wait for are asked at once. maxLooked is how many
// ranks are checked at once for whether operations wait for them.
const (
	maxAwaited = 16
	maxLooked  = 64
)

// The interval between questions is the silence divided by questions, at most maxInterval.
const (
	questions   = 8
	maxInterval = Time(2e9)
	stays       = 3 // intervals for which a rank goes on watching after the last request
)

func (w *watch) interval() Time { return max(1, min(w.Silence/questions, maxInterval)) }

// want makes this rank watch for a while.
func (w *watch) want() { w.wanted = w.Silence > 0 && w.Size > 1 }

// hear records a frame of rank.
func (w *watch) hear(rank int) {
	if !w.on {
		return
	}
	for t := range w.all {
		if t.rank == rank {
			t.heard = true
		}
	}
}

// all yields the watched ranks.
func (w *watch) all(yield func(*target) bool) {
	for _, list := range [...][]target{w.targets, w.awaited} {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// watches reports whether rank is watched.
func (w *watch) watches(rank int) bool {
	for t := range w.all {
		if t.rank == rank {
			return true
		}
	}
	return false
}

// asked answers a rank that asks for a sign of life.
func (w *watch) asked(from int) {
	w.want()
	if !mayAsk((w.Rank-from+w.Size)%w.Size) && !w.agree.active() && !slices.Contains(w.askers, from) {
		w.askers = append(w.askers, from)
	}
	w.control(from, wire.FrameAlive, 0, 0, 0)
}

// askedLoosely does so for a rank that asks by datagram.
func (w *watch) askedLoosely(from int) {
	w.want()
	w.sayLoosely(from, wire.FrameAlive)
}

// sayLoosely sends a frame of the watch as a datagram: where much is lost, TCP may send a lost put
// again only after half a minute.
func (w *watch) sayLoosely(to int, k wire.FrameKind) {
	w.queued = true
	w.net.Datagram(to, w.fillControl(k, 0, 0, 0))
}

// active reports whether the watch depends on time.
func (w *watch) active() bool { return w.wanted || w.on }

// due returns when tick next has something to do.
func (w *watch) due() Time {
	if w.on {
		return min(w.ask, w.until)
	}
	if w.wanted && w.some() {
		return 1
	}
	return never
}

// tick asks the targets for signs of life, and declares targets lost that gave none for too long.
// It reports whether it has.
func (w *watch) tick(now Time) (lost bool) {
	if w.wanted {
		w.wanted, w.until = false, now+stays*w.interval()
	}
	if now >= w.until {
		w.on, w.targets, w.awaited = false, w.targets[:0], w.awaited[:0]
		return false
	}
	if !w.on {
		w.on, w.targets, w.awaited, w.ask, w.looked = true, w.targets[:0], w.awaited[:0], now, now
	}
	gap := now - w.looked
	if gap <= 2*w.interval() {
		gap = 0
	}
	w.looked = now
	for t := range w.all {
		t.last += gap // this rank itself was stopped, and has not taken what arrived meanwhile
		if took := w.taken(t.rank); t.heard || took != t.took {
			t.heard, t.took, t.last, t.alive = false, took, now, true
		}
	}
	for t := range w.all {
		if now-t.last >= w.Silence && !w.members.gone(t.rank) {
			w.fate.silent(t.rank, w.Silence)
			lost = true
		}
	}
	if lost || len(w.targets) == 0 || w.members.gone(w.targets[0].rank) || now >= w.ask {
		w.aim(now)
	}
	if len(w.targets) == 0 && w.allNear() {
		w.on = false
		return lost
	}
	if now >= w.ask {
		w.ask = now + w.interval()
		w.await(now)
		for t := range w.all {
			w.question(t, now)
		}
	}
	return lost
}

// aim chooses the targets anew: ranks that have not gone, the nearest first, up to one that has
// lately given a sign of life. While there is none, it doubles their number.
func (w *watch) aim(now Time) {
	before := w.targets
	late := func(t target) bool { return now-t.last >= w.interval() }
	room := 0
	for _, t := range before {
		if late(t) && !w.members.gone(t.rank) {
			room++
		}
	}
	room = max(1, room)
	w.targets = nil
	for distance := 1; distance < w.Size; distance = w.farther(distance) {
		rank := (w.Rank + distance) % w.Size
		if w.members.gone(rank) {
			continue
		}
		if i := slices.IndexFunc(before, func(t target) bool { return t.rank == rank }); i >= 0 {
			if w.targets = append(w.targets, before[i]); !late(before[i]) {
				return
			}
		} else if room > 0 {
			room--
			w.targets = append(w.targets, target{rank: rank, took: w.taken(rank), last: now})
			w.ask = now
		}
	}
}

// await chooses ranks that operations wait for, if these have waited for long. A rank that has
// answered makes room for others.
func (w *watch) await(now Time) {
	if w.allNear() || w.fate.err != nil || !w.ops.stuck(now) {
		w.awaited = w.awaited[:0]
		return
	}
	w.awaited = slices.DeleteFunc(w.awaited, func(t target) bool { return t.alive || w.members.gone(t.rank) })
	for n := min(w.Size, maxLooked); n > 0 && len(w.awaited) < maxAwaited && w.fate.err == nil; n-- {
		rank := w.next
		w.next = (w.next + 1) % w.Size
		if rank == w.Rank || w.watches(rank) {
			continue
		}
		a := w.members.of(rank)
		switch o, how := w.ops.awaits(rank); {
		case how == waitsNot:
		case a == nil:
			w.awaited = append(w.awaited, target{rank: rank, took: w.taken(rank), last: now})
		case a.state == hasLeft && a.last == unknown && how == waitsMust:
			w.ops.forsaken(o, rank)
		}
	}
}

// question asks a target for a sign of life.
func (w *watch) question(t *target, now Time) {
	w.control(t.rank, wire.FrameWatch, 0, 0, 0)
	if w.Caps.Direct && now-t.last >= w.interval() { // the put may have been lost, and be sent again late
		w.sayLoosely(t.rank, wire.FrameWatch)
	}
}

// farther returns the next distance at which this rank may watch another. Usually those are the
// ranks that say goodbye to this one (see mayAsk). During an agreement every rank counts: the
// agreement waits for each of them, and a rank that has left says so when it is asked.
func (w *watch) farther(distance int) int {
	if w.agree.active() {
		return distance + 1
	}
	return farther(distance)
}

// some reports whether there is a rank to watch, or may be.
func (w *watch) some() bool {
	if !w.allNear() {
		return true
	}
	for distance := 1; distance < w.Size; distance = w.farther(distance) {
		if !w.members.gone((w.Rank + distance) % w.Size) {
			return true
		}
	}
	return false
}

func (w *watch) taken(to int) uint64 {
	if t, ok := w.net.(wire.Taker); ok {
		return t.Taken(to)
	}
	return 0
}

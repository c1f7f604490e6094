package presence

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Watch finds silent ranks that no connection reports: the process is stopped, the host has
// vanished, or the network is cut. Every rank watches the next rank that has not gone, so that one
// rank watches each. It asks that rank for signs of life while one of its own operations does not
// move, while its process waits for messages, and while it is asked itself. So all ranks are
// watched if one waits, with one frame an interval for each. While all goes well no rank asks.
//
// Ranks may fall silent together, and then no rank watches the rank behind a silent rank. So a rank
// whose targets do not answer asks twice as many, up to the next rank that answers. Silence is
// counted for each target, so all silent targets are lost at about the same time.
//
// Among more than 17 ranks this is not enough: the ranks that would watch a silent rank may all
// have left, and not all ranks hear that. So a rank whose operation has not moved for a silence
// also asks the ranks that it waits for, a few at a time. No such rank can have left in good order,
// since it would first have put what this rank lacks.
type Watch struct {
	cfg WatchConfig

	wanted  bool        // a watch has been requested since the last tick
	on      bool        // this rank watches
	until   moment.Time // when it stops, unless it is requested again
	targets []target    // watched ranks, the nearest first: all but the last are late with their answers
	ask     moment.Time // when to ask them next
	looked  moment.Time // when Tick last looked

	awaited []target // other watched ranks, which operations wait for
	next    int      // where the search for more awaited ranks goes on
	askers  []int    // ranks that have asked this rank and would not get its goodbye otherwise
}

// WatchConfig is the configuration of a Watch.
type WatchConfig struct {
	Rank, Size int
	Silence    moment.Time // after this time without a sign of life a watched rank is lost; 0: no rank is watched
	Datagrams  bool        // questions can go by datagram too
}

// target is a watched rank.
type target struct {
	rank  int
	heard bool        // it has been heard since the last tick
	took  uint64      // how much of the puts to it had left at the last tick: a slow link is not silence
	last  moment.Time // last sign of life
	alive bool        // there was a sign of life while it was watched
}

// Facts are what the rest of a core knows, at the time of a step of a Watch.
type Facts interface {
	// Taken returns a number that grows when rank takes more of what has been put to it.
	Taken(rank int) uint64
	// Agreeing reports whether this rank waits for others to agree.
	Agreeing() bool
	// Stuck reports whether this rank is inside an operation that has not moved for a silence.
	Stuck(now moment.Time) bool
	// Awaits returns how the open operations wait for rank. It may be slow.
	Awaits(rank int) Wait
}

// Wait says how operations wait for a rank.
type Wait uint8

// The ways to wait for a rank.
const (
	WaitsNot     Wait = iota
	WaitsLoosely      // the rank puts something by a repair or an answer, or must take something
	WaitsMust         // the rank puts something before it leaves the operation
)

// Findings are what a tick has found, in the order in which a core acts on it.
type Findings struct {
	Silent    []int      // watched ranks that have been silent for too long
	LeftEarly bool       // rank LeftRank has left, and an operation waits for its missing put
	LeftRank  int        // if LeftEarly
	Questions []Question // to ask for signs of life
}

// Question asks a rank for a sign of life.
type Question struct {
	Rank    int
	Loosely bool // ask by datagram too: the put may have been lost, and be sent again late
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
	maxInterval = moment.Time(2e9)
	stays       = 3 // intervals for which a rank goes on watching after the last request
)

// NewWatch returns a watch that watches no rank yet.
func NewWatch(cfg WatchConfig) Watch { return Watch{cfg: cfg} }

func (w *Watch) interval() moment.Time { return max(1, min(w.cfg.Silence/questions, maxInterval)) }

// Patience returns the time within which the next silent rank is found, counted from the last
// silent rank, even if the watch begins only now. It returns 0 if no rank is watched.
func (w *Watch) Patience() moment.Time {
	if w.cfg.Silence == 0 {
		return 0
	}
	return w.cfg.Silence + stays*w.interval()
}

// Want makes this rank watch for a while.
func (w *Watch) Want() { w.wanted = w.cfg.Silence > 0 && w.cfg.Size > 1 }

// Hear records a sign of life of rank.
func (w *Watch) Hear(rank int) {
	if w.on {
		w.heard(rank)
	}
}

func (w *Watch) heard(rank int) {
	for t := range w.all {
		if t.rank == rank {
			t.heard = true
		}
	}
}

// all yields the watched ranks.
func (w *Watch) all(yield func(*target) bool) {
	for _, list := range [...][]target{w.targets, w.awaited} {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// watches reports whether rank is watched.
func (w *Watch) watches(rank int) bool {
	for t := range w.all {
		if t.rank == rank {
			return true
		}
	}
	return false
}

// Asked records that a rank has asked this rank, by put, for a sign of life. agreeing is as in
// Facts.
func (w *Watch) Asked(from int, agreeing bool) {
	w.Want()
	if !Near((w.cfg.Rank-from+w.cfg.Size)%w.cfg.Size) && !agreeing && !slices.Contains(w.askers, from) {
		w.askers = append(w.askers, from)
	}
}

// Askers returns ranks that have asked this rank and are not near it. They wait for its goodbye.
func (w *Watch) Askers() []int { return w.askers }

// Active reports whether the watch depends on time.
func (w *Watch) Active() bool { return w.wanted || w.on }

// Nearest returns the nearest watched rank, and when it last gave a sign of life. ok is false if no
// rank is watched.
func (w *Watch) Nearest() (rank int, last moment.Time, ok bool) {
	if w.on {
		for t := range w.all {
			return t.rank, t.last, true
		}
	}
	return 0, 0, false
}

// Targets returns the watched ranks, the nearest first, without the ranks that operations wait for.
// The last one is the next rank that gives signs of life, if there is one.
func (w *Watch) Targets() []int {
	var ranks []int
	for _, t := range w.targets {
		ranks = append(ranks, t.rank)
	}
	return ranks
}

// Timers visits the moments at which Tick next has something to do, as of the last Tick.
func (w *Watch) Timers(visit func(due *moment.Time)) {
	if w.on {
		visit(&w.ask)
	}
	if w.Active() {
		visit(&w.until)
	}
}

// Tick looks for signs of life. The caller takes the silent ranks for lost, and asks the questions.
func (w *Watch) Tick(now moment.Time, r *Roster, f Facts) (found Findings) {
	if w.wanted {
		w.wanted, w.until = false, now+stays*w.interval()
	}
	if now >= w.until {
		w.on, w.targets, w.awaited = false, w.targets[:0], w.awaited[:0]
		return found
	}
	if !w.on {
		w.on, w.targets, w.awaited, w.ask, w.looked = true, w.targets[:0], w.awaited[:0], now, now
	}
	w.readSigns(now, f)
	for t := range w.all {
		if now-t.last >= w.cfg.Silence && !r.Gone(t.rank) {
			found.Silent = append(found.Silent, t.rank)
		}
	}
	silent := found.Silent
	gone := func(rank int) bool { return r.Gone(rank) || slices.Contains(silent, rank) }
	if len(silent) > 0 || len(w.targets) == 0 || gone(w.targets[0].rank) || now >= w.ask {
		w.aim(now, f, gone, len(silent) > 0 || f.Agreeing())
	}
	if len(w.targets) == 0 && AllNear(w.cfg.Size) {
		w.on = false
		return found
	}
	if now >= w.ask {
		w.ask = now + w.interval()
		w.await(now, r, f, &found)
		for t := range w.all {
			late := w.cfg.Datagrams && now-t.last >= w.interval()
			found.Questions = append(found.Questions, Question{t.rank, late})
		}
	}
	return found
}

// readSigns takes in the signs of life since the last tick.
func (w *Watch) readSigns(now moment.Time, f Facts) {
	gap := now - w.looked
	if gap <= 2*w.interval() {
		gap = 0
	}
	w.looked = now
	for t := range w.all {
		t.last += gap // this rank itself was stopped, and has not taken what arrived meanwhile
		if took := f.Taken(t.rank); t.heard || took != t.took {
			t.heard, t.took, t.last, t.alive = false, took, now, true
		}
	}
}

// aim chooses the targets anew: ranks that have not gone, the nearest first, up to a rank that has
// lately given a sign of life. While there is no such rank, it doubles their number, also if all
// targets have gone. So the last of n ranks finds that all others have gone in about log₂ n steps.
func (w *Watch) aim(now moment.Time, f Facts, gone func(rank int) bool, agreeing bool) {
	before := w.targets
	late := func(t target) bool { return now-t.last >= w.interval() }
	room := 0
	for _, t := range before {
		switch {
		case gone(t.rank):
			room += 2
		case late(t):
			room++ // it stays a target
		}
	}
	room = max(1, room)
	w.targets = nil
	for distance := 1; distance < w.cfg.Size; distance = farther(distance, agreeing) {
		rank := (w.cfg.Rank + distance) % w.cfg.Size
		if gone(rank) {
			continue
		}
		if i := slices.IndexFunc(before, func(t target) bool { return t.rank == rank }); i >= 0 {
			if w.targets = append(w.targets, before[i]); before[i].alive && !late(before[i]) {
				return
			}
		} else if room > 0 {
			room--
			w.targets = append(w.targets, target{rank: rank, took: f.Taken(rank), last: now})
			w.ask = now
		}
	}
}

// await chooses ranks that operations wait for, if these have waited for long. A rank that has
// answered makes room for others.
func (w *Watch) await(now moment.Time, r *Roster, f Facts, found *Findings) {
	if AllNear(w.cfg.Size) || len(found.Silent) > 0 || !f.Stuck(now) {
		w.awaited = w.awaited[:0]
		return
	}
	w.awaited = slices.DeleteFunc(w.awaited, func(t target) bool { return t.alive || r.Gone(t.rank) })
	for n := min(w.cfg.Size, maxLooked); n > 0 && len(w.awaited) < maxAwaited && !found.LeftEarly; n-- {
		rank := w.next
		w.next = (w.next + 1) % w.cfg.Size
		if rank == w.cfg.Rank || w.watches(rank) {
			continue
		}
		a := r.Of(rank)
		switch how := f.Awaits(rank); {
		case how == WaitsNot:
		case a == nil:
			w.awaited = append(w.awaited, target{rank: rank, took: f.Taken(rank), last: now})
		case a.State == Left && a.Last == Unknown && how == WaitsMust:
			found.LeftEarly, found.LeftRank = true, rank
		}
	}
}

// farther returns the next distance at which this rank may watch another. Usually it watches ranks
// that say goodbye to it (see Near). During an agreement every rank counts: the agreement waits for
// each of them, and a rank that has left says so when it is asked.
func farther(distance int, agreeing bool) int {
	if agreeing {
		return distance + 1
	}
	return Farther(distance)
}

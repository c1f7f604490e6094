package explore

import (
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// options returns the events that can happen in w. The events in will do happen unless they are
// delayed forever; those in may need not happen. Alarms are in may: if will is not empty, only
// while early alarms are left.
func (s *system) options(w *world, will, may []event) ([]event, []event) {
	will = s.arrivals(w, will)
	if !s.Full {
		if e, some := s.idle(w, will); some {
			return append(will[:0], e), may
		}
	}
	will = s.processes(w, will, true)
	if len(will) == 0 || int(w.early) < s.Early {
		may = s.rings(w, may)
	}
	return will, s.faults(w, may)
}

// arrivals appends the frames, datagrams and news that ranks can take.
func (s *system) arrivals(w *world, will []event) []event {
	for to := range s.Ranks {
		if s.local(w, to).gone() {
			continue
		}
		for from := range s.Ranks {
			for lane := range wire.Lanes {
				if l := w.lanes[s.lane(from, to, lane)]; len(l) > 0 {
					will = s.unlessHeld(w, will, newEvent(evPut, to, l[0]))
					if s.comesInParts(&s.messages[l[0]]) {
						will = s.unlessHeld(w, will, newEvent(evBegin, to, l[0]))
					}
				}
			}
			if l := w.lanes[s.lane(from, to, flagWay)]; len(l) > 0 {
				will = append(will, newEvent(evPlace, to, l[0]))
			}
		}
	}
	for rank := 0; rank < s.Ranks && len(w.flags) > 0; rank++ {
		will = s.looks(w, rank, will)
	}
	for i, g := range w.grams {
		if i == 0 || w.grams[i-1] != g {
			will = s.unlessHeld(w, will, newEvent(evDatagram, int(g>>24), g&maxOf))
		}
	}
	for i, n := range w.notes {
		if (i == 0 || w.notes[i-1] != n) && !s.waits(w, event(n)) {
			will = append(will, event(n))
		}
	}
	return will
}

// waits reports whether e has to wait. News that a rank has closed, or how it has ended, waits
// until everything from that rank is taken. If there are flags, the driver of the receiving rank
// looks for them before it takes the news.
func (s *system) waits(w *world, e event) bool {
	if len(w.flags) > 0 && len(s.looks(w, e.rank(), nil)) > 0 {
		return true
	}
	if e.kind() != evLeft {
		return false
	}
	for lane := range ways {
		if len(w.lanes[s.lane(int(e.index()), e.rank(), lane)]) > 0 {
			return true
		}
	}
	return false
}

func (s *system) unlessHeld(w *world, will []event, e event) []event {
	if s.step(w.ranks[e.rank()], e).held {
		return will
	}
	return append(will, e)
}

// isOver reports whether the rank has returned from operation seq.
func (l *local) isOver(seq uint64) bool {
	call := l.callOf(seq)
	return call >= 0 && l.over.has(call)
}

// processes appends the events by which processes make progress themselves. If eager is false, a
// process makes no call while it has one open.
func (s *system) processes(w *world, will []event, eager bool) []event {
	for rank := range s.Ranks {
		l := s.local(w, rank)
		for call := range l.begun {
			switch {
			case l.ready.has(call):
				will = append(will, newEvent(evReturn, rank, uint32(call)))
			case l.canFail && l.isOpen(call):
				will = append(will, newEvent(evFail, rank, uint32(call)))
			}
		}
		if work := newEvent(evWork, rank, 0); s.Parts && !l.gone() && !s.step(w.ranks[rank], work).idle {
			will = append(will, work)
		}
		if l.canAnswer {
			will = append(will, newEvent(evAnswer, rank, 0))
		}
		switch {
		case l.canEnter && (eager || !l.inside()):
			will = append(will, newEvent(evEnter, rank, 0))
		case l.canClose:
			will = append(will, newEvent(evClose, rank, 0))
		}
	}
	return will
}

// rings appends the alarms that would change something.
func (s *system) rings(w *world, may []event) []event {
	for rank := range s.Ranks {
		for _, a := range s.local(w, rank).alarms {
			e := newEvent(evRing, rank, ofAlarm(a))
			if a.Kind == core.AlarmSuspect && s.newsOf(w, rank, a.Index) || s.step(w.ranks[rank], e).idle {
				continue
			}
			may = append(may, e)
		}
	}
	return may
}

// newsOf reports whether news about other is under way to rank.
func (s *system) newsOf(w *world, rank, other int) bool {
	for _, n := range w.notes {
		if e := event(n); e.rank() == rank && int(e.index()) == other {
			return true
		}
	}
	return false
}

// faults appends the faults of the network and of the machines.
func (s *system) faults(w *world, may []event) []event {
	for i, g := range w.grams {
		if i > 0 && w.grams[i-1] == g {
			continue
		}
		if s.Losses == Unbounded || int(w.losses) < s.Losses {
			may = append(may, newEvent(evLose, int(g>>24), g&maxOf))
		}
		if int(w.doubles) < s.Duplicates {
			may = append(may, newEvent(evDouble, int(g>>24), g&maxOf))
		}
	}
	for rank := range s.Ranks {
		l := s.local(w, rank)
		if s.Crash && w.fault == 0 && !l.gone() {
			may = append(may, newEvent(evCrash, rank, 0))
		}
		for call := range l.begun {
			if s.Cancel && w.fault == 0 && l.canCancel.has(call) {
				may = append(may, newEvent(evCancel, rank, uint32(call)))
			}
		}
	}
	return may
}

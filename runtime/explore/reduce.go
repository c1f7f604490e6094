package explore

import (
	"maps"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// reduction is what a search leaves out: moments at which messages arrive that change nothing.
// An arrival that changes nothing at its rank is taken away before all else, and a slot that is
// put again while the same waits in its lane is not put there a second time.
//
// Both are right only if these messages change nothing later either. That is part of what is
// under test, so the search does not take it for granted. It notes what it has left out, and
// tries each such message in every state that the rank comes to after that. See mattered.
type reduction struct {
	early  map[uint64]struct{}  // arrivals that were taken before all else, each with its rank's state
	merged map[event]struct{}   // arrivals of slots that waited in their lanes already when they were put again
	kept   map[arrival]struct{} // arrivals that are not to be left out
}

// arrival is the arrival of a message at a rank, in words that two searches have in common.
type arrival struct {
	message
	to int
}

func newReduction() reduction {
	return reduction{make(map[uint64]struct{}), make(map[event]struct{}), make(map[arrival]struct{})}
}

func (s *system) arrival(e event) arrival { return arrival{s.messages[e.of()], e.rank()} }

// mayLeaveOut reports whether it is worth trying to leave out e. A datagram whose operation is
// not over may often change something later: that a multicast is heard, or has been heard before
// the operation began, has an effect on what the rank asks for.
func (s *system) mayLeaveOut(w *world, e event) bool {
	h := &s.messages[e.of()].header
	if h.Kind != wire.FrameSlot || e.kind() == evDatagram && !s.local(w, e.rank()).isOver(h.Seq) {
		return false
	}
	_, kept := s.reduction.kept[s.arrival(e)]
	return !kept
}

// idle returns an arrival of a slot that changes nothing, if there is one, and notes it.
func (s *system) idle(w *world, arrivals []event) (e event, some bool) {
	for _, e := range arrivals {
		if k := e.kind(); k != evPut && k != evDatagram || !s.mayLeaveOut(w, e) {
			continue
		}
		if at := w.ranks[e.rank()]; s.step(at, e).idle {
			s.reduction.early[stepKey(at, e)] = struct{}{}
			return e, true
		}
	}
	return 0, false
}

// merges reports whether a message that is put to a rank need not stand in its lane since the same
// waits there, and notes it.
func (s *system) merges(w *world, to int, lane []uint32, msg uint32) bool {
	e := newEvent(evPut, to, msg)
	if s.Full || !slices.Contains(lane, msg) || !s.mayLeaveOut(w, e) {
		return false
	}
	s.reduction.merged[e] = struct{}{}
	return true
}

// mattered returns the arrivals that were left out although they could have changed something.
// There are none if each changes nothing in any state that its rank can come to after the one in
// which it was taken, by whatever has happened to the rank anywhere in the search.
//
// Then every run of the whole system is one that the search has met, with arrivals that change
// nothing put in at other moments. For take the first event of a run that the search has not met.
// It is no arrival that was left out: those change nothing in any state in which the search has
// met the rank since. For any other event it makes no difference that such messages are gone: they
// only hold up what waits behind them in their lanes, and timers, which are free once nothing is
// under way. So the event was possible in the search, and the search has met it.
func (s *system) mattered() map[arrival]struct{} {
	next := make(map[uint32][]uint32) // a rank's state -> those that an event leads to from there
	after := make(map[event][]uint32) // an arrival -> states from which on it must change nothing
	for key, out := range s.outcomes {
		from, e := uint32(key>>32), event(key)
		if out.held {
			continue
		}
		if out.next != from {
			next[from] = append(next[from], out.next)
		}
		if _, merged := s.reduction.merged[e]; merged {
			after[e] = append(after[e], out.next)
		}
	}
	for key := range s.reduction.early {
		after[event(key)] = append(after[event(key)], uint32(key>>32))
	}
	found := make(map[arrival]struct{})
	for e, states := range after {
		if !s.changesNothing(e, states, next) {
			found[s.arrival(e)] = struct{}{}
		}
	}
	return found
}

// changesNothing reports whether e changes nothing in the given states of its rank and in all that
// they lead to.
func (s *system) changesNothing(e event, states []uint32, next map[uint32][]uint32) bool {
	seen := make(map[uint32]bool)
	for todo := slices.Clone(states); len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] || s.locals[at].gone() {
			continue
		}
		seen[at] = true
		if out := s.step(at, e); !out.held && (!out.idle || out.problem != "") {
			return false
		}
		todo = append(todo, next[at]...)
	}
	return true
}

// again returns the system as it is before a search, which is not to leave out what the last one
// must not have left out. After maxSearches it leaves out nothing.
func (s *system) again(mattered map[arrival]struct{}, searches int) (*system, error) {
	o := s.Options
	o.Full = searches == maxSearches
	n, err := newSystem(o)
	if err != nil {
		return nil, err
	}
	n.tamper, n.mistake = s.tamper, s.mistake
	maps.Copy(n.reduction.kept, s.reduction.kept)
	maps.Copy(n.reduction.kept, mattered)
	return n, nil
}

// maxSearches is how many searches leave something out before one is made that does not.
const maxSearches = 3

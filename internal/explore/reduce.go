package explore

import (
	"maps"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// reduction records what a search leaves out: the moments at which messages arrive that change
// nothing. An arrival that changes nothing at its rank is taken before all other events, and a slot
// that is put again while the same slot waits in its lane is not added to the lane.
//
// Both are correct only if these messages change nothing later either. The exploration tests
// exactly such properties, so the search does not assume it. It records each message that it has
// left out, and tries it in every state that the rank reaches after that. See mattered.
type reduction struct {
	early  map[uint64]struct{}  // arrivals that were taken first, each with the state of its rank
	merged map[event]struct{}   // arrivals of slots that were put again while they waited in their lanes
	kept   map[arrival]struct{} // arrivals that must not be left out
}

// arrival is the arrival of a message at a rank, in a form that is the same in two searches.
type arrival struct {
	message
	to int
}

func newReduction() reduction {
	return reduction{make(map[uint64]struct{}), make(map[event]struct{}), make(map[arrival]struct{})}
}

func (s *system) arrival(e event) arrival { return arrival{s.messages[e.index()], e.rank()} }

// mayLeaveOut reports whether it is worthwhile to try to leave out e. A datagram of an operation
// that is not over often changes something later: whether a multicast is heard, or was heard before
// the operation began, influences what the rank requests.
func (s *system) mayLeaveOut(w *world, e event) bool {
	h := &s.messages[e.index()].header
	if h.Kind != wire.FrameSlot || e.kind() == evDatagram && !s.local(w, e.rank()).isOver(h.Seq) {
		return false
	}
	_, kept := s.reduction.kept[s.arrival(e)]
	return !kept
}

// idle returns an arrival of a slot that changes nothing, if there is one, and records it.
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

// merges reports whether a message that is put to a rank need not be added to its lane because the
// same message waits there. If so, merges records the arrival.
func (s *system) merges(w *world, to int, lane []uint32, msg uint32) bool {
	e := newEvent(evPut, to, msg)
	if s.Full || !slices.Contains(lane, msg) || !s.mayLeaveOut(w, e) {
		return false
	}
	s.reduction.merged[e] = struct{}{}
	return true
}

// mattered returns the arrivals that were left out although they could have changed something. It
// returns none if each of them changes nothing in any state that its rank can reach from the state
// in which it was taken, by any event of the rank anywhere in the search.
//
// If it returns none, the search has met every run of the whole system, except that arrivals that
// change nothing happen at other moments. Proof: take the first event of a run that the search has
// not met. It is no arrival that was left out, because those change nothing in any state in which
// the search has met the rank since. For any other event it makes no difference that the left-out
// messages are absent: they only delay messages behind them in their lanes, and alarms, which are
// free once nothing is under way. So the event was possible in the search, and the search has met
// it.
func (s *system) mattered() map[arrival]struct{} {
	next := make(map[uint32][]uint32) // by state of a rank: the states to which its events lead
	after := make(map[event][]uint32) // by arrival: the states from which on it must change nothing
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

// changesNothing reports whether e changes nothing in the given states of its rank and in all
// states that they lead to.
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

// again returns a new system for another search, which does not leave out what the last search left
// out wrongly. After maxSearches, the search leaves out nothing.
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

// maxSearches is the number of searches with a reduction, before one that leaves nothing out.
const maxSearches = 3

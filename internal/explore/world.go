package explore

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// world is the state of the whole: the ranks, and what is under way between them.
type world struct {
	ranks []uint32   // the state of each rank
	lanes [][]uint32 // by sender, receiver and lane (or flagWay): messages in order
	grams []uint32   // datagrams under way: receiver and message, sorted
	notes []uint32   // news that ranks have not received yet: events, sorted
	flags []uint32   // what stands in windows: pairs of a line and a message, by line
	links uint64     // pairs of ranks with a connection, because one has put something to the other; kept only if ranks may die, or close after a failure
	fault uint8      // 1 + the rank that has died or canceled a call, or 0

	losses, doubles, early uint8 // how many there have been
}

func (s *system) initial() *world {
	w := &world{lanes: make([][]uint32, s.Ranks*s.Ranks*int(ways))}
	for rank := range s.Ranks {
		w.ranks = append(w.ranks, s.add(s.newLocal(rank)))
		for other := range rank {
			if s.hasMessages() {
				s.connect(w, rank, other)
			}
		}
	}
	return w
}

// Flags to remote windows travel on a lane of their own.
const (
	flagWay = wire.Lanes
	ways    = wire.Lanes + 1
)

func (s *system) lane(from, to int, l wire.Lane) int {
	return (from*s.Ranks+to)*int(ways) + int(l)
}

func (s *system) local(w *world, rank int) *local { return s.locals[w.ranks[rank]] }

// link is the bit of a pair of ranks.
func (s *system) link(a, b int) uint64 { return 1 << (min(a, b)*s.Ranks + max(a, b)) }

func gram(to int, msg uint32) uint32 { return uint32(to)<<24 | msg }

// copyFrom makes w a copy of src.
func (w *world) copyFrom(src *world) {
	w.ranks = append(w.ranks[:0], src.ranks...)
	if w.lanes == nil {
		w.lanes = make([][]uint32, len(src.lanes))
	}
	for i, lane := range src.lanes {
		w.lanes[i] = append(w.lanes[i][:0], lane...)
	}
	w.grams = append(w.grams[:0], src.grams...)
	w.notes = append(w.notes[:0], src.notes...)
	w.flags = append(w.flags[:0], src.flags...)
	w.links, w.fault = src.links, src.fault
	w.losses, w.doubles, w.early = src.losses, src.doubles, src.early
}

// apply applies e to w. problem is the violated property, or "". done is false if nothing has
// happened because a frame has to wait.
func (s *system) apply(w *world, e event) (problem string, done bool) {
	rank := e.rank()
	switch e.kind() {
	case evLose:
		w.grams = without(w.grams, gram(rank, e.index()))
		if s.Losses != Unbounded {
			w.losses++
		}
		return "", true
	case evDouble:
		w.grams = with(w.grams, gram(rank, e.index()))
		w.doubles++
		return "", true
	case evCrash:
		s.crash(w, rank)
		return "", true
	case evPlace:
		s.consume(w, e)
		s.raise(w, e.index())
		return "", true
	}
	out := s.step(w.ranks[rank], e)
	if out.held {
		return "", false
	}
	if out.problem != "" {
		return out.problem, true
	}
	problem = s.early(w, e)
	s.consume(w, e)
	w.ranks[rank] = out.next
	for i := range out.sent {
		s.send(w, rank, &out.sent[i])
	}
	switch l := s.locals[out.next]; {
	case e.kind() == evCancel:
		w.fault = uint8(rank + 1)
	case l.closed:
		s.part(w, rank, newEvent(evLeft, 0, uint32(rank)))
	}
	if problem == "" {
		problem = s.sound(w, rank)
	}
	return problem, true
}

// consume removes the message or the news that e has delivered.
func (s *system) consume(w *world, e event) {
	switch rank := e.rank(); e.kind() {
	case evPut:
		m := &s.messages[e.index()].header
		lane := &w.lanes[s.lane(m.From, rank, m.Lane)]
		*lane = slices.Delete(*lane, 0, 1)
	case evBegin:
		m := &s.messages[e.index()]
		w.lanes[s.lane(m.header.From, rank, m.header.Lane)][0] = s.intern(m.rest())
	case evPlace:
		way := &w.lanes[s.lane(s.messages[e.index()].header.From, rank, flagWay)]
		*way = slices.Delete(*way, 0, 1)
	case evDatagram:
		w.grams = without(w.grams, gram(rank, e.index()))
	case evLost, evUnreachable:
		// Messages that are still under way on these connections are lost.
		for lane := range ways {
			i := s.lane(int(e.index()), rank, lane)
			w.lanes[i] = w.lanes[i][:0]
		}
		w.notes = without(w.notes, uint32(e))
	case evLeft:
		w.notes = without(w.notes, uint32(e))
	}
}

// with returns a sorted list with n inserted, and without returns one with one n removed.
func with(list []uint32, n uint32) []uint32 {
	i, _ := slices.BinarySearch(list, n)
	return slices.Insert(list, i, n)
}

func without(list []uint32, n uint32) []uint32 {
	if i, found := slices.BinarySearch(list, n); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

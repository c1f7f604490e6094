package explore

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// send adds one message of a rank to w.
func (s *system) send(w *world, from int, out *send) {
	if out.flag && !s.Windows.Remote {
		s.raise(w, out.msg)
		return
	}
	if out.to == everybody {
		for to := range s.Ranks {
			if to != from && !s.local(w, to).gone() {
				w.grams = with(w.grams, gram(to, out.msg))
			}
		}
		return
	}
	to := int(out.to)
	switch gone := s.local(w, to).gone(); {
	case out.loose && !gone:
		w.grams = with(w.grams, gram(to, out.msg))
	case out.loose:
	case !gone && out.flag:
		s.put(w, from, to, flagWay, out.msg)
	case !gone:
		s.put(w, from, to, s.messages[out.msg].header.Lane, out.msg)
	case s.Crash && s.refuses(w, from, to) && w.links&s.link(from, to) == 0:
		s.connect(w, from, to)
		w.notes = with(w.notes, uint32(newEvent(evUnreachable, from, uint32(to))))
	}
}

// refuses reports whether a new connection from rank from to rank to, which is gone, fails with an
// error. It does if to is dead, or if the news that to has closed is still under way.
func (s *system) refuses(w *world, from, to int) bool {
	_, goodbye := slices.BinarySearch(w.notes, uint32(newEvent(evLeft, from, uint32(to))))
	return s.local(w, to).dead || goodbye
}

// put appends a message to a lane.
func (s *system) put(w *world, from, to int, way wire.Lane, msg uint32) {
	if lane := &w.lanes[s.lane(from, to, way)]; !s.merges(w, to, *lane, msg) {
		*lane = append(*lane, msg)
	}
	s.connect(w, from, to)
}

func (s *system) connect(w *world, a, b int) {
	if s.Crash || s.Quit {
		w.links |= s.link(a, b)
	}
}

// crash ends rank without a message. The ranks that are connected to it will notice.
func (s *system) crash(w *world, rank int) {
	l := *s.local(w, rank)
	l.dead, l.failed = true, ""
	w.ranks[rank] = s.add(&l)
	w.fault = uint8(rank + 1)
	s.part(w, rank, newEvent(evLost, 0, uint32(rank)))
}

// part empties the lanes to rank, which is gone, and adds the news for the other ranks.
func (s *system) part(w *world, rank int, note event) {
	for other := range s.Ranks {
		for lane := range ways {
			i := s.lane(other, rank, lane)
			w.lanes[i] = w.lanes[i][:0]
		}
		if other == rank || s.local(w, other).gone() {
			continue
		}
		if note.kind() == evLeft || w.links&s.link(rank, other) != 0 {
			w.notes = with(w.notes, uint32(note)|uint32(other)<<24)
		}
	}
	w.grams = slices.DeleteFunc(w.grams, func(g uint32) bool { return int(g>>24) == rank })
	w.notes = slices.DeleteFunc(w.notes, func(n uint32) bool { return event(n).rank() == rank })
}

package explore

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// send sends one message of a rank.
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

// refuses reports whether a connection from one rank to another, which has gone,
// fails and tells so: it is dead, or its goodbye is still on its way.
func (s *system) refuses(w *world, from, to int) bool {
	_, goodbye := slices.BinarySearch(w.notes, uint32(newEvent(evLeft, from, uint32(to))))
	return s.local(w, to).dead || goodbye
}

// put puts a message into its lane, or way.
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

// crash ends rank without a word. Those that are connected to it will notice.
func (s *system) crash(w *world, rank int) {
	l := *s.local(w, rank)
	l.dead, l.failed = true, ""
	w.ranks[rank] = s.add(&l)
	w.fault = uint8(rank + 1)
	s.part(w, rank, newEvent(evLost, 0, uint32(rank)))
}

// part empties the ways to rank, which has gone, and has the others be told by
// note.
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

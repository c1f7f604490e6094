package group

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/schedgen/schedgen/runtime/membership"
)

// history is the messages that a member has sent, and has received from each origin, over all
// views.
type history struct {
	window  int // messages of one origin that may be under way
	bytes   int // bytes of one origin's messages that may be under way before another message
	fresh   bool
	origins map[membership.ID]*past
}

// past is the messages of one origin.
type past struct {
	next   uint64 // number of the next message
	copies []kept // copies of the last messages before next, which may not have arrived everywhere
	spare  [][]byte
	size   int // bytes of copies
}

// kept is the copy of a message.
type kept struct {
	epoch uint32
	data  []byte
}

func newHistory(window, size int) *history {
	return &history{window: window, bytes: size, fresh: true, origins: map[membership.ID]*past{}}
}

// pastOf returns the past of origin.
func (h *history) pastOf(origin membership.ID) *past {
	p := h.origins[origin]
	if p == nil {
		p = new(past)
		h.origins[origin] = p
	}
	return p
}

// add keeps a copy of the next message of p. It drops copies that must have arrived everywhere
// before the origin could send this message.
func (h *history) add(p *past, epoch uint32, data []byte) {
	for len(p.copies) > 0 && (len(p.copies) >= h.window || p.size >= h.bytes) {
		p.drop()
	}
	var memory []byte
	if n := len(p.spare); n > 0 {
		memory, p.spare = p.spare[n-1][:0], p.spare[:n-1]
	}
	p.copies = append(p.copies, kept{epoch, append(memory, data...)})
	p.size += len(data)
	p.next++
}

// maxSpare is the greatest size in bytes of a copy whose memory is reused.
const maxSpare = 16 << 10

// drop forgets the oldest copy and reuses its memory.
func (p *past) drop() {
	oldest := p.copies[0].data
	p.size -= len(oldest)
	if cap(oldest) <= maxSpare {
		p.spare = append(p.spare, oldest)
	}
	p.copies = p.copies[:copy(p.copies, p.copies[1:])]
}

// adopt makes entries for the members of v, before any of them publishes in it, and returns them by
// rank.
func (h *history) adopt(v membership.View) (pasts []*past) {
	for _, m := range v.Members {
		pasts = append(pasts, h.pastOf(m.ID))
	}
	return pasts
}

// settle forgets all copies, and origins that are not in v. All members have the messages before
// ends, or, like a fresh member, do not want them.
func (h *history) settle(v membership.View, ends []count) {
	if h.fresh {
		for _, c := range ends {
			h.pastOf(c.origin).next = c.next
		}
	}
	maps.DeleteFunc(h.origins, func(id membership.ID, _ *past) bool { return !v.Has(id) })
	for _, p := range h.origins {
		for len(p.copies) > 0 {
			p.drop()
		}
	}
	h.fresh = false
}

// counts returns how many messages there are of each origin, in the order of their identities.
func (h *history) counts() (counts []count) {
	for id, p := range h.origins {
		counts = append(counts, count{id, p.next})
	}
	slices.SortFunc(counts, func(a, b count) int { return bytes.Compare(a.origin[:], b.origin[:]) })
	return counts
}

// since returns the messages of origin, beginning with number from.
func (h *history) since(origin membership.ID, from uint64) ([]kept, error) {
	p := h.pastOf(origin)
	first := p.next - uint64(len(p.copies))
	if from < first || from > p.next {
		return nil, fmt.Errorf("messages of %v from %d on are requested, but the history begins with %d and ends before %d", origin, from, first, p.next)
	}
	return p.copies[from-first:], nil
}

// gap is a range of messages of an origin that some members lack.
type gap struct {
	origin   membership.ID
	from, to uint64 // message numbers
	holder   int    // the rank that sends them
}

// report is a member's announcement of the messages that it has.
type report struct {
	said   bool
	fresh  bool
	counts []count
}

// gaps returns the missing messages, given the reports of all ranks, and how many messages there
// are of each origin afterwards. All members get the same result.
func gaps(reports []report) (lacks []gap, ends []count) {
	index := map[membership.ID]int{}
	var found []gap
	for rank, r := range reports {
		if r.fresh {
			continue
		}
		for _, c := range r.counts {
			i, known := index[c.origin]
			if !known {
				i = len(found)
				index[c.origin] = i
				found = append(found, gap{c.origin, c.next, c.next, rank})
			}
			g := &found[i]
			if c.next > g.to {
				g.to, g.holder = c.next, rank
			}
			g.from = min(g.from, c.next)
		}
	}
	for _, g := range found {
		ends = append(ends, count{g.origin, g.to})
		if g.from < g.to {
			lacks = append(lacks, g)
		}
	}
	return lacks, ends
}

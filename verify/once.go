package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// once counts what is put if nothing is lost, when no repair is made. Answers
// to requests are part of a repair.
var once = Check{
	Name:    "once",
	Summary: "no rank gets a chunk twice by put, and exactly once where nothing is multicast",
	applies: moves,
	prove:   proveOnce,
}

func proveOnce(sub *subject) (string, error) {
	first := make([]int32, sub.layout.Slots()) // by slot number: 1 + the rank that puts it
	if err := countPuts(sub, first); err != nil || sub.mcasts {
		return "", err
	}
	for rank := range sub.s.Programs {
		for k := range sub.s.Chunks {
			p := place(rank, ir.Chunk(k))
			if rank != sub.s.Root && first[sub.layout.Slot(rank, p.Slot)] == 0 {
				return "", fail([]int{rank}, []Place{p}, nil, "rank %d is never put %v", rank, p.Slot)
			}
		}
	}
	return "", nil
}

func countPuts(sub *subject, first []int32) error {
	for _, id := range sub.calm.Fired() {
		rank, i := sub.layout.RuleOf(int(id))
		r := &sub.s.Programs[rank].Rules[i]
		if sub.awaitsRequest(rank, r) {
			continue
		}
		for _, a := range r.Do {
			if a.Op == ir.Put && a.Slot.Kind() == ir.KindChunk {
				if err := countPut(sub, first, rank, place(int(a.To), a.Slot)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func countPut(sub *subject, first []int32, from int, p Place) error {
	id := sub.layout.Slot(p.Rank, p.Slot)
	was := int(first[id]) - 1
	switch {
	case p.Rank == sub.s.Root:
		return fail([]int{p.Rank, from}, []Place{p}, nil, "rank %d puts %v to rank %d, the root, which has it", from, p.Slot, p.Rank)
	case was == from:
		return fail([]int{p.Rank, from}, []Place{p}, nil, "rank %d puts %v to rank %d twice", from, p.Slot, p.Rank)
	case was >= 0:
		return fail([]int{p.Rank, was, from}, []Place{p}, nil, "rank %d gets %v twice: from rank %d and from rank %d", p.Rank, p.Slot, was, from)
	}
	first[id] = int32(from + 1)
	return nil
}

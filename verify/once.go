package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// once counts puts and folds for the case that nothing is lost and no repair is made. A repair, and
// the answer to a request, brings a copy that is meant as a duplicate, but it must not bring two. A
// put that yields to the multicast is made once or not at all (see recovery).
var once = Check{
	Name:    "once",
	Summary: "without losses, no rank gets by put a chunk twice, or one that it holds or folds; no repair or answer puts a chunk twice; without multicasts, each wanted chunk comes exactly once",
	scope:   &everyMessage,
	prove:   proveOnce,
}

func proveOnce(sub *subject) (string, error) {
	first := make([]int32, sub.layout.Slots()) // by slot number: 1 + the rank that puts or folds it
	if err := countPuts(sub, first); err != nil {
		return "", err
	}
	if err := countRepairs(sub); err != nil || sub.mcasts {
		return "", err
	}
	for rank := range sub.s.Programs {
		lacks := sub.lacks(rank)
		for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
			if id := sub.layout.Slot(rank, c); id < 0 || first[id] == 0 {
				return "", sub.failNeverPut(place(rank, c))
			}
		}
	}
	return "", nil
}

// failNeverPut returns the failure that a rank wants a chunk that neither a put nor a fold brings
// without repairs.
func (sub *subject) failNeverPut(p Place) error {
	text := "rank %d is never put %v"
	switch {
	case sub.may.Slot(p.Rank, p.Slot) >= 0:
		text = "rank %d never gets %v without a repair"
	case sub.s.Folds():
		text += ", and does not fold it"
	}
	return fail([]int{p.Rank}, []Place{p}, nil, text, p.Rank, p.Slot)
}

func countPuts(sub *subject, first []int32) error {
	for _, id := range sub.calm.Fired() {
		rank, i := sub.layout.RuleOf(int(id))
		do := sub.s.Programs[rank].Rules[i].Do
		for i, a := range do {
			if slot := sub.target(rank, do, i); slot >= 0 && a.Sets().Kind() == ir.KindChunk {
				if err := countPut(sub, first, rank, sub.layout.PlaceOf(slot)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// countPut records that rank from puts a chunk, or folds one of its own.
func countPut(sub *subject, first []int32, from int, p Place) error {
	id := sub.layout.Slot(p.Rank, p.Slot)
	was := int(first[id]) - 1
	switch {
	case from == p.Rank && sub.s.Holds(p.Rank, p.Slot.Index()):
		return fail([]int{from}, []Place{p}, nil, "rank %d folds %v which it has", from, p.Slot)
	case sub.s.Holds(p.Rank, p.Slot.Index()):
		who := ""
		if sub.s.Rooted() && p.Rank == sub.s.Root {
			who = ", the root,"
		}
		return fail([]int{p.Rank, from}, []Place{p}, nil, "rank %d puts %v to rank %d%s which has it", from, p.Slot, p.Rank, who)
	case was == from && from == p.Rank:
		return fail([]int{from}, []Place{p}, nil, "rank %d folds %v twice", from, p.Slot)
	case was >= 0 && (was == p.Rank || from == p.Rank):
		return fail([]int{p.Rank, was + from - p.Rank}, []Place{p}, nil, "rank %d folds %v, and rank %d puts it there", p.Rank, p.Slot, was+from-p.Rank)
	case was == from:
		return fail([]int{p.Rank, from}, []Place{p}, nil, "rank %d puts %v to rank %d twice", from, p.Slot, p.Rank)
	case was >= 0:
		return fail([]int{p.Rank, was, from}, []Place{p}, nil, "rank %d gets %v twice: from rank %d and from rank %d", p.Rank, p.Slot, was, from)
	}
	first[id] = int32(from + 1)
	return nil
}

// countRepairs examines each repair, and all answers to each request.
func countRepairs(sub *subject) error {
	seen := newStamps(sub)
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		if err == nil && r.IsRepair() {
			seen.mark(rank, nil)
			err = seen.countCopies(rank, r, "in one repair")
		}
	})
	for id := 0; id < len(sub.request) && err == nil; id++ {
		if sub.request[id] {
			seen.mark(0, nil)
			err = seen.countAnswers(id)
		}
	}
	return err
}

// countAnswers counts the copies that the given request brings.
func (st *stamps) countAnswers(request int) error {
	for _, id := range st.sub.Waiters(request) {
		rank, i := st.sub.layout.RuleOf(int(id))
		r := &st.sub.s.Programs[rank].Rules[i]
		if r.IsRepair() {
			continue // countRepairs examines it by itself
		}
		err := st.countCopies(rank, r, fmt.Sprintf("when %v asks for it", st.sub.layout.PlaceOf(request)))
		if err != nil {
			return err
		}
	}
	return nil
}

// countCopies adds the chunks that r puts to the set, and fails if one is there already.
func (st *stamps) countCopies(rank int, r *ir.Rule, when string) error {
	for _, a := range r.Do {
		if a.Op != ir.Put || a.Sets().Kind() != ir.KindChunk {
			continue
		}
		if to := int(a.To); st.has(to, a.Slot) {
			return fail([]int{to, rank}, []Place{place(to, a.Slot)}, nil, "rank %d puts %v to rank %d twice %s", rank, a.Slot, to, when)
		}
		st.add(int(a.To), a.Slot)
	}
	return nil
}

package verify

import (
	"github.com/schedgen/schedgen/ir"
)

var wellformed = Check{
	Name:    "wellformed",
	Summary: "slots, ranks and operations exist; one action puts each signal, and something waits for it; one put or fold makes each partial result, and something reads it; a rank puts and folds only slots that it has, and puts them only to ranks that want or name them; only repairs make requests; each repair can be made, and stops only when it may",
	scope:   &everySchedule,
	prove:   proveWellformed,
}

// proveWellformed checks what the other checks rely on. Slots, ranks and operations are in range,
// because newSubject has checked that.
func proveWellformed(sub *subject) (string, error) {
	for _, prove := range []func(*subject) error{noneToItself, noneAwaitsItself, oneWriter, allAwaited, allHeld, requestsAsked, repairsStart, repairsStop} {
		if err := prove(sub); err != nil {
			return "", err
		}
	}
	return "", nil
}

func noneToItself(sub *subject) error {
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, a := range r.Do {
			if err == nil && a.Op == ir.Put && int(a.To) == rank {
				err = fail([]int{rank}, []Place{place(rank, a.Sets())}, nil, "rank %d puts %v to itself", rank, a.Slot)
			}
		}
	})
	return err
}

// noneAwaitsItself checks that no rule waits for what it folds.
func noneAwaitsItself(sub *subject) error {
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, a := range r.Do {
			if err == nil && a.Op == ir.Fold && contains(r.When, a.As) {
				err = fail([]int{rank}, []Place{place(rank, a.As)}, nil, "rank %d waits for %v in the rule that makes it", rank, a.As)
			}
		}
	})
	return err
}

// writers holds, by slot number, the writer of each signal and partial result.
type writers struct {
	rank   []int32 // the rank that writes the slot, -1: none
	repair []bool  // the writer is a repair
	again  *stamps // the slots that the current rule writes
}

// oneWriter checks that exactly one action puts each signal, and that exactly one put or fold makes
// each partial result. An operation assigns a slot once. A flag that is set a second time might be
// set after its operation is over. A repair repeats its action each time it is made.
func oneWriter(sub *subject) error {
	w := writers{make([]int32, sub.layout.Slots()), make([]bool, sub.layout.Slots()), newStamps(sub)}
	for i := range w.rank {
		w.rank[i] = -1
	}
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		w.again.mark(rank, nil)
		for i, a := range r.Do {
			kind := a.Sets().Kind()
			if id := sub.target(rank, r.Do, i); err == nil && id >= 0 && (kind == ir.KindSignal || kind == ir.KindValue) {
				err = w.write(sub, rank, r, a.Op, id)
			}
		}
	})
	if err != nil {
		return err
	}
	return w.complete(sub)
}

func (w *writers) write(sub *subject, rank int, r *ir.Rule, op ir.Op, id int) error {
	p := sub.layout.PlaceOf(id)
	was := int(w.rank[id])
	if was < 0 {
		w.again.add(p.Rank, p.Slot)
		w.rank[id], w.repair[id] = int32(rank), r.IsRepair()
		return nil
	}
	if was != rank {
		return fail([]int{p.Rank, was, rank}, []Place{p}, nil, "%v has two writers, rank %d and rank %d", p, was, rank)
	}
	if op == ir.Fold {
		return fail([]int{rank}, []Place{p}, nil, "rank %d folds %v twice", rank, p.Slot)
	}
	where := "" // in plain rules
	switch {
	case r.IsRepair() && w.again.has(p.Rank, p.Slot):
		where = " in one repair"
	case r.IsRepair() && w.repair[id]:
		where = ", in two repairs"
	case r.IsRepair() || w.repair[id]:
		where = ", in a repair and in another rule"
	}
	return fail([]int{p.Rank, rank}, []Place{p}, nil, "rank %d puts %v twice%s", rank, p, where)
}

// complete checks that every signal and every partial result has a writer.
func (w *writers) complete(sub *subject) error {
	for rank := range sub.s.Programs {
		for j := range sub.s.Programs[rank].Signals {
			p := place(rank, ir.Signal(j))
			if id := sub.layout.Slot(rank, p.Slot); id < 0 || w.rank[id] < 0 {
				return fail([]int{rank}, []Place{p}, nil, "%v has no writer: no rank puts it", p)
			}
		}
		for i := range sub.s.Programs[rank].Values {
			p := place(rank, ir.Value(i))
			if id := sub.layout.Slot(rank, p.Slot); id < 0 || w.rank[id] < 0 {
				return fail([]int{rank}, []Place{p}, nil, "%v has no writer: no rank puts it, and no fold makes it", p)
			}
		}
	}
	return nil
}

// allAwaited checks that some program reads every signal: in a rule, in Done or, to cancel a
// repair, in Unless. A partial result must be folded or put. It is not enough that a rule waits for
// it. A chunk may also be named where it is put or folded.
func allAwaited(sub *subject) error {
	awaited := make([]bool, sub.layout.Slots())
	read := make([]bool, sub.layout.Slots())
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, s := range r.When {
			awaited[sub.layout.Slot(rank, s)] = true
		}
		if r.IsRepair() {
			awaited[sub.layout.Slot(rank, r.Unless)] = true
		}
		for _, a := range r.Do {
			if kind := a.Slot.Kind(); a.Op != ir.Mcast && (kind == ir.KindChunk || kind == ir.KindValue) {
				id := sub.layout.Slot(rank, a.Slot)
				awaited[id], read[id] = true, true
			}
			if a.Op == ir.Fold {
				awaited[sub.layout.Slot(rank, a.As)] = true
			}
		}
	})
	for rank := range sub.s.Programs {
		p := &sub.s.Programs[rank]
		for _, s := range p.Done {
			awaited[sub.layout.Slot(rank, s)] = true
		}
		for j := range p.Signals {
			if s := ir.Signal(j); !awaited[sub.layout.Slot(rank, s)] {
				return fail([]int{rank}, []Place{place(rank, s)}, nil, "nothing waits for %v", place(rank, s))
			}
		}
		for i := range p.Values {
			if v := ir.Value(i); !read[sub.layout.Slot(rank, v)] {
				return fail([]int{rank}, []Place{place(rank, v)}, nil, "nothing reads %v: it is neither folded nor put", place(rank, v))
			}
		}
	}
	return chunksAwaited(sub, awaited)
}

// chunksAwaited checks that a chunk is put only to a rank that has a place for it: the rank wants
// or holds the chunk, or its program names it. A rank that runs its program knows no other chunks
// and treats a frame with one as a fault. A multicast may bring chunks that some ranks do not need.
func chunksAwaited(sub *subject, awaited []bool) error {
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, a := range r.Do {
			if err != nil || a.Op != ir.Put || a.Sets().Kind() != ir.KindChunk || awaited[sub.layout.Slot(int(a.To), a.Slot)] {
				continue
			}
			p := place(int(a.To), a.Slot)
			wanted, held := sub.s.Wanted(p.Rank), sub.s.Held(p.Rank)
			if k := a.Slot.Index(); !wanted.Has(k) && !held.Has(k) {
				err = fail([]int{p.Rank, rank}, []Place{p}, nil,
					"rank %d puts %v to rank %d, which neither wants nor names it", rank, a.Slot, p.Rank)
			}
		}
	})
	return err
}

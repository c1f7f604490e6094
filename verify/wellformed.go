package verify

import (
	"github.com/schedgen/schedgen/ir"
)

var wellformed = Check{
	Name:    "wellformed",
	Summary: "slots, ranks and operations exist; a signal has one writer and is waited for; nothing is put that is not held; only repairs make requests; repairs stop when they may",
	scope:   everySchedule,
	prove:   proveWellformed,
}

// proveWellformed checks what the other checks take for granted. That slots,
// ranks and operations are in range has been checked before: the subject could
// not have been made otherwise.
func proveWellformed(sub *subject) (string, error) {
	for _, prove := range []func(*subject) error{noneToItself, oneWriter, allAwaited, allHeld, requestsAsked, repairsStop} {
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
				err = fail([]int{rank}, []Place{place(rank, a.Slot)}, nil, "rank %d puts %v to itself", rank, a.Slot)
			}
		}
	})
	return err
}

// writers is who sets each signal, by slot number.
type writers struct {
	rank  []int32 // the rank that puts the signal, -1: nobody
	plain []bool  // one of its plain rules does
	again *stamps // those that the repair under way puts
}

// oneWriter checks that every signal is put by one rank, and by one action of
// its plain rules: a flag that is set twice may be set again after the operation
// that it belongs to. Repairs of the same rank may put it again, each once.
func oneWriter(sub *subject) error {
	w := writers{make([]int32, sub.layout.Slots()), make([]bool, sub.layout.Slots()), newStamps(sub)}
	for i := range w.rank {
		w.rank[i] = -1
	}
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		w.again.mark(rank, nil)
		for _, a := range r.Do {
			if err == nil && a.Slot.Kind() == ir.KindSignal {
				err = w.put(sub, rank, r, a)
			}
		}
	})
	if err != nil {
		return err
	}
	return w.complete(sub)
}

func (w *writers) put(sub *subject, rank int, r *ir.Rule, a ir.Action) error {
	p := place(int(a.To), a.Slot)
	id := sub.layout.Slot(p.Rank, p.Slot)
	switch was := int(w.rank[id]); {
	case was >= 0 && was != rank:
		return fail([]int{p.Rank, was, rank}, []Place{p}, nil, "%v has two writers, rank %d and rank %d", p, was, rank)
	case r.IsRepair() && w.again.has(p.Rank, p.Slot):
		return fail([]int{p.Rank, rank}, []Place{p}, nil, "rank %d puts %v twice in one repair", rank, p)
	case w.plain[id] && !r.IsRepair():
		return fail([]int{p.Rank, rank}, []Place{p}, nil, "rank %d puts %v twice", rank, p)
	}
	w.again.add(p.Rank, p.Slot)
	w.rank[id] = int32(rank)
	w.plain[id] = w.plain[id] || !r.IsRepair()
	return nil
}

// complete checks that no signal lacks a writer.
func (w *writers) complete(sub *subject) error {
	for rank := range sub.s.Programs {
		for j := range sub.s.Programs[rank].Signals {
			if p := place(rank, ir.Signal(j)); w.rank[sub.layout.Slot(rank, p.Slot)] < 0 {
				return fail([]int{rank}, []Place{p}, nil, "%v has no writer: no rank puts it", p)
			}
		}
	}
	return nil
}

// allAwaited checks that somebody looks at every signal: a rule, done or, to
// call off a repair, unless.
func allAwaited(sub *subject) error {
	awaited := make([]bool, sub.layout.Slots())
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, s := range r.When {
			awaited[sub.layout.Slot(rank, s)] = true
		}
		if r.IsRepair() {
			awaited[sub.layout.Slot(rank, r.Unless)] = true
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
	}
	return nil
}

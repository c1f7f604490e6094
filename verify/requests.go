package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// requestsAsked checks that each program alone shows which of its plain rules are part of repairs.
// Among the signals for which plain rules wait, the requests (ir.Program.Requests) must be exactly
// the signals that only repairs put. So a runtime, which knows one program, can rely on proofs that
// use all programs.
func requestsAsked(sub *subject) error {
	// by slot number: 1 + a rank with a plain rule that puts it
	plain := make([]int32, sub.layout.Slots())
	sub.eachRule(func(rank int, r *ir.Rule) {
		if r.IsRepair() {
			return
		}
		for _, a := range r.Do {
			if a.Slot.Kind() == ir.KindSignal {
				plain[sub.layout.Slot(int(a.To), a.Slot)] = int32(rank + 1)
			}
		}
	})
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, w := range r.When {
			if err == nil && !r.IsRepair() && w.Kind() == ir.KindSignal {
				err = sub.requestAsked(place(rank, w), int(plain[sub.layout.Slot(rank, w)])-1)
			}
		}
	})
	return err
}

// requestAsked checks a signal for which a plain rule waits. writer is a rank with a plain rule
// that puts it, or -1 if only repairs do.
func (sub *subject) requestAsked(p Place, writer int) error {
	switch request := sub.isRequest(p); {
	case request && writer >= 0:
		return fail([]int{p.Rank, writer}, []Place{p}, nil,
			"%v is a request, as the rank returns without it and only puts chunks upon it, but a plain rule of rank %d puts it", p, writer)
	case !request && writer < 0:
		return fail([]int{p.Rank}, []Place{p}, nil,
			"%v is put by repairs alone, but is not a request: the rank does not return without it, or does more upon it than put chunks", p)
	}
	return nil
}

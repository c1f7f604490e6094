package ir

// Requests returns, by signal number, which of p's signals are requests. Another rank asks this one
// for chunks by a request. A signal is a request if Done does not wait for it, at least one rule
// waits for it, and all rules that wait for it only put chunks as chunks. The result is nil if p
// has no request.
//
// A rule that waits for a request may never fire, because only repairs send requests. One program
// does not show its senders. So package verify refutes a schedule in which a plain rule puts a
// request and a plain rule waits for it. It also refutes one in which a plain rule waits for any
// other signal that only repairs put.
//
// Requests ignores slots that p does not have. It takes time in proportion to the program.
func (p *Program) Requests() []bool {
	var request []bool
	each := func(slots []Slot, is bool) {
		for _, s := range slots {
			if s.Kind() == KindSignal && s.Index() < p.Signals {
				if request == nil {
					request = make([]bool, p.Signals)
				}
				request[s.Index()] = is
			}
		}
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.onlyPutsChunks() {
			each(r.When, true)
		}
	}
	if request == nil {
		return nil
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; !r.onlyPutsChunks() {
			each(r.When, false)
		}
	}
	each(p.Done, false)
	return request
}

func (r *Rule) onlyPutsChunks() bool {
	for _, a := range r.Do {
		if a.Op != Put || a.Slot.Kind() != KindChunk || a.As != None {
			return false
		}
	}
	return true
}

// AwaitsAny reports whether r waits for a signal j for which signals[j] is true. [Program.Requests]
// returns such a list.
func (r *Rule) AwaitsAny(signals []bool) bool {
	for _, s := range r.When {
		if s.Kind() == KindSignal && s.Index() < len(signals) && signals[s.Index()] {
			return true
		}
	}
	return false
}

package ir

// Requests returns, by signal number, which of p's signals are requests: those
// by which another rank asks this one for chunks. They are the signals that done
// does not wait for and upon which rules, at least one of them, only put chunks, as
// chunks. nil stands for none.
//
// A rule that waits for a request may never fire, since only repairs make one.
// That is the writers' part, which one program does not show. So package verify
// refutes a schedule in which a rule that is no repair waits for a request that
// such a rule puts, or for another signal that only repairs put.
//
// Slots that p does not have are passed over. It takes time in proportion to the
// program.
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

// AwaitsAny reports whether r waits for one of the signals that are marked by
// their numbers, such as [Program.Requests].
func (r *Rule) AwaitsAny(signals []bool) bool {
	for _, s := range r.When {
		if s.Kind() == KindSignal && s.Index() < len(signals) && signals[s.Index()] {
			return true
		}
	}
	return false
}

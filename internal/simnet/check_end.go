package simnet

import "cmp"
import "slices"

// bound returns the time by which everything must have ended.
func (w *world) bound() Time {
	at := w.sc.Calm
	for i := range w.sc.Faults {
		at = max(at, w.sc.Faults[i].Until, w.sc.Faults[i].From)
	}
	for i := range w.sc.Script {
		at += w.sc.Script[i].Time
	}
	return at + cmp.Or(w.sc.Limit, 600*Second)
}

// over reports whether all processes have ended.
func (w *world) over() bool {
	for _, p := range w.procs {
		if !p.over() {
			return false
		}
	}
	return true
}

func (p *process) over() bool {
	return p.state == crashed || p.ended && (!p.w.sc.Close || p.state == closed)
}

// forgiven reports whether a process may wait forever. It may if a rank has died and the scenario
// does not detect silence, in two cases: it waits for a rootless message and the host of the dead
// rank has died, so that its connections do not end; or all ranks that it may ask have left
// regularly.
func (p *process) forgiven() bool {
	if p.state != calling || !p.w.hasty && !p.w.died() {
		return false
	}
	switch p.op.Kind {
	case OpPublish, OpTake, OpFlush, OpAsk, OpLearn:
		return p.w.hasty || p.w.comm.Silence == 0 && slices.ContainsFunc(p.w.procs, func(o *process) bool { return o.silent })
	}
	return p.w.comm.Silence == 0 && p.alone()
}

// asked is the number of next ranks in the ring that a rank may ask about an operation, if the ring
// has more ranks; see package core.
const asked = 16

// alone reports whether a rank of a large group has no rank to ask.
func (p *process) alone() bool {
	ranks := p.w.sc.Ranks
	if ranks <= asked+1 {
		return false
	}
	for d := 1; d <= asked; d++ {
		if !p.w.procs[(p.rank+d)%ranks].healthy {
			return false
		}
	}
	return true
}

// stuck records as a violation which processes have not ended.
func (w *world) stuck(why string) {
	for _, p := range w.procs {
		if p.forgiven() {
			return
		}
	}
	for _, p := range w.procs {
		if !p.over() {
			begun, done := p.core.Seq()
			w.fail("%s: rank %d is in step %d (operation %d begun, %d ended), %s", why, p.rank, p.step, begun, done, p.where())
			return
		}
	}
	w.fail("%s", why)
}

// where describes the position of a process in its script.
func (p *process) where() string {
	switch {
	case p.state == absent:
		return "not begun"
	case p.state == closing:
		return "closing"
	case p.state == computing:
		return "computing"
	}
	return "inside a call"
}

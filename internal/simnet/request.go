package simnet

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core"
)

// request is an operation that a process has started. Blocking calls start a request and wait for
// it, as in runtime.Comm.
type request struct {
	step int
	op   Op
	plan *core.Plan
	mem  core.Buffers
	seq  uint64 // 0: it has not begun, because too many are open
}

// width returns the greatest number of open requests of a rank.
func (w *world) width(rank int) int {
	if w.sc.Full {
		return max(w.sc.Open, 1)
	}
	r := seeded(w.sc.Seed, 'o', uint64(rank))
	return 1 + r.below(max(w.sc.Open, 1))
}

// startRequest starts the operation of the present step. If the rank has as many open requests as
// it may, it waits for the oldest, for some, or for all.
func (p *process) startRequest(o *Op) {
	p.open = append(p.open, &request{step: p.step, op: *o, plan: p.planFor(o), mem: p.w.buffersFor(p, o)})
	width := p.w.width(p.rank)
	if len(p.open) < width {
		return
	}
	if p.w.sc.Full {
		p.until = p.open[0].step + 1
		return
	}
	r := seeded(p.w.sc.Seed, 'w', uint64(p.rank), uint64(p.step))
	p.until = p.open[r.below(len(p.open))].step + 1
}

// requestOf returns the request of a step, or nil if none is open.
func (p *process) requestOf(step int) *request {
	for _, r := range p.open {
		if r.step == step {
			return r
		}
	}
	return nil
}

// serveRequests begins the requests that may begin and ends complete requests. It reports whether
// there were any.
func (p *process) serveRequests() (moved bool) {
	for i := 0; i < len(p.open); {
		switch r := p.open[i]; {
		case r.seq == 0 && p.core.Err() == nil && p.core.Vacant():
			p.begins(r)
			moved = true
		case r.seq > 0 && p.core.Ready(r.seq):
			p.core.End(r.seq)
			p.open = slices.Delete(p.open, i, i+1)
			p.w.finishedRequest(p, r)
			moved = true
		case r.seq == 0:
			return moved // later requests have not begun either
		default:
			i++
		}
	}
	return moved
}

func (p *process) begins(r *request) {
	p.core.Begin(r.plan, r.mem)
	r.seq, _ = p.core.Seq()
}

// endAll ends the requests that err prevents from completing, and returns the error of the first.
func (p *process) endAll(err error) error {
	if len(p.open) == 0 {
		return err
	}
	first := p.open[0]
	name := string(first.op.Kind)
	if first.plan != nil {
		name = first.plan.Name
	}
	failed := p.core.Fail(name, first.seq, err)
	if err = failed; failed.Whole && !p.w.disagreed {
		p.w.checkBytes(p, first)
	}
	p.abandon()
	p.core.Abandon()
	p.open = nil
	return err
}

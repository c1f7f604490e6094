package simnet

import (
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// script is the position of a process in its script.
type script struct {
	step    int        // index in the scenario's script
	op      Op         // the present step, as this rank calls it
	open    []*request // started and not ended, in order
	until   int        // the present call waits until the requests of all steps before this one have ended
	spare   [][]byte   // buffers that must not be written any more
	left    int        // messages still to publish in this step
	flush   uint64     // number of messages that must have arrived everywhere before the present call ends
	sent    uint64     // messages published
	taken   []uint64   // by origin: messages taken
	got     int        // messages taken in all
	err     error      // why its calls have failed
	ballot  uint64     // the agreement that it waits for
	settled Time       // when it closes, though others may not know their common agreement; 0: not yet
	ended   bool       // it has reached the end of its script
	scratch []byte
	plans   map[Op]*core.Plan
}

// begin starts a process.
func (p *process) begin() {
	p.state = computing
	p.quiet = p.w.comm.Idle
	p.w.at(p.w.now+p.quiet, event{kind: backdrop, rank: p.rank})
	p.next()
}

// next begins the next step of the process.
func (p *process) next() {
	for p.w.violation == nil && p.alive() {
		atEnd := p.step == len(p.w.sc.Script)
		if atEnd && len(p.open) == 0 || p.err != nil && !p.stillAgrees() {
			p.finish()
			return
		}
		if p.core.Err() != nil && p.err == nil {
			p.failed(p.endAll(p.core.Err()))
			continue
		}
		if p.op = (Op{Kind: OpWait}); !atEnd {
			p.op = p.w.twist(p.rank, p.step)
		}
		if p.op.Kind == OpCompute {
			p.compute(&p.op)
			return
		}
		p.w.entered(p)
		p.enter()
		p.start(&p.op)
		p.doDue()
		return
	}
}

// stillAgrees moves on to the next agreement, because agreements work after calls have failed, and
// reports whether there is one.
func (p *process) stillAgrees() bool {
	for at := p.step; at < len(p.w.sc.Script); at++ {
		if p.w.sc.Script[at].Kind == OpAgree {
			p.step = at
			return true
		}
	}
	return false
}

// compute lets time pass without a call.
func (p *process) compute(o *Op) {
	r := seeded(p.w.sc.Seed, 'c', uint64(p.step), uint64(p.rank))
	p.step++
	p.w.at(p.w.now+r.upTo(o.Time), event{kind: proceed, rank: p.rank})
}

// start prepares a call.
func (p *process) start(o *Op) {
	p.left, p.until = 0, 0
	if o.isCollective() {
		p.startRequest(o)
		return
	}
	switch o.Kind {
	case OpWait:
		p.until = p.step
	case OpAgree:
		p.ballot = p.core.Vote(core.Vote{Flags: ^(uint64(1) << (p.rank % 64))})
	case OpPublish, OpAsk:
		if o.Root < 0 || o.Root == p.rank {
			p.left = o.Count
		}
	case OpFlush:
		p.flush = p.core.Flush()
	}
}

// advance does all work of the present call that needs no polling, and reports whether there was
// any.
func (p *process) advance() bool {
	p.takeMail()
	moved := p.takeTasks()
	moved = p.serveRequests() || moved
	if p.state != calling {
		return moved
	}
	o := &p.op
	switch {
	case p.met(o):
		p.done(o)
		return true
	case o.Kind == OpAgree:
		if err := p.core.Excluded(); err != nil {
			p.broken(err)
			p.step++
			return true
		}
	case o.Kind == opSettle:
	case p.core.Err() != nil:
		p.broken(p.core.Err())
		return true
	case o.Kind == OpLearn:
		_ = p.core.Listen() // the process waits, so that its core looks for silent ranks; it is no error here if all others have left
	case o.Kind == OpTake:
		if err := p.core.Listen(); err != nil {
			p.broken(err)
			return true
		}
	}
	return p.goOn(o) || moved
}

// met reports whether the call is complete.
func (p *process) met(o *Op) bool {
	switch o.Kind {
	case OpPublish, OpAsk:
		return p.left == 0
	case OpLearn:
		return p.hasLearnt()
	case OpTake:
		return p.got >= p.w.expected(p, p.step)
	case OpAgree:
		_, ok := p.core.Outcome(p.ballot)
		return ok
	case opSettle:
		return p.core.Confirmed() || p.core.Excluded() != nil || p.w.now >= p.settled
	case OpFlush:
		return p.core.Flushed(p.flush)
	}
	return len(p.open) == 0 || p.open[0].step >= p.until
}

// goOn does the next part of a call.
func (p *process) goOn(o *Op) bool {
	switch {
	case o.Kind == OpPublish && p.core.HasRoom():
		p.publish(o)
		return true
	case o.Kind == OpAsk:
		return p.goOnAsking(o)
	}
	return false
}

// done returns from a call.
func (p *process) done(o *Op) {
	switch {
	case o.isCollective(): // see serveRequests
	case o.Kind == opSettle:
		p.w.hasty = p.w.hasty || p.w.now >= p.settled
	case o.Kind == OpAgree:
		out, _ := p.core.Outcome(p.ballot)
		p.w.agreed(p, out)
	case o.Kind == OpFlush:
		p.w.checkFlushed(p)
		p.w.returned(p)
	default:
		p.w.returned(p)
	}
	p.step = min(p.step+1, len(p.w.sc.Script))
	p.leave()
	p.w.at(p.w.now, event{kind: proceed, rank: p.rank})
}

// broken ends a call that cannot be completed.
func (p *process) broken(err error) {
	err = p.endAll(err)
	p.leave()
	p.failed(err)
	p.w.at(p.w.now, event{kind: proceed, rank: p.rank})
}

// failed records that calls fail from now on.
func (p *process) failed(err error) {
	p.err = err
	p.w.failed(p, err)
}

// finish handles the end of the script.
func (p *process) finish() {
	if p.ended {
		return
	}
	if p.w.sc.Close && p.settles() {
		return
	}
	p.ended = true
	p.w.finished(p)
	if p.w.sc.Close {
		p.close()
	}
}

// settles waits, before the process closes, until other ranks know their agreement with it. It
// reports whether the process has to wait.
func (p *process) settles() bool {
	if p.settled > 0 || p.core.Confirmed() || p.core.Excluded() != nil {
		return false
	}
	p.settled = p.w.now + linger
	p.op = Op{Kind: opSettle}
	p.enter()
	p.lookAt(p.settled)
	p.doDue()
	return true
}

// opSettle is the step of a process before it closes.
const opSettle OpKind = "settle"

// takeMail takes messages that have arrived: all of them if a goroutine takes messages, or else as
// many as the present call wants.
func (p *process) takeMail() {
	for p.core.Mail() > 0 && (p.w.sc.Eager || p.wantsMail()) {
		m := p.core.Take()
		p.got++
		p.w.took(p, &m)
	}
}

func (p *process) wantsMail() bool {
	return p.state == calling && p.op.Kind == OpTake && p.got < p.w.expected(p, p.step)
}

func (p *process) publish(o *Op) {
	p.scratch = p.w.letter(p.scratch, p.rank, p.sent, o.Bytes)
	p.core.Publish(p.scratch)
	p.w.note(notePublish, p.rank, nil, int(p.sent))
	p.sent++
	p.left--
}

// planFor returns the plan of a step, which is compiled at its first use.
func (p *process) planFor(o *Op) *core.Plan {
	if plan := p.plans[*o]; plan != nil {
		return plan
	}
	plan, err := p.compile(o)
	if err != nil {
		p.w.fail("step %d: %v", p.step, err) // the scenario has been checked
		return nil
	}
	p.plans[*o] = plan
	return plan
}

func (p *process) compile(o *Op) (*core.Plan, error) {
	plan, err := p.planOf(o)
	if err != nil || p.w.comm.Delay != core.DelayAdaptive || p.w.tamper.programs != nil {
		return plan, err
	}
	spec, err := o.spec(p.w.sc)
	if err != nil {
		return nil, err
	}
	alg := spec.Algorithm()
	name, lost := alg.Otherwise()
	if name == "" {
		return plan, nil
	}
	same := *o
	same.Algorithm, same.Chunks = name, spec.Params().Chunks
	other, err := p.planOf(&same)
	if err != nil {
		return nil, err
	}
	return plan, plan.Otherwise(other, lost)
}

// planOf compiles the schedule that a step names.
func (p *process) planOf(o *Op) (*core.Plan, error) {
	h, programs, err := p.w.programs(o)
	if err != nil {
		return nil, err
	}
	program := programs(p.rank)
	compiled, err := machine.Compile(&h, &program)
	if err != nil {
		return nil, err
	}
	plan := core.NewPlan(&h, compiled, programs(h.Root), 0)
	plan.Programs = programs
	if o.Counted {
		row := o.row()
		plan = plan.Counted(row.Everywhere(h.Ranks, h.Root))
	}
	return plan, nil
}

// programs returns the programs of the ranks in a collective step.
func (w *world) programs(o *Op) (ir.Header, func(rank int) ir.Program, error) {
	if w.tamper.programs != nil {
		s := w.tamper.programs(o)
		return s.Header, func(rank int) ir.Program { return s.Programs[rank] }, nil
	}
	spec, err := o.spec(w.sc)
	if err != nil {
		return ir.Header{}, nil, err
	}
	return spec.Header(), spec.Program, nil
}

package simnet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/schedule"
)

// checker checks that a run keeps the promises of a communicator:
//
//   - A collective leaves at every rank the bytes of each block that the rank wants, changes no
//     block that the rank sends, and writes nothing into a buffer after its call has returned.
//   - No rank puts a chunk to another rank twice.
//   - No rank leaves a barrier before all have entered it.
//   - The root of an acknowledged broadcast returns only when all ranks have the message.
//   - Rootless messages arrive exactly once, unchanged, in the order of their origin. When a flush
//     returns, they have arrived everywhere.
//   - A call fails only if a rank has died, and then every call ends. No rank calls a living rank
//     lost.
//   - All survivors name the same ranks as lost, and the same numbers of their messages that have
//     come. A rank that was taken for lost and comes back is told so.
//   - All ranks that agree get the same outcome, which combines the votes of all remaining ranks
//     and calls no remaining rank gone.
//   - Everything ends within a bound once the network is free of faults.
//   - Queues and memory are bounded, and a closed core sends nothing.
type checker struct {
	w         *world
	violation *Violation
	entries   []int      // by step: number of ranks that have entered
	blocks    [][][]byte // by step and block: the content
	acked     map[string]bool
	calls     []Call
	enters    [][]Time          // by rank and step: time of entry
	hasty     bool              // a process has closed before everything it sent could arrive, or before all knew its agreement
	outcomes  [][]*core.Outcome // by step and rank: outcomes of agreements
	shared    []byte            // with Scenario.Shared: the memory of all buffers
	disagreed bool              // a process has made another call than the others
	puts      map[put]bool      // that have been made
	named     [][]int           // by rank: ranks that its calls have called lost
}

func (c *checker) init(w *world) {
	c.w = w
	c.entries = make([]int, len(w.sc.Script)+1)
	c.blocks = make([][][]byte, len(w.sc.Script))
	c.enters = make([][]Time, w.sc.Ranks)
	for rank := range c.enters {
		c.enters[rank] = make([]Time, len(w.sc.Script)+1)
	}
	c.outcomes = make([][]*core.Outcome, len(w.sc.Script))
	for step := range c.outcomes {
		c.outcomes[step] = make([]*core.Outcome, w.sc.Ranks)
	}
	c.named = make([][]int, w.sc.Ranks)
	c.puts = make(map[put]bool)
	c.acked = make(map[string]bool)
	for _, a := range schedule.Algorithms() {
		c.acked[a.Name] = a.Acknowledged()
	}
}

// fail records the first violation, which ends the run.
func (c *checker) fail(format string, args ...any) {
	if c.violation == nil {
		c.violation = &Violation{c.w.now, fmt.Sprintf(format, args...)}
	}
}

// entered records that a call begins.
func (c *checker) entered(p *process) {
	c.entries[p.step]++
	c.enters[p.rank][p.step] = c.w.now
	c.w.note(noteEnter, p.rank, nil, p.step)
}

// returned records a call, other than a request, that has returned without error.
func (c *checker) returned(p *process) { c.note(p, p.step) }

func (c *checker) note(p *process, step int) {
	c.w.note(noteReturn, p.rank, nil, step)
	c.calls = append(c.calls, Call{p.rank, step, c.enters[p.rank][step], c.w.now, nil})
	c.checkHeld(p)
}

// agreed checks the outcome of an agreement at a process.
func (c *checker) agreed(p *process, out core.Outcome) {
	c.note(p, p.step)
	c.outcomes[p.step][p.rank] = &out
	for rank, first := range c.outcomes[p.step] {
		if first == nil || c.hasty || c.w.apart(rank, p.rank) || c.w.procs[rank].state == crashed {
			continue
		}
		if !c.w.without(rank, out.Lost) && !c.w.without(p.rank, first.Lost) && !reflect.DeepEqual(*first, out) {
			c.fail("rank %d has agreed on %+v in step %d, rank %d on %+v", p.rank, out, p.step, rank, *first)
		}
	}
	for rank, other := range c.w.procs {
		gone := slices.Contains(out.Gone, rank)
		if gone && other.alive() && other.state != closing && !c.hasty && !c.w.hushed(rank) {
			c.fail("rank %d has agreed that rank %d is gone, which is not", p.rank, rank)
		}
		if !gone && out.Flags>>(rank%64)&1 != 0 {
			c.fail("rank %d has agreed on %x without the vote of rank %d", p.rank, out.Flags, rank)
		}
	}
}

// finishedRequest checks a request that has ended without error.
func (c *checker) finishedRequest(p *process, r *request) {
	o := &r.op
	row := o.row()
	if row.Blocks != nil {
		c.checkBytes(p, r)
		if c.acked[o.Algorithm] && p.rank == o.Root {
			c.checkAll(p, r)
		}
		c.scribble(p, r)
	}
	if row.Synchronizes && c.entries[r.step] < c.w.sc.Ranks {
		c.fail("rank %d leaves the barrier of step %d, which only %d of %d ranks have entered", p.rank, r.step, c.entries[r.step], c.w.sc.Ranks)
	}
	c.note(p, r.step)
}

// failed checks a call that has failed.
func (c *checker) failed(p *process, err error) {
	c.w.note(noteFailed, p.rank, nil, p.step)
	c.calls = append(c.calls, Call{p.rank, p.step, c.enters[p.rank][p.step], c.w.now, err})
	if !c.hasty && !c.disagreed && !c.w.died() && !c.w.hushed(-1) {
		c.fail("rank %d fails in step %d although nobody has died: %v", p.rank, p.step, err)
	}
	if rank, lost := lostIn(err); lost && !c.hasty && c.w.procs[rank].state != crashed && !c.w.hushed(rank) {
		c.fail("rank %d calls rank %d lost, which has not died: %v", p.rank, rank, err)
	}
	c.checkNamed(p, err)
	var all *core.LostError
	if errors.As(err, &all) && !c.hasty {
		c.checkCame(p, all)
	}
}

// checkNamed checks which rank the failed call of a process calls lost. All remaining ranks must
// name the same silent ranks. A rank that was stopped is told that it was lost, or has come back in
// time and names the same ranks as the others, or has concluded without them (see without).
func (c *checker) checkNamed(p *process, err error) {
	rank, lost := lostIn(err)
	if !lost || c.hasty || c.w.comm.Silence == 0 {
		return
	}
	var all *core.LostError
	switch {
	case rank == p.rank && c.w.hushed(rank): // the rank is told that it was lost
	case !errors.As(err, &all):
		c.fail("rank %d does not name all that are lost: %v", p.rank, err)
	default:
		for other, named := range c.named {
			alone := c.w.without(other, all.Ranks) || c.w.without(p.rank, named)
			if named != nil && !alone && !c.w.apart(other, p.rank) && !slices.Equal(named, all.Ranks) {
				c.fail("rank %d calls ranks %v lost, rank %d ranks %v", p.rank, all.Ranks, other, named)
			}
		}
		c.named[p.rank] = all.Ranks
	}
}

// lostIn returns the rank that an error calls lost.
func lostIn(err error) (rank int, lost bool) {
	var about *core.RankError
	if !errors.Is(err, core.ErrPeerLost) || !errors.As(err, &about) {
		return 0, false
	}
	return about.Rank, true
}

// finished checks a process at the end of its script.
func (c *checker) finished(p *process) {
	c.checkScribble(p)
	c.checkHeld(p)
}

// checkHeld checks that a core stores no more than its limits allow.
func (c *checker) checkHeld(p *process) {
	usage, comm := p.core.Usage(), &c.w.comm
	for _, h := range []struct {
		what      string
		got, most int
	}{
		{"signals of later operations", usage.Early, core.MaxEarly(c.w.sc.Ranks)},
		{"ranks that wait for it to enter", usage.Calls, core.MaxOpen * c.w.sc.Ranks},
		{"bytes of past messages", usage.Kept, comm.Retain},
		{"ranks that are owed chunks", usage.Debtors, 16 * core.Remembered},
		{"rootless messages", usage.Mail, (c.w.sc.Ranks - 1) * comm.PublishWindow},
		{"open questions", usage.Open, c.w.sc.Ranks * comm.PublishWindow},
		{"questions and results", usage.Tasks, 2 * c.w.sc.Ranks * comm.PublishWindow},
	} {
		if h.got > h.most {
			c.fail("rank %d keeps %d %s, at most %d", p.rank, h.got, h.what, h.most)
		}
	}
}

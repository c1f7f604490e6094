package sim

import (
	"bytes"
	"fmt"

	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/schedule"
)

// checker holds a run to the promises of a communicator:
//
//   - a broadcast leaves the root's bytes at every rank, and writes nothing into
//     a buffer after its call has returned;
//   - a barrier is left by nobody before all have entered;
//   - the root of an acknowledged broadcast returns when all have the message;
//   - rootless messages come exactly once, in their origin's order, unchanged;
//   - a call fails only if a rank has died, and then every call ends;
//   - everything ends within a bound once the network is whole;
//   - queues and memory are bounded, and nothing is sent by a closed core.
type checker struct {
	w         *world
	violation *Violation
	entries   []int    // by step: ranks that have entered
	messages  [][]byte // by step: what is broadcast
	shared    []byte
	acked     map[string]bool
	calls     []Call
	enters    []Time // by rank: when its present call began
	excused   bool   // a process has closed before all it sent could arrive: others may fail
}

func (c *checker) init(w *world) {
	c.w = w
	c.entries = make([]int, len(w.sc.Script))
	c.messages = make([][]byte, len(w.sc.Script))
	c.enters = make([]Time, w.sc.Ranks)
	c.acked = make(map[string]bool)
	for _, a := range schedule.Algorithms() {
		c.acked[a.Name] = a.Acknowledged()
	}
}

// fail notes the first violation, which ends the run.
func (c *checker) fail(format string, args ...any) {
	if c.violation == nil {
		c.violation = &Violation{c.w.now, fmt.Sprintf(format, args...)}
	}
}

// bound is until when everything has to be over.
func (w *world) bound() Time {
	at := w.sc.Calm
	for i := range w.sc.Faults {
		at = max(at, w.sc.Faults[i].Until, w.sc.Faults[i].From)
	}
	for i := range w.sc.Script {
		at += w.sc.Script[i].Time
	}
	return at + orElse(w.sc.Limit, 600*Second)
}

// over reports whether all processes have come to their ends.
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

// forgiven reports whether a process may wait for ever: for a rootless message,
// or room for one, that a rank has taken along of whose death nothing tells. Such
// calls have no operation whose stall could be noticed.
func (p *process) forgiven() bool {
	if p.state != calling {
		return false
	}
	k := p.w.sc.Script[p.step].Kind
	return (k == OpTake || k == OpPublish) && (p.w.excused || p.w.sc.crashes())
}

// stuck says who has not come to its end.
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

// where says where a process stands.
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

// entered notes that a call begins.
func (c *checker) entered(p *process) {
	c.entries[p.step]++
	c.enters[p.rank] = c.w.now
	c.w.note(noteEnter, p.rank, nil, p.step)
}

// returned checks a call that has returned without error.
func (c *checker) returned(p *process, o *Op) {
	c.w.note(noteReturn, p.rank, nil, p.step)
	c.calls = append(c.calls, Call{p.rank, p.step, c.enters[p.rank], c.w.now, nil})
	switch o.Kind {
	case OpBcast:
		c.checkBytes(p)
		if c.acked[o.Algorithm] && p.rank == o.Root {
			c.checkAll(p)
		}
		c.scribble(p)
	case OpBarrier:
		if c.entries[p.step] < c.w.sc.Ranks {
			c.fail("rank %d leaves the barrier of step %d, which only %d of %d ranks have entered", p.rank, p.step, c.entries[p.step], c.w.sc.Ranks)
		}
	}
	c.checkHeld(p)
}

// message is what the step broadcasts.
func (c *checker) message(step int) []byte {
	if c.messages[step] == nil {
		m := make([]byte, c.w.sc.Script[step].Bytes)
		r := seeded(c.w.sc.Seed, 'b', uint64(step))
		r.fill(m)
		c.messages[step] = m
	}
	return c.messages[step]
}

// bufferFor returns the buffer that a rank calls with.
func (c *checker) bufferFor(p *process, o *Op) []byte {
	c.checkScribble(p)
	if o.Kind != OpBcast {
		return nil
	}
	if c.w.sc.Shared {
		return c.message(p.step)
	}
	if cap(p.buf) < o.Bytes {
		p.buf = make([]byte, o.Bytes)
	}
	buf := p.buf[:o.Bytes]
	if p.rank == o.Root {
		copy(buf, c.message(p.step))
	}
	return buf
}

func (c *checker) checkBytes(p *process) {
	if want := c.message(p.step); !c.w.sc.Shared && !bytes.Equal(p.buf, want) {
		at := 0
		for at < len(want) && p.buf[at] == want[at] {
			at++
		}
		c.fail("rank %d has wrong bytes in step %d, from %d on of %d", p.rank, p.step, at, len(want))
	}
}

// checkAll checks that all ranks have what is acknowledged.
func (c *checker) checkAll(root *process) {
	for _, p := range c.w.procs {
		switch {
		case p.state == crashed || p.step > root.step || c.w.sc.Shared:
		case p.step < root.step || !p.begun:
			c.fail("the root returns from step %d, which rank %d has not entered", root.step, p.rank)
		case !bytes.Equal(p.buf, c.message(root.step)):
			c.fail("the root returns from step %d, whose message rank %d has not got", root.step, p.rank)
		}
	}
}

// scribbled is what a buffer holds that is its process's again.
const scribbled = 0xEE

func (c *checker) scribble(p *process) {
	if !c.w.sc.Shared {
		for i := range p.buf {
			p.buf[i] = scribbled
		}
	}
}

func (c *checker) checkScribble(p *process) {
	if c.w.sc.Shared || p.err != nil {
		return
	}
	for i, b := range p.buf {
		if b != scribbled {
			c.fail("rank %d: byte %d of a buffer was written after its broadcast had returned", p.rank, i)
			return
		}
	}
}

// failed checks a call that has failed.
func (c *checker) failed(p *process, err error) {
	c.w.note(noteFailed, p.rank, nil, p.step)
	c.calls = append(c.calls, Call{p.rank, p.step, c.enters[p.rank], c.w.now, err})
	if !c.excused && !c.w.sc.crashes() {
		c.fail("rank %d fails in step %d although nobody has died: %v", p.rank, p.step, err)
	}
}

// finished checks a process at the end of its script.
func (c *checker) finished(p *process) {
	c.checkScribble(p)
	c.checkHeld(p)
}

// took checks a rootless message.
func (c *checker) took(p *process, m *core.Message) {
	c.w.note(noteTook, p.rank, nil, m.Origin)
	if m.Seq != p.taken[m.Origin] {
		c.fail("rank %d takes message %d of rank %d instead of %d", p.rank, m.Seq, m.Origin, p.taken[m.Origin])
		return
	}
	p.taken[m.Origin]++
	p.scratch = c.letter(p.scratch, m.Origin, m.Seq, c.letterBytes(m.Origin, m.Seq))
	if !bytes.Equal(p.scratch, m.Data) {
		c.fail("rank %d takes message %d of rank %d with wrong bytes", p.rank, m.Seq, m.Origin)
	}
}

// letter makes message seq of a rank, of at most most bytes.
func (c *checker) letter(dst []byte, origin int, seq uint64, most int) []byte {
	r := seeded(c.w.sc.Seed, 'm', uint64(origin), seq)
	n := r.below(most + 1)
	if cap(dst) < n {
		dst = make([]byte, n)
	}
	dst = dst[:n]
	r.fill(dst)
	return dst
}

// letterBytes returns how long message seq of a rank may be.
func (c *checker) letterBytes(origin int, seq uint64) int {
	for i := range c.w.sc.Script {
		o := &c.w.sc.Script[i]
		if o.Kind != OpPublish || o.Root >= 0 && o.Root != origin {
			continue
		}
		if seq < uint64(o.Count) {
			return o.Bytes
		}
		seq -= uint64(o.Count)
	}
	return 0
}

// expected returns how many messages a rank is to get from steps before one.
func (c *checker) expected(p *process, step int) (n int) {
	for i := range c.w.sc.Script[:step] {
		switch o := &c.w.sc.Script[i]; {
		case o.Kind != OpPublish || o.Root == p.rank:
		case o.Root < 0:
			n += o.Count * (c.w.sc.Ranks - 1)
		default:
			n += o.Count
		}
	}
	return n
}

// checkHeld checks that a core keeps no more than it may.
func (c *checker) checkHeld(p *process) {
	held, comm := p.core.Held(), &c.w.comm
	for _, h := range []struct {
		what      string
		got, most int
	}{
		{"signals of later operations", held.Early, 1024},
		{"bytes of past messages", held.Kept, comm.Retain},
		{"ranks that are owed chunks", held.Debtors, 16 * core.Remembered},
		{"rootless messages", held.Mail, (c.w.sc.Ranks - 1) * comm.CastWindow},
	} {
		if h.got > h.most {
			c.fail("rank %d keeps %d %s, at most %d", p.rank, h.got, h.what, h.most)
		}
	}
}

package simnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
)

// A process answers questions beside its script, as a goroutine would. Each answer takes a drawn
// time, during which the process may be stopped. While it works on one question, the others wait.

// asking is the state of a process about questions.
type asking struct {
	ask    uint64        // the question whose result the present call waits for
	asks   bool          // the present call waits for the result of ask
	asked  uint64        // questions that the process has asked
	got    []uint64      // by origin: questions that it has got
	learnt []uint64      // by origin: results that it has learnt
	busy   *core.Message // the question that it works on
	until  Time          // when its answer is ready
}

// takeTasks takes questions and results, and gives the answer that is ready. It reports whether
// there was anything.
func (p *process) takeTasks() (moved bool) {
	for {
		if q := p.asking.busy; q != nil {
			if p.w.now < p.asking.until {
				p.lookAt(p.asking.until)
				return moved
			}
			p.asking.busy, moved = nil, true
			p.core.Answer(q.Origin, q.Seq, p.w.opinion(q, p.rank))
		}
		next, ok := p.core.TakeTask()
		if !ok {
			return moved
		}
		t := next // only a task that exists needs memory of its own
		moved = true
		if t.Learn {
			p.w.learnt(p, &t)
			continue
		}
		p.w.note(noteAsked, p.rank, nil, t.Question.Origin)
		if p.w.asked(p, &t.Question); p.w.violation != nil {
			return true
		}
		r := seeded(p.w.sc.Seed, 'w', uint64(p.rank)<<32|uint64(t.Question.Origin), t.Question.Seq)
		p.asking.busy, p.asking.until = &t.Question, p.w.now
		if !p.w.sc.Prompt && r.chance(300) {
			p.asking.until += r.upTo(20 * Millisecond)
		}
	}
}

// goOnAsking asks the next question of the present step, or takes the result of the last one.
func (p *process) goOnAsking(o *Op) bool {
	a := &p.asking
	switch {
	case a.asks && p.core.Asked(a.ask):
		data, err, _ := p.core.Result(a.ask)
		a.asks = false
		p.w.resulted(p, &core.Message{Origin: p.rank, Seq: a.ask}, data, err)
		p.left--
		return true
	case a.asks || p.left == 0 || !p.core.CanAsk():
		return false
	}
	p.scratch = p.w.letter(p.scratch, p.rank, 1<<32|a.asked, o.Bytes)
	a.ask, a.asks = p.core.Ask(p.scratch), true
	p.w.note(noteAsks, p.rank, nil, int(a.ask))
	if a.ask != a.asked {
		p.w.fail("rank %d asks question %d and not %d", p.rank, a.ask, a.asked)
	}
	a.asked++
	return true
}

// hasLearnt reports whether the process has learnt the results of all questions of the steps before
// its present one.
func (p *process) hasLearnt() bool {
	for origin, n := range p.asking.learnt {
		if n < p.w.questions(origin, p.step) {
			return false
		}
	}
	return true
}

// questions returns how many questions an origin asks in the steps before step.
func (c *checker) questions(origin, step int) (n uint64) {
	for i := range c.w.sc.Script[:step] {
		if o := &c.w.sc.Script[i]; o.Kind == OpAsk && (o.Root < 0 || o.Root == origin) {
			n += uint64(o.Count)
		}
	}
	return n
}

// questionBytes returns the greatest length of a question in bytes.
func (c *checker) questionBytes(origin int, seq uint64) int {
	for i := range c.w.sc.Script {
		if c.questions(origin, i+1) > seq {
			return c.w.sc.Script[i].Bytes
		}
	}
	return 0
}

// asked checks a question that a process has got.
func (c *checker) asked(p *process, q *core.Message) {
	if q.Seq != p.asking.got[q.Origin] {
		c.fail("rank %d gets question %d of rank %d instead of %d", p.rank, q.Seq, q.Origin, p.asking.got[q.Origin])
		return
	}
	p.asking.got[q.Origin]++
	if !bytes.Equal(q.Data, c.letter(nil, q.Origin, 1<<32|q.Seq, c.questionBytes(q.Origin, q.Seq))) {
		c.fail("rank %d gets question %d of rank %d with wrong bytes", p.rank, q.Seq, q.Origin)
	}
}

// learnt checks a result that a process has learnt.
func (c *checker) learnt(p *process, t *core.Task) {
	q := &t.Question
	c.w.note(noteLearnt, p.rank, nil, q.Origin)
	if q.Seq != p.asking.learnt[q.Origin] {
		c.fail("rank %d learns result %d of rank %d instead of %d", p.rank, q.Seq, q.Origin, p.asking.learnt[q.Origin])
		return
	}
	p.asking.learnt[q.Origin]++
	c.resulted(p, q, t.Data, t.Err)
}

// resulted checks the result of a question at a process.
func (c *checker) resulted(p *process, q *core.Message, data []byte, err error) {
	var of *core.AskError
	switch {
	case err == nil:
		want := c.opinion(q, 0)
		for rank := 1; rank < c.w.sc.Ranks; rank++ {
			adds.Kernel(want, want, c.opinion(q, rank))
		}
		if !bytes.Equal(data, want) {
			c.fail("rank %d has a wrong result of question %d of rank %d", p.rank, q.Seq, q.Origin)
		}
	case !errors.As(err, &of) || of.Origin != q.Origin || of.Seq != q.Seq:
		c.fail("rank %d gets an error of another question in the place of question %d of rank %d: %v", p.rank, q.Seq, q.Origin, err)
	case p.core.Err() == nil && !errors.Is(err, core.ErrPeerLeft):
		c.fail("rank %d gets no result of question %d of rank %d: %v", p.rank, q.Seq, q.Origin, err)
	case errors.Is(err, core.ErrPeerLeft) && !c.hasty && !c.disagreed && !c.w.died() && !c.w.hushed(-1):
		c.fail("rank %d gets no result of question %d of rank %d although nobody has died: %v", p.rank, q.Seq, q.Origin, err)
	default:
		c.checkAnswered(p, of)
	}
}

// checkAnswered checks the ranks whose answers are in according to an error.
func (c *checker) checkAnswered(p *process, of *core.AskError) {
	for _, rank := range of.Answered {
		switch other := c.w.procs[rank]; {
		case of.Seq >= other.asking.got[of.Origin], other.asking.busy != nil && other.asking.busy.Origin == of.Origin && other.asking.busy.Seq == of.Seq:
			c.fail("rank %d says that rank %d has answered question %d of rank %d, which it has not: %v", p.rank, rank, of.Seq, of.Origin, of)
		}
	}
	if !slices.IsSorted(of.Answered) {
		c.fail("rank %d gets ranks out of order: %v", p.rank, of.Answered)
	}
}

// adds sums numbers of 4 bytes.
var adds = core.Fold{Name: "sum of uint32", Element: 4, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := 0; i < len(dst); i += 4 {
		binary.LittleEndian.PutUint32(dst[i:], binary.LittleEndian.Uint32(a[i:])+binary.LittleEndian.Uint32(b[i:]))
	}
}}

// opinion returns a rank's answer to a question. All have the same length.
func (c *checker) opinion(q *core.Message, rank int) []byte {
	r := seeded(c.w.sc.Seed, 'n', uint64(q.Origin), q.Seq)
	own := make([]byte, 4*r.below(40))
	r = seeded(c.w.sc.Seed, 'o', uint64(rank)<<32|uint64(q.Origin), q.Seq)
	r.fill(own)
	return own
}

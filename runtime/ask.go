package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/schedule"
)

// Answering is how a rank answers questions.
type Answering struct {
	// Fold folds the answers of the ranks. All ranks that answer a question have the same Name and
	// Element.
	Fold *Fold
	// Answer returns the rank's answer to a question: elements of Fold.Element bytes, as many as
	// the other ranks return, and at most Config.MaxMessage bytes. The runtime copies them. q.Data
	// belongs to the function.
	Answer func(q Message) []byte
	// Learn, if not nil, gets the result of every question, also of this rank's own: the folded
	// answers, or why there are none. q.Data and result belong to the function.
	Learn func(q Message, result []byte, err error)
}

// answering is the handler of a communicator. The driver's lock guards its fields.
type answering struct {
	how     *Answering // nil: the rank does not answer
	running bool       // a goroutine is at work
}

// Answers makes this rank answer the questions of all ranks, including its own, from now on. A rank
// calls it once for each communicator. A question that comes to a rank before this call has no
// result. So a rank should ask only when it knows that all ranks have called Answers, for instance
// after a Barrier.
//
// The runtime calls a.Answer and a.Learn in a separate goroutine, one call at a time, in the order
// in which questions and results arrive. Those of one origin arrive in the origin's order. While a
// call runs, the program continues, and messages and questions are passed on to the ranks behind
// this one. The calls may use the communicator. But a.Answer must not wait for an answer of this
// rank, as a call of Ask does.
//
// While no goroutine of the program is inside a call, the background takes questions, from
// Config.Waiting.Idle after the last call on, or up to five times as long after many calls in a
// row. A rank with a negative Idle answers only while it is inside calls.
//
// Close does not wait for a running call, and drops its answer.
func (c *Comm) Answers(a Answering) error {
	if a.Fold == nil || a.Fold.Kernel == nil || a.Fold.Element < 1 || a.Answer == nil {
		return fmt.Errorf("%w: answers: no operation or no handler", ErrInput)
	}
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if err := c.core.Err(); err != nil {
		return err
	}
	if c.answering.how != nil {
		return fmt.Errorf("%w: answers: the communicator already has a handler; Dup makes a communicator for another one", ErrInput)
	}
	c.answering.how = &a
	c.drv.behind.setting.Lock()
	c.drv.behind.answers = true
	c.drv.behind.setting.Unlock()
	c.core.Answers(a.Fold, a.Learn != nil)
	return nil
}

// Ask asks all ranks a question, which no rank needs to expect (paper 001, section 4), and returns
// the fold of the answers of all ranks, including this one. The question is multicast, and so is the
// result, if the algorithm that Config.Algorithms or the rules choose for anyreduce says so, and the
// transport can. The answers come back along the origin's tree, and are folded in an order that depends only on the origin and the number of ranks.
// All ranks get the result; see Answering.Learn. This rank must have called Answers. Several
// goroutines and several ranks may ask at a time. All ranks get the questions of one origin in its
// order; questions of different origins have no order.
//
// Ask waits while Config.PublishWindow questions of this rank are open, or PublishBytes bytes of
// questions and answers. If ctx ends before the question is asked, it is not asked. If ctx ends
// later, only the waiting ends: all ranks answer, and learn the result.
//
// If a rank cannot answer, or has closed the communicator, Ask returns an [AskError] that wraps
// ErrUnanswered and names the rank, and the communicator stays intact. If a rank is lost, the
// communicator fails; the AskError then has the ranks whose answers are in, as the remaining ranks
// have agreed.
func (c *Comm) Ask(ctx context.Context, question []byte) ([]byte, error) {
	if ctx == nil {
		return nil, noContext("ask")
	}
	if len(question) > c.cfg.MaxMessage {
		return nil, fmt.Errorf("ask: %w: %d bytes, at most %d", ErrTooLarge, len(question), c.cfg.MaxMessage)
	}
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	switch err := c.core.Err(); {
	case err != nil:
		c.raise(err)
		return nil, err
	case c.answering.how == nil:
		return nil, fmt.Errorf("%w: ask: this rank has no handler for questions", ErrInput)
	case ctx.Err() != nil:
		return nil, c.publishError("ask", context.Cause(ctx))
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, askRoom{}); err != nil {
		c.raise(err)
		return nil, c.publishError("ask", err)
	}
	seq := c.core.Ask(question)
	c.attend()
	if err := c.await(ctx, asked(seq)); err != nil {
		c.core.Disregard(seq)
		c.raise(err)
		return nil, c.publishError("ask", err)
	}
	data, err, _ := c.core.Result(seq)
	c.raise(err)
	return data, err
}

// askRoom and asked are what Ask waits for.
type (
	askRoom struct{ working }
	asked   uint64 // a question of this rank
)

func (askRoom) met(c *Comm) bool   { return c.core.CanAsk() }
func (seq asked) met(c *Comm) bool { return c.core.Asked(uint64(seq)) }
func (asked) failed(c *Comm) error { return nil } // a failure ends the question

// attend starts a goroutine for tasks, if there are any and no goroutine is at work. The caller
// holds the lock.
func (c *Comm) attend() {
	if a := &c.answering; a.how != nil && !a.running && c.core.HasTask() {
		a.running = true
		go c.work()
	}
}

// work does tasks until there are none.
func (c *Comm) work() {
	for {
		t, ok := c.nextTask()
		switch {
		case !ok:
			return
		case t.Learn:
			c.answering.how.Learn(t.Question, t.Data, t.Err)
		default:
			c.reply(t.Question.Origin, t.Question.Seq, slices.Clone(c.answering.how.Answer(t.Question)))
		}
	}
}

// nextTask takes the oldest task. If there is none, another goroutine does the next one.
func (c *Comm) nextTask() (t core.Task, ok bool) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if t, ok = c.core.TakeTask(); !ok {
		c.answering.running = false
	}
	c.sendTasks()
	return t, ok
}

// reply hands this rank's answer to the core.
func (c *Comm) reply(origin int, seq uint64, data []byte) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	c.core.Answer(origin, seq, data)
	c.sendTasks()
}

// sendTasks sends what a task leaves behind, and wakes the calls that it has ended.
func (c *Comm) sendTasks() {
	if c.core.Sent() && !c.drv.closing {
		c.drv.flush()
	}
	c.drv.tellMoved()
}

// askOverlay returns the trees of questions, whether questions are multicast, and the name of their
// algorithm.
func (c *Comm) askOverlay() (core.Overlay, bool, string, error) {
	asked := c.cfg.Algorithms[schedule.Anyreduce]
	if asked.Name == "" {
		of := c.caseOf(schedule.Anyreduce, 0)
		of.Reproducible = false // an origin's questions always have the same tree
		d, ok := c.cfg.source.decide(c.cfg.Rules, of)
		if !ok { // rules that were made without questions do not forbid them
			d, _ = c.cfg.source.decide(nil, of)
		}
		asked.Name = d.Rule.Algorithm
	}
	overlay, multicasts, _, err := c.cfg.overlay(asked, c.size)
	return overlay, multicasts, asked.Name, err
}

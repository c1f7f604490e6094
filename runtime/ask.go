package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Answering is how a rank answers questions.
type Answering struct {
	// Fold folds the answers of the ranks. All ranks that answer a question have the same Name and
	// Element.
	Fold *Fold
	// Answer returns the rank's answer to a question: elements of Fold.Element bytes, as many as
	// the other ranks return, at most Config.MaxMessage bytes. The runtime copies them. q.Data is
	// the receiver's own.
	Answer func(q Message) []byte
	// Learn, if not nil, gets the result of every question, also of this rank's own: the folded
	// answers, or why there are none. Both q.Data and result are the receiver's own.
	Learn func(q Message, result []byte, err error)
}

// answering is the handler of a communicator. The driver's lock guards its fields.
type answering struct {
	how     *Answering // nil: the rank does not answer
	running bool       // a goroutine is at work
}

// Answers has this rank answer the questions of all ranks from now on, its own among them. A rank
// calls it once for each communicator. A question that comes to a rank before that has no result,
// so ranks do not ask before they know that all have called Answers, for instance by a Barrier.
//
// The runtime calls a.Answer and a.Learn in a goroutine of its own, one call at a time: the
// questions and results of all ranks in the order in which they arrive, those of one origin in the
// origin's order. While a call runs, the goroutines of the program run too, and messages and
// questions go on to the ranks behind this one. The calls may use the communicator. But a.Answer
// must not wait for an answer that this rank has to give, as in a call of Ask.
//
// While no goroutine of the program is inside a call, questions are taken by the background, from
// Config.Waiting.Idle after the last call, or up to five times that after many calls in a row. A
// rank whose Idle is negative answers only while it is inside calls.
//
// Close does not wait for a call that runs, and drops its answer.
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
		return fmt.Errorf("%w: answers: the communicator has a handler; Dup makes a communicator for another", ErrInput)
	}
	c.answering.how = &a
	c.drv.behind.setting.Lock()
	c.drv.behind.answers = true
	c.drv.behind.setting.Unlock()
	c.core.Answers(a.Fold, a.Learn != nil)
	return nil
}

// Ask asks all ranks a question, which no rank needs to expect (paper 001, section 4), and waits
// for the fold of the answers of all of them, this rank's own among them. The answers come back
// along the tree on which the question has gone out, and are folded in an order that depends on the
// origin and the number of ranks alone. The result reaches all ranks: see Answering.Learn. This
// rank must have called Answers. Several goroutines and several ranks may ask at a time. All ranks
// get the questions of one origin in its order; between origins there is no order.
//
// Ask waits while Config.PublishWindow questions of this rank are open, or PublishBytes bytes of
// questions and answers. If ctx ends before the question has been asked, it is not. If ctx ends
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
		return nil, err
	case c.answering.how == nil:
		return nil, fmt.Errorf("%w: ask: this rank has not called Answers", ErrInput)
	case ctx.Err() != nil:
		return nil, c.publishError("ask", context.Cause(ctx))
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, askRoom{}); err != nil {
		return nil, c.publishError("ask", err)
	}
	seq := c.core.Ask(question)
	c.attend()
	if err := c.await(ctx, asked(seq)); err != nil {
		c.core.Disregard(seq)
		return nil, c.publishError("ask", err)
	}
	data, err, _ := c.core.Result(seq)
	return data, err
}

// askRoom and asked are what Ask waits for.
type (
	askRoom struct{ working }
	asked   uint64 // a question of this rank
)

func (askRoom) met(c *Comm) bool   { return c.core.CanAsk() }
func (seq asked) met(c *Comm) bool { return c.core.Asked(uint64(seq)) }
func (asked) failed(c *Comm) error { return nil } // then it is met

// attend starts a goroutine for tasks, if there are any and none is at work. The caller holds the
// lock.
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

// askOverlay returns the trees of questions, and the name of their algorithm.
func (c *Comm) askOverlay() (core.Overlay, string, error) {
	asked := c.cfg.Algorithms[schedule.Anyreduce]
	if asked.Name == "" {
		of := c.caseOf(schedule.Anyreduce, 0)
		of.Reproducible = false // an origin's questions always have the same tree
		d, ok := c.rules().Of(of)
		if !ok { // rules that were made without questions do not forbid them
			d, _ = selection.Builtin().Of(of)
		}
		asked.Name = d.Rule.Algorithm
	}
	overlay, _, _, err := c.cfg.overlay(asked, c.size)
	return overlay, asked.Name, err
}

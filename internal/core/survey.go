package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/core/publish"
	"github.com/schedgen/schedgen/internal/survey"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// surveys holds the questions that any rank asks at any time (paper 001, §4), and their answers;
// see package survey. A question and its result are rootless messages of the rank that asks, its
// origin, in a stream beside those of the process: see package publish. They are multicast if the
// transport can and the algorithm of questions says so, and otherwise go down the tree of the origin
// in the overlay of questions. All ranks get the questions and results of an origin in its order.
//
// Every rank answers. The folded answers come back up the tree. An answer comes from a whole
// sub-tree, so it also acknowledges the messages that the ranks of the sub-tree have (paper 002,
// section 3). An origin has a bounded number of questions open, and asks only when there will be
// room for the results, so every rank can take each message that comes.
//
// A multicast may be lost, so an answer may come before the question. It then waits for the
// question, which the rank asks for.
//
// The process answers by tasks, one after the other. A task may take any time, because the question
// has been passed on before. Results that the process wants to learn are tasks, too. The process
// has no more unanswered questions of an origin than are open, and gets no result before it has
// answered. So tasks are bounded, too.
//
// A question that a rank cannot answer has a refusal in the place of its result, which names the
// rank. The core does not fail by a refusal, not even if a rank has left: all ranks know that its
// answer is missing. A rank whose parent has left does not wait for the result, which may not come,
// and tells the ranks below. If a rank is lost, the core fails, and the ranks agree on whose answers
// are in.
type surveys struct {
	*env
	fate    *failure
	members *presence.Roster

	messages *publish.Messages // questions and results

	askers   []*asker // by origin; made when first heard of
	incoming [][]byte `state:"ignored"` // by sender: the body of the answer that has come in part
	tasks    []task   // the oldest first
	done     []result // results of this rank's questions that the process has not taken
	fold     *Fold    // fold of the process's answers; nil: it does not answer
	learns   bool     // results are tasks
	failed   bool     // the core has failed, and the open questions have become tasks
	waiting  int      // open questions: this rank waits for the ranks behind it, or for the result

	asked, answered uint64 `state:"ignored"`
}

// asker is the state of one rank's questions at this rank.
type asker struct {
	tree *survey.Tree // nil before the first question
	next uint64       // the question expected next
	open []*inquiry   // questions without a result, ascending, and those from next on that only answers are known of
}

// inquiry is an open question.
type inquiry struct {
	seq   uint64
	body  []byte // the operation and the question; nil: the question has not come
	state *survey.Survey
	bytes int // length of the question and, at its origin, of the origin's answer

	unwanted bool           // at its origin: the process no longer waits for the result
	ended    *survey.Answer // why there is no result, known before the question has come
}

// task is a task for the process.
type task struct {
	origin int
	seq    uint64
	body   []byte // of the question
	learn  bool   // the process learns the result; otherwise it answers
	result
}

// result is the outcome of a question.
type result struct {
	of   uint64 // the question
	data []byte
	err  error
}

// maxWords bounds the description of an operation in a question, in bytes.
const maxWords = 255

// foldWords returns the description of an operation that ranks compare.
func foldWords(f *Fold) string { return clip(f.Name, maxWords) }

// askedBy returns the operation in the body of a question, and the question.
func askedBy(body []byte) (words string, question []byte) {
	n := 1 + int(body[0])
	return string(body[1:n]), body[n:]
}

// The kinds of messages about questions: the first byte.
const (
	saysQuestion = iota // then the length (u8) and text of the operation, and the question
	saysResult          // then the number of the question (u64) and a survey.Answer
	messageHead  = 1 + 8
)

// Windows of messages about questions. Answers acknowledge everything up to their question. So of an
// origin with a number of questions open, at most the results of as many, and the open questions, are
// not acknowledged; see publish.Messages.HasRoom for the third.
func surveyConfig(cfg *Config) publish.Config {
	c := publishConfig(cfg)
	c.Multicast, c.Overlay, c.Offset, c.AtOnce = cfg.AskSpread, cfg.AskOverlay, cfg.Size, true
	c.Window *= 3
	c.MaxMessage = messageHead + max(1+maxWords+cfg.MaxMessage, survey.MaxLen(cfg.Size, cfg.MaxMessage))
	return c
}

func (sv *surveys) init() {
	sv.askers = make([]*asker, sv.Size)
	sv.incoming = make([][]byte, sv.Size)
	sv.asker(sv.Rank)
}

func (sv *surveys) asker(origin int) *asker {
	if sv.askers[origin] == nil {
		sv.askers[origin] = &asker{}
	}
	return sv.askers[origin]
}

// place returns the state of an origin's questions with this rank's place in the tree.
func (sv *surveys) place(origin int) *asker {
	a := sv.asker(origin)
	if a.tree == nil {
		a.tree = survey.Place(sv.AskOverlay, sv.Size, sv.Rank, origin, sv.AskOverlay.Sender(sv.Rank, origin))
	}
	return a
}

// inquiry returns question seq of an origin, which has no result yet.
func (sv *surveys) inquiry(origin int, seq uint64) *inquiry {
	a := sv.place(origin)
	at, known := slices.BinarySearchFunc(a.open, seq, func(q *inquiry, seq uint64) int { return cmp.Compare(q.seq, seq) })
	if !known {
		a.open = slices.Insert(a.open, at, &inquiry{seq: seq, state: survey.New(a.tree, sv.join)})
	}
	return a.open[at]
}

// find returns an open question, or nil.
func (a *asker) find(seq uint64) *inquiry {
	for _, q := range a.open {
		if q.seq == seq {
			return q
		}
	}
	return nil
}

// hasRoom reports whether this rank may ask another question.
func (sv *surveys) hasRoom() bool {
	open, bytes := sv.askers[sv.Rank].open, 0
	for _, q := range open {
		bytes += q.bytes
	}
	return (len(open) == 0 || len(open) < sv.PublishWindow && bytes < sv.PublishBytes) && sv.messages.HasRoom(len(open)+1)
}

// ask asks a question, for which there must be room.
func (sv *surveys) ask(question []byte) (seq uint64) {
	by := foldWords(sv.fold)
	msg := append(append(append(make([]byte, 0, 2+len(by)+len(question)), saysQuestion, byte(len(by))), by...), question...)
	sv.asked++
	sv.messages.Publish(msg)
	return sv.open(sv.Rank, msg[1:])
}

// open opens the next question of an origin, which has come.
func (sv *surveys) open(origin int, body []byte) (seq uint64) {
	a := sv.place(origin)
	q := sv.inquiry(origin, a.next)
	q.body, q.bytes = body, len(body)
	a.next++
	sv.waiting++
	for i, child := range a.tree.Children {
		if sv.members.Gone(child) && !q.state.Heard(i) {
			q.state.Lose(i)
		}
	}
	switch {
	case q.ended != nil:
		sv.refuse(origin, q, *q.ended)
	case sv.members.Gone(a.tree.Parent):
		sv.orphaned(origin, q)
	case sv.fold == nil:
		sv.own(origin, q, survey.Answer{Refusal: &survey.Refusal{Rank: sv.Rank, Cause: survey.NoHandler, Missing: []int{sv.Rank}}})
	default:
		sv.tasks = append(sv.tasks, task{origin: origin, seq: q.seq, body: body})
	}
	return q.seq
}

// read takes the messages about questions that have come.
func (sv *surveys) read() {
	for sv.messages.Waiting() > 0 && sv.fate.err == nil {
		m := sv.messages.Take()
		if why := sv.take(&m); why != "" {
			sv.fate.violation(&wire.Header{Kind: wire.FramePublish, From: m.Origin, Seq: m.Seq}, "message %d of rank %d about questions: %s", m.Seq, m.Origin, why)
		}
	}
}

// take takes a message about a question. It returns what is wrong with it, or "".
func (sv *surveys) take(m *Message) (problem string) {
	a := sv.place(m.Origin)
	switch {
	case len(m.Data) < 2 || m.Data[0] > saysResult:
		return fmt.Sprintf("%d bytes", len(m.Data))
	case m.Data[0] == saysQuestion:
		body := m.Data[1:]
		open := 0
		for _, q := range a.open {
			if q.body != nil {
				open++
			}
		}
		switch {
		case 1+int(body[0]) > len(body):
			return fmt.Sprintf("its operation has %d of %d bytes", body[0], len(body)-1)
		case len(body) > 1+maxWords+sv.MaxMessage:
			return fmt.Sprintf("a question of %d bytes", len(body))
		case open >= sv.PublishWindow:
			return fmt.Sprintf("%d are open", open)
		}
		sv.open(m.Origin, body)
		return ""
	case len(m.Data) < messageHead:
		return fmt.Sprintf("a result of %d bytes", len(m.Data))
	}
	seq := binary.BigEndian.Uint64(m.Data[1:])
	answer, err := survey.Parse(m.Data[messageHead:], sv.Size)
	switch q := a.find(seq); {
	case err != nil:
		return err.Error()
	case seq >= a.next:
		return fmt.Sprintf("question %d has not been asked", seq)
	case q == nil: // it has ended because a rank has left
	case answer.Refusal == nil && !q.state.Complete():
		return "answers are missing"
	default:
		sv.conclude(m.Origin, q, answer)
	}
	return ""
}

// join folds answers. If the kernel panics, the core fails, and the result goes to no rank.
func (sv *surveys) join(dst, a, b []byte) {
	if err := sv.fold.apply(dst, a, b); err != nil {
		sv.fate.broken("ask", 0, err)
	}
}

// own takes this rank's answer to an open question.
func (sv *surveys) own(origin int, q *inquiry, a survey.Answer) {
	if origin == sv.Rank {
		q.bytes += len(a.Data)
	}
	q.state.Own(a)
	sv.passOn(origin, q)
}

// passOn passes the answers of this rank's sub-tree on if all are in.
func (sv *surveys) passOn(origin int, q *inquiry) {
	switch {
	case q.body == nil || !q.state.Complete() || sv.fate.err != nil:
	case sv.members.Gone(q.state.Tree().Parent):
	case origin == sv.Rank:
		sv.conclude(origin, q, q.state.Answer())
	default:
		parent := q.state.Tree().Parent
		here := sv.messages.Answered(origin, parent)
		f := sv.fillControl(wire.FrameAnswer, q.seq, sv.PublishPrint, uint32(origin))
		f.Slot, f.Body = ir.Slot(here), q.state.Answer().Append(nil)
		f.Len = len(f.Body)
		sv.put(parent, f)
	}
}

// conclude closes a question with its result. The origin tells all ranks.
func (sv *surveys) conclude(origin int, q *inquiry, a survey.Answer) {
	by := sv.asker(origin)
	by.open = slices.DeleteFunc(by.open, func(o *inquiry) bool { return o == q })
	sv.waiting--
	if origin == sv.Rank && sv.Size > 1 {
		sv.messages.Publish(a.Append(binary.BigEndian.AppendUint64([]byte{saysResult}, q.seq)))
	}
	r := result{of: q.seq, data: a.Data}
	if a.Refusal != nil {
		r.err = sv.refusal(origin, q, a.Refusal)
	}
	sv.close(origin, q, r)
}

// refuse closes a question, whose result may not come because a rank has left, and tells the ranks
// below.
func (sv *surveys) refuse(origin int, q *inquiry, a survey.Answer) {
	for _, to := range q.state.Tree().To {
		if !sv.members.Gone(to) {
			f := sv.fillControl(wire.FrameUnanswered, q.seq, sv.PublishPrint, uint32(origin))
			f.Body = a.Append(nil)
			f.Len = len(f.Body)
			sv.put(to, f)
		}
	}
	sv.conclude(origin, q, a)
}

// orphaned closes a question whose result this rank does not wait for, because the rank above has
// left.
func (sv *surveys) orphaned(origin int, q *inquiry) {
	sv.messages.Answered(origin, -1)
	sv.refuse(origin, q, survey.Answer{Refusal: &survey.Refusal{
		Rank: q.state.Tree().Parent, Cause: survey.Left, Missing: sv.without(q.state.In()),
	}})
}

// close hands the result of a question to the process.
func (sv *surveys) close(origin int, q *inquiry, r result) {
	if origin == sv.Rank && !q.unwanted {
		sv.done = append(sv.done, r)
	}
	if sv.learns {
		r.data = slices.Clone(r.data)
		sv.tasks = append(sv.tasks, task{origin: origin, seq: q.seq, body: q.body, learn: true, result: r})
	}
}

// left continues without a rank that has left.
func (sv *surveys) left(rank int) {
	for origin, a := range sv.askers {
		if a == nil || a.tree == nil {
			continue
		}
		child := a.tree.Child(rank)
		for _, q := range slices.Clone(a.open) {
			switch {
			case child >= 0 && !q.state.Heard(child):
				q.state.Lose(child)
				sv.passOn(origin, q)
			case a.tree.Parent == rank && q.body != nil:
				sv.orphaned(origin, q)
			}
		}
	}
}

// without returns all ranks that are not in a list, ascending.
func (e *env) without(list []int) (others []int) {
	for rank := range e.Size {
		if !slices.Contains(list, rank) {
			others = append(others, rank)
		}
	}
	return others
}

// refusal returns the error of a question without a result.
func (sv *surveys) refusal(origin int, q *inquiry, r *survey.Refusal) error {
	by, _ := askedBy(q.body)
	var err error
	switch elements := max(1, sv.element()); r.Cause {
	case survey.NoHandler:
		err = fmt.Errorf("%w: it has no handler for questions", ErrUnanswered)
	case survey.Mismatch:
		err = fmt.Errorf("%w: it answers by %s, and rank %d asks for %s", ErrUnanswered, r.Text, origin, by)
	case survey.TooLong:
		err = fmt.Errorf("%w: its answer has %s, at most %d", ErrUnanswered, words.Count(int64(r.Bytes), "byte", "bytes"), r.OtherBytes)
	case survey.Length:
		err = fmt.Errorf("%w: its answer has %s, and that of rank %d has %d", ErrUnanswered, words.Count(int64(r.Bytes/elements), "element", "elements"), r.Other, r.OtherBytes/elements)
	default:
		err = fmt.Errorf("%w: %w: it has closed its communicator", ErrUnanswered, ErrPeerLeft)
	}
	in := sv.without(r.Missing)
	var others []string // they may have answered: an answer of another length is not folded
	for _, rank := range sv.without(append(slices.Clone(in), r.Rank)) {
		others = append(others, strconv.Itoa(rank))
	}
	switch len(others) {
	case 0:
	case 1:
		err = fmt.Errorf("%w; the fold also lacks the answer of rank %s", err, others[0])
	default:
		err = fmt.Errorf("%w; the fold also lacks the answers of ranks %s", err, words.Some(others))
	}
	return &AskError{Origin: origin, Seq: q.seq, Answered: in, Err: &RankError{Rank: r.Rank, Err: err}}
}

// element returns the length of an element in bytes, or 0 if it is not known.
func (sv *surveys) element() int {
	if sv.fold == nil {
		return 0
	}
	return sv.fold.Element
}

// fail makes the open questions end with err, by which the core has failed.
func (sv *surveys) fail(err error) {
	if sv.failed {
		return
	}
	sv.failed = true
	sv.tasks = slices.DeleteFunc(sv.tasks, func(t task) bool { return !t.learn })
	for origin, a := range sv.askers {
		if a == nil {
			continue
		}
		for _, q := range a.open {
			if q.body != nil {
				sv.close(origin, q, result{of: q.seq, err: sv.lost(origin, q, err)})
			}
		}
	}
}

// lost returns the error of an open question of a core that has failed by err.
func (sv *surveys) lost(origin int, q *inquiry, err error) error {
	e := &AskError{Origin: origin, Seq: q.seq, Answered: q.state.In(), Err: err}
	var lost *LostError
	if errors.As(err, &lost) {
		for _, a := range lost.Answers {
			if a.Origin == origin && a.Seq == q.seq {
				e.Answered = a.Answered
			}
		}
	}
	return e
}

// buffer decides where the body of an answer goes, or of the word that there is no result.
func (sv *surveys) buffer(h *wire.Header) ([]byte, wire.Verdict) {
	if b := sv.incoming[h.From]; b != nil {
		return b, wire.Accept // called again for a later part of the frame
	}
	origin := int(h.Arg)
	switch {
	case h.Print != sv.PublishPrint:
		sv.disagree(h)
		return nil, wire.Drop
	case origin >= sv.Size || h.Kind == wire.FrameUnanswered && origin == sv.Rank:
		return sv.bad(h, "it is of that rank")
	}
	if err := sv.expects(sv.place(origin), h); err != "" {
		return sv.bad(h, "%s", err)
	}
	sv.incoming[h.From] = make([]byte, h.Len)
	return sv.incoming[h.From], wire.Accept
}

// expects returns why a frame cannot come from its sender, or "". A question that is no longer open
// has ended because a rank has left. A question that has not come may be on its way.
func (sv *surveys) expects(a *asker, h *wire.Header) (problem string) {
	ahead := 0
	if int(h.Arg) != sv.Rank && sv.messages.Multicasts() {
		ahead = sv.PublishWindow
	}
	switch {
	case h.Len < 1 || h.Len > survey.MaxLen(sv.Size, sv.MaxMessage):
		return fmt.Sprintf("%d bytes", h.Len)
	case h.Seq >= a.next+uint64(ahead):
		return "it has not been asked"
	case h.Kind == wire.FrameUnanswered:
		if a.tree.Parent != h.From {
			return fmt.Sprintf("rank %d is above", a.tree.Parent)
		}
		return ""
	}
	i := a.tree.Child(h.From)
	if q := a.find(h.Seq); i < 0 || q != nil && q.state.Heard(i) {
		return "no answer is expected"
	}
	return ""
}

func (sv *surveys) bad(h *wire.Header, format string, args ...any) ([]byte, wire.Verdict) {
	what := map[wire.FrameKind]string{wire.FrameAnswer: "answer to question", wire.FrameUnanswered: "end of question"}[h.Kind]
	sv.fate.violation(h, "%s %d of rank %d: %s", what, h.Seq, h.Arg, fmt.Sprintf(format, args...))
	return nil, wire.Drop
}

// disagree fails the core because the sender of a frame uses other trees or other windows.
func (sv *surveys) disagree(h *wire.Header) {
	sv.fate.clash(overPublish, 0, sv.PublishWords, nil, h.From, h.Print)
}

// arrived takes a frame whose body is complete.
func (sv *surveys) arrived(h *wire.Header) {
	body := sv.incoming[h.From]
	sv.incoming[h.From] = nil
	origin := int(h.Arg)
	a := sv.place(origin)
	answer, err := survey.Parse(body, sv.Size)
	switch {
	case err != nil:
		sv.bad(h, "%v", err)
		return
	case h.Kind == wire.FrameAnswer && !sv.messages.Heard(origin, h.From, uint32(h.Slot)):
		sv.bad(h, "it acknowledges messages that do not exist")
		return
	case h.Seq < a.next && a.find(h.Seq) == nil:
		return
	}
	q := sv.inquiry(origin, h.Seq)
	switch i := a.tree.Child(h.From); {
	case h.Kind == wire.FrameAnswer && !q.state.Heard(i): // otherwise the child has left meanwhile
		q.state.Hear(i, answer)
		sv.passOn(origin, q)
	case h.Kind == wire.FrameAnswer:
	case answer.Refusal == nil:
		sv.bad(h, "it has a result")
	case q.body == nil:
		q.ended = &answer
	default:
		sv.refuse(origin, q, answer)
	}
}

// Answers says that the process answers the questions of all ranks from now on, by tasks. f folds
// the answers. If learns is true, the process also learns all results by tasks. Answers may be
// called only once.
func (c *Core) Answers(f *Fold, learns bool) { c.surveys.fold, c.surveys.learns = f, learns }

// CanAsk reports whether another question may be asked. If not, the caller waits for other ranks,
// so the core watches them.
func (c *Core) CanAsk() bool {
	room := c.fate.err == nil && c.surveys.hasRoom()
	if !room {
		c.watch.Want()
	}
	return room
}

// Ask asks all ranks and copies the question. It returns the question's number. Answers must have
// been called, and CanAsk must hold.
func (c *Core) Ask(question []byte) (seq uint64) { return c.surveys.ask(question) }

// Asked reports whether the result of a question of this rank is known, or never will be because
// the core has failed. If not, the caller waits for other ranks, so the core watches them.
func (c *Core) Asked(seq uint64) bool {
	if err := c.Err(); err != nil {
		c.surveys.fail(err)
	}
	if slices.ContainsFunc(c.surveys.done, func(r result) bool { return r.of == seq }) {
		return true
	}
	c.watch.Want()
	return false
}

// Result takes the result of a question of this rank. ok is false if it is not known. The process
// must call Result or Disregard for every question.
func (c *Core) Result(seq uint64) (data []byte, err error, ok bool) {
	sv := &c.surveys
	i := slices.IndexFunc(sv.done, func(r result) bool { return r.of == seq })
	if i < 0 {
		return nil, nil, false
	}
	r := sv.done[i]
	sv.done = slices.Delete(sv.done, i, i+1)
	return r.data, r.err, true
}

// Disregard says that the process no longer waits for the result of a question. All ranks still
// answer it.
func (c *Core) Disregard(seq uint64) {
	if _, _, known := c.Result(seq); known {
		return
	}
	if q := c.surveys.asker(c.env.Rank).find(seq); q != nil {
		q.unwanted = true
	}
}

// Task is a task for the process: to answer a question, or to learn its result.
type Task struct {
	Question Message
	Learn    bool
	Data     []byte // Learn: the result, unless Err is set
	Err      error  // Learn: why there is none
}

// HasTask reports whether there is a task.
func (c *Core) HasTask() bool {
	if c.fate.closing {
		return false
	}
	if err := c.Err(); err != nil {
		c.surveys.fail(err)
	}
	return len(c.surveys.tasks) > 0
}

// TakeTask takes the oldest task; ok is false if there is none. The process answers a question by
// Answer before it takes another task.
func (c *Core) TakeTask() (t Task, ok bool) {
	sv := &c.surveys
	for c.HasTask() {
		next := sv.tasks[0]
		if sv.tasks = slices.Delete(sv.tasks, 0, 1); len(sv.tasks) == 0 {
			sv.tasks = nil
		}
		by, question := askedBy(next.body)
		t = Task{Question: Message{Origin: next.origin, Seq: next.seq, Data: slices.Clone(question)}, Learn: next.learn, Data: next.data, Err: next.err}
		if next.learn {
			return t, true
		}
		q := sv.asker(next.origin).find(next.seq)
		switch {
		case q == nil: // the question has ended because a rank has left
		case by != foldWords(sv.fold):
			sv.own(next.origin, q, survey.Answer{Refusal: &survey.Refusal{Rank: sv.Rank, Cause: survey.Mismatch, Text: foldWords(sv.fold), Missing: []int{sv.Rank}}})
		default:
			return t, true
		}
	}
	return Task{}, false
}

// Answer answers a question that TakeTask has returned. The data belongs to the core then. If the
// question has ended, or the core has failed, Answer does nothing.
func (c *Core) Answer(origin int, seq uint64, data []byte) {
	sv := &c.surveys
	q := sv.asker(origin).find(seq)
	if q == nil || c.fate.err != nil {
		return
	}
	a := survey.Answer{Data: data}
	if len(data) > sv.MaxMessage {
		a = survey.Answer{Refusal: &survey.Refusal{Rank: sv.Rank, Cause: survey.TooLong, Bytes: len(data), OtherBytes: sv.MaxMessage, Missing: []int{sv.Rank}}}
	}
	sv.answered++
	sv.own(origin, q, a)
}

// inspect returns the first open questions.
func (sv *surveys) inspect() (list []OpenQuestion) {
	for origin, a := range sv.askers {
		for i := 0; a != nil && i < len(a.open) && len(list) < maxRuns; i++ {
			list = append(list, OpenQuestion{origin, a.open[i].seq, a.open[i].state.Waits()})
		}
	}
	return list
}

// answers returns the open questions of this rank's failed core, and the ranks whose answers it
// has.
func (sv *surveys) answers() (list []Answers) {
	for origin, a := range sv.askers {
		for i := 0; a != nil && i < len(a.open) && len(list) < agree.MaxQuestions; i++ {
			list = append(list, Answers{Origin: origin, Seq: a.open[i].seq, Answered: a.open[i].state.In()})
		}
	}
	return list
}

package explore

import (
	"bytes"
	"fmt"
)

// A process answers questions whenever they come, beside its calls, as a goroutine would. It takes
// a question in one step and answers it in another, so that anything may happen in between.

// asked returns the number of a question among those of its origin.
func (l *local) asked(c *call) (seq uint64) {
	for _, other := range l.script {
		if other == c {
			break
		}
		if other.Asks != nil && other.Origin == c.Origin {
			seq++
		}
	}
	return seq
}

// questionOf returns the call that asks question seq of an origin, and its index, or nil.
func (l *local) questionOf(origin int, seq uint64) (c *call, index int) {
	for i, c := range l.script {
		if c.Asks != nil && c.Origin == origin && l.asked(c) == seq {
			return c, i
		}
	}
	return nil, 0
}

// hasLearnt reports whether the process knows the results of all questions.
func (l *local) hasLearnt() bool {
	for _, c := range l.script {
		if c.Asks != nil && uint64(l.learnt[c.Origin]) <= l.asked(c) {
			return false
		}
	}
	return true
}

// answer does the next step of a process about questions: it answers the question that it has
// taken, or takes another one or a result.
func (s *system) answer(l *local) (problem string) {
	if q := l.busy; q != nil {
		_, i := l.questionOf(q.Origin, q.Seq)
		l.core.Answer(q.Origin, q.Seq, s.contribution(i, l.rank, 0))
		l.busy = nil
		return ""
	}
	task, ok := l.core.TakeTask()
	if !ok {
		return ""
	}
	q := task.Question
	c, _ := l.questionOf(q.Origin, q.Seq)
	switch {
	case c == nil || !bytes.Equal(q.Data, c.message):
		return fmt.Sprintf("rank %d gets question %d of rank %d, % x, which has not been asked", l.rank, q.Seq, q.Origin, q.Data)
	case !task.Learn:
		l.busy = &q
		return ""
	case uint64(l.learnt[q.Origin]) != q.Seq:
		return fmt.Sprintf("rank %d learns result %d of rank %d in the place of %d", l.rank, q.Seq, q.Origin, l.learnt[q.Origin])
	}
	l.learnt[q.Origin]++
	return s.result(l, c, task.Data, task.Err)
}

// result checks the result of a question at a rank.
func (s *system) result(l *local, c *call, data []byte, err error) (problem string) {
	switch {
	case err != nil && !s.Crash:
		return fmt.Sprintf("rank %d gets no result though all ranks are well: %v", l.rank, err)
	case err == nil && !bytes.Equal(data, c.answer):
		return fmt.Sprintf("rank %d gets result % x, not % x", l.rank, data, c.answer)
	}
	return ""
}

// taskWords describes what the process of a rank is about to do about questions.
func (l *local) taskWords() string {
	if l.busy != nil {
		return fmt.Sprintf("rank %d answers question %d of rank %d", l.rank, l.busy.Seq, l.busy.Origin)
	}
	return fmt.Sprintf("rank %d takes a question or a result", l.rank)
}

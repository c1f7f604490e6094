package schedgen

import (
	"context"
	"fmt"
	"reflect"

	"github.com/schedgen/schedgen/runtime"
)

// Result is what all ranks learn about a question that one of them has asked.
type Result[T any] struct {
	Question Message // Data is the question, and Origin the rank that has asked it
	Value    []T     // the fold of the answers of all ranks; belongs to the receiver
	Err      error   // why there is no Value: an [AskError]
}

// Answer makes this rank answer the questions of all ranks ([Ask]) from now on. op folds the
// answers of all ranks to a question, element by element. All ranks must pass the same operation
// and the same type, and must answer a question with slices of the same length. learn, if given, is
// called with the result of every question, also of this rank's own.
//
// A rank calls Answer once for each communicator. [Comm.Dup] makes a communicator for questions of
// another kind. A question that comes to a rank before this call has no result. So all ranks should
// call Answer, and then Barrier, before one of them asks.
//
// answer and learn are called in a separate goroutine, one call at a time, in the order in which
// questions and results arrive. Those of one rank arrive in its order. A rank passes a question on
// before it answers, so a slow answer does not keep other ranks from answering. The calls may use
// comm, for instance to publish or to wait for messages. But answer must not call Ask of comm,
// because this rank's answer to that question would wait for the first.
//
// Close does not wait for a running call, and drops its answer.
func Answer[T any](comm *Comm, op Op, answer func(question Message) []T, learn ...func(Result[T])) error {
	under, err := comm.below("Answer")
	if err != nil {
		return err
	}
	if err := checkElement[T](); err != nil {
		return comm.invalid("Answer", "%v", err)
	}
	fold, err := foldFor[T](comm, op)
	switch {
	case err != nil:
		return comm.invalid("Answer", "%v", err)
	case answer == nil:
		return comm.invalid("Answer", "the function that answers is nil")
	}
	how := runtime.Answering{
		Fold:   fold,
		Answer: func(q runtime.Message) []byte { return bytesOf(answer(Message(q))) },
	}
	if len(learn) > 0 {
		how.Learn = func(q runtime.Message, result []byte, err error) {
			r := Result[T]{Question: Message(q), Value: valuesOf[T](result), Err: public(err)}
			for _, f := range learn {
				f(r)
			}
		}
	}
	if err := under.Answers(how); err != nil {
		return public(err)
	}
	comm.folding.Lock()
	defer comm.folding.Unlock()
	comm.answers = reflect.TypeFor[T]()
	return nil
}

// Ask asks all ranks a question, which no rank needs to expect. At each rank, this one too, the
// function that was passed to [Answer] is called. Ask returns the fold of the slices that these
// functions return. All ranks get the result by the function learn of Answer. T must be the type of
// Answer at this rank.
//
//	err := schedgen.Answer(comm, schedgen.Sum, func(q schedgen.Message) []float64 { … })
//	err = schedgen.Barrier(ctx, comm)                          // all ranks answer now
//	sum, err := schedgen.Ask[float64](ctx, comm, question)     // any rank, at any time
//
// Several ranks, and several goroutines of a rank, may ask at a time. All ranks get the questions
// of one rank in its order. The order and the brackets of a fold depend only on the number of ranks
// and on the rank that asks. If rank 0 asks, answers are folded in the order of ranks.
//
// Ask waits while Config.PublishWindow questions of this rank are open, or PublishBytes bytes of
// questions and answers. If ctx ends before the question is asked, it is not asked. If ctx ends
// later, only the waiting ends: all ranks answer, and learn the result.
//
// If a rank has not called Answer, answers with another operation, type or length, or has closed
// the communicator, the error is an [AskError] that wraps [ErrUnanswered] and names the rank. The
// communicator stays intact. If a rank is lost, the communicator fails at all ranks. The AskError
// then has the ranks whose answers are in.
func Ask[T any](ctx context.Context, comm *Comm, question []byte) ([]T, error) {
	under, err := comm.below("Ask")
	if err != nil {
		return nil, err
	}
	comm.folding.Lock()
	answers := comm.answers
	comm.folding.Unlock()
	if want := reflect.TypeFor[T](); answers != nil && answers != want {
		return nil, comm.invalid("Ask", "this rank asks for %v and answers with %v", want, answers)
	}
	data, err := under.Ask(ctx, question)
	if err != nil {
		return nil, public(err)
	}
	return valuesOf[T](data), nil
}

// valuesOf returns a copy of elements that lie in bytes, which need not be aligned.
func valuesOf[T any](data []byte) []T {
	values := make([]T, len(data)/sizeOf[T]())
	copy(bytesOf(values), data)
	return values
}

// invalid returns the error of a call of function fn that is no collective, because of its
// arguments.
func (c *Comm) invalid(fn, format string, args ...any) error {
	return fmt.Errorf("%w: %s: rank %d of %d: %s", ErrInput, fn, c.Rank(), c.Size(), fmt.Sprintf(format, args...))
}

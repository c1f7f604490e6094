package schedgen

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// These are the conditions that errors wrap; test with [errors.Is]. The communicator stays intact
// after ErrInput, ErrBusy, ErrTooLarge, ErrTooMany, ErrUnanswered and, from Next, ErrPeerLeft.
// After any other it has failed: every later call returns the same error. Package runtime has the
// same variables.
var (
	// ErrInput: an argument or a field of Config is wrong. The call has done nothing, and the rank
	// may make it again. If other ranks have made their calls and this rank makes no other, all
	// ranks get ErrMismatch.
	ErrInput = runtime.ErrInput
	// ErrBusy: another goroutine is inside a collective of this communicator. To overlap
	// operations, start one after the other. Also, a prepared collective is started before Wait has
	// returned for its last start.
	ErrBusy = runtime.ErrBusy
	// ErrClosed: this rank has called Close, or Shrink has made another communicator.
	ErrClosed = runtime.ErrClosed
	// ErrTooLarge: a published message is longer than Config.MaxMessage, or a message of BcastBytes,
	// or a value of GatherBytes and its siblings, is longer than Config.MaxBcast.
	ErrTooLarge = runtime.ErrTooLarge
	// ErrTooMany: Split or Dup would make more communicators than may share a transport.
	ErrTooMany = runtime.ErrTooMany
	// ErrMismatch: ranks have called different collectives, or the same one with different roots,
	// lengths or algorithms. The error names two ranks and the call of each. A call may return
	// before the ranks know, because a root waits for nobody. The next call in which a rank waits
	// for one that differs fails. A barrier fails at every rank.
	//
	// Also, a rank may have refused a call with ErrInput and made no other while the other ranks
	// wait for it. They ask after Config.Stall. A second later, or after Config.Stall again if that
	// is longer, all ranks fail. The error then says why the call was refused. If the rank has made
	// another call instead, the error names that call and the refused one.
	ErrMismatch = runtime.ErrMismatch
	// ErrProtocol: a rank has sent a message that no correct rank sends.
	ErrProtocol = runtime.ErrProtocol
	// ErrAborted: another rank has failed and has said so. The error also wraps the cause at that
	// rank. For one failure, some ranks get ErrAborted and others do not. So a program whose ranks
	// must act alike tests for the cause.
	ErrAborted = runtime.ErrAborted
	// ErrRefused: the system refuses this rank a resource that it needs to reach the others, such
	// as descriptors. The other ranks get ErrAborted.
	ErrRefused = runtime.ErrRefused
	// ErrPeerLost: a rank can no longer be reached.
	ErrPeerLost = runtime.ErrPeerLost
	// ErrPeerSilent: a rank has given no sign of life for Config.Silence. It may still live. The
	// error is ErrPeerLost, too. If it is about this very rank, the others have taken this rank for
	// lost and have gone on without it.
	ErrPeerSilent = runtime.ErrPeerSilent
	// ErrPeerLeft: a rank has closed its communicator while others still need it. A rank that
	// panics while Close is deferred closes it, too. The others may go on with Shrink.
	ErrPeerLeft = runtime.ErrPeerLeft
	// ErrUnanswered: a rank has not answered a question of Ask. It has not called Answer, answers
	// with another operation, type or length, or has closed its communicator: the error is then
	// ErrPeerLeft, too.
	ErrUnanswered = runtime.ErrUnanswered
	// ErrQuorum: Config.Quorum forbids the ranks that are left to go on. The error of Shrink lists
	// them. The communicator had failed before.
	ErrQuorum = runtime.ErrQuorum
)

// OpError is the failure of one operation. It has the operation, its progress and the cause.
type OpError struct {
	Op    string // the algorithm, such as "allgather/ring", or "publish", "flush", "next"
	Rank  int    // the rank that reports
	Epoch uint32 // version of the membership
	Seq   uint64 // the operation's number, from 1; 0 for published messages
	Fired int    // number of rules of this rank's program that have fired
	Rules int    // number of all rules of this rank's program
	// Missing is the first few slots that the operation still waited for: c3 is chunk 3, s1 signal
	// 1.
	Missing []ir.Slot
	// Waiting is the first few ranks that were to send the missing slots. They may themselves wait
	// for others. If a rank is known to be late, Err is a RankError about it. Ranks find out who is
	// late when they have waited for Config.Stall.
	Waiting []int
	Whole   bool  // this rank's buffer nevertheless holds the whole message of a broadcast
	Err     error // the cause
}

// Error names the operation, its progress and the cause.
func (e *OpError) Error() string { return (*runtime.OpError)(e).Error() }

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// RankError is an error of one rank: the rank that has caused it, if that is known, or else the
// rank that has detected it.
type RankError struct {
	Rank int   // in the communicator
	Err  error // what happened there
}

// Error names the rank.
func (e *RankError) Error() string { return (*runtime.RankError)(e).Error() }

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

// LostError says that ranks are lost. All survivors get the same list, unless one of them did not
// answer in time when they agreed on it. It wraps ErrPeerLost and a [RankError] about the lowest
// rank of the list. It also wraps ErrPeerSilent if one of the ranks is silent.
type LostError struct {
	Ranks  []int // ascending
	Silent []int // the lost ranks that have given no sign of life and may still live
	// Came says how many published messages of lost ranks have come. It covers the four lowest
	// ranks that are lost or have left, and lists those of them that are lost and have published.
	Came []Came
	// Answers says whose answers to questions of Ask have come, for the questions that were open.
	// It lists at most 32, of the lowest ranks.
	Answers []Answers
	Err     error // how this rank has learnt of the loss
}

// Came says how many of a lost rank's published messages have come to the survivors: Least to one
// of them and Most to another. If the two are equal, all survivors have the same messages.
type Came struct {
	Rank        int    // the lost rank
	Least, Most uint64 // numbers of messages
}

// Answers says which ranks' answers to question Seq of rank Origin have come to one of the
// survivors.
type Answers struct {
	Origin   int
	Seq      uint64
	Answered []int // ascending
}

// AskError says why a question of [Ask] has no result.
type AskError struct {
	Origin   int    // the rank that has asked
	Seq      uint64 // the question's number among those of Origin, from 0
	Answered []int  // the ranks whose answers are known to be in, ascending
	Err      error  // the cause, which names a rank
}

// Error names the question and the cause.
func (e *AskError) Error() string { return (*runtime.AskError)(e).Error() }

// Unwrap returns Err.
func (e *AskError) Unwrap() error { return e.Err }

// Error names the ranks.
func (e *LostError) Error() string { return e.below().Error() }

// Unwrap returns the errors that LostError wraps.
func (e *LostError) Unwrap() []error {
	all := e.below().Unwrap()
	for i := range all {
		all[i] = public(all[i])
	}
	return all
}

// below returns the same error of package runtime.
func (e *LostError) below() *runtime.LostError {
	b := &runtime.LostError{Ranks: e.Ranks, Silent: e.Silent, Err: e.Err}
	for _, c := range e.Came {
		b.Came = append(b.Came, core.Came(c))
	}
	for _, a := range e.Answers {
		b.Answers = append(b.Answers, core.Answers(a))
	}
	return b
}

// failure is an error of package runtime in the form of this package. It has the same text. Unwrap
// leads to the types of that package, and errors.As also finds those of this package.
type failure struct{ err error }

// public returns err, an error of package runtime, in the form of this package. It returns nil for
// nil.
func public(err error) error {
	if err == nil {
		return nil
	}
	var already *failure
	if errors.As(err, &already) {
		return err
	}
	return &failure{err}
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// As finds the types of this package.
func (f *failure) As(target any) bool {
	switch t := target.(type) {
	case **OpError:
		var e *runtime.OpError
		if !errors.As(f.err, &e) {
			return false
		}
		found := OpError(*e)
		found.Err = public(e.Err)
		*t = &found
	case **RankError:
		var e *runtime.RankError
		if !errors.As(f.err, &e) {
			return false
		}
		found := RankError(*e)
		found.Err = public(e.Err)
		*t = &found
	case **LostError:
		var e *runtime.LostError
		if !errors.As(f.err, &e) {
			return false
		}
		found := LostError{Ranks: e.Ranks, Silent: e.Silent, Err: public(e.Err)}
		for _, c := range e.Came {
			found.Came = append(found.Came, Came(c))
		}
		for _, a := range e.Answers {
			found.Answers = append(found.Answers, Answers(a))
		}
		*t = &found
	case **AskError:
		var e *runtime.AskError
		if !errors.As(f.err, &e) {
			return false
		}
		found := AskError(*e)
		found.Err = public(e.Err)
		*t = &found
	default:
		return false
	}
	return true
}

// ended returns err, by which a call of function fn has ended, in the form of this package. It adds
// the function and the rank to ErrBusy, which has neither.
func (c *Comm) ended(fn string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrBusy) {
		err = fmt.Errorf("%s: rank %d of %d: %w", fn, c.Rank(), c.Size(), err)
	}
	return public(err)
}

// wrong refuses a call of function fn because of its arguments, and returns the error. If c is a
// communicator, the error names its rank.
func (c *Comm) wrong(fn, format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	if c.missing() {
		return fmt.Errorf("%w: %s: %s", ErrInput, fn, why)
	}
	c.under.Refuse(fn + ": " + why)
	return fmt.Errorf("%w: %s: rank %d of %d: %s", ErrInput, fn, c.Rank(), c.Size(), why)
}

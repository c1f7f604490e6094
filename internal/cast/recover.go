package cast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// ErrParted is wrapped by the error of Receive if the sender is gone, or continues without this
// rank because the two could not reach each other for a while.
var ErrParted = errors.New("parted from the sender")

var (
	errSender = errors.New("the sender is gone")
	errAlone  = errors.New("go on without the lost ranks")
)

// partedError wraps ErrParted beside another error.
type partedError struct{ error }

func (e *partedError) Unwrap() []error { return []error{e.error, ErrParted} }

// leaveTime is how long a rank whose context has ended stays for the other ranks.
const leaveTime = 5 * time.Second

// shrink returns a communicator of the remaining ranks after comm has failed with err. If no rank
// is lost, it returns err, because the same error would come again.
//
// If ctx ends while the ranks agree, this rank takes part until they have agreed, and then leaves
// the new communicator. If it left between the two agreements of Shrink, it would be a member of
// the new communicator, which would fail.
func shrink(ctx context.Context, comm *runtime.Comm, err error) (*runtime.Comm, error) {
	if ctx.Err() != nil || comm.Err() == nil || errors.Is(err, runtime.ErrMismatch) ||
		errors.Is(err, runtime.ErrProtocol) || errors.Is(err, runtime.ErrInput) {
		return nil, err
	}
	agreeing, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	defer context.AfterFunc(ctx, func() {
		late := time.AfterFunc(leaveTime, over)
		context.AfterFunc(agreeing, func() { late.Stop() })
	})()
	next, failed := comm.Shrink(agreeing)
	switch {
	case failed != nil:
		return nil, fmt.Errorf("%w: %w (%w)", errAlone, failed, err)
	case ctx.Err() != nil:
		return nil, errors.Join(context.Cause(ctx), next.Close())
	case next.Size() == comm.Size():
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// excluded reports whether err says that the other ranks took this rank for lost and continued
// without it.
func excluded(err error, rank int) bool {
	if lost := new(runtime.RankError); errors.As(err, &lost) && lost.Rank == rank && errors.Is(lost, runtime.ErrPeerLost) {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return excluded(e.Unwrap(), rank)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return excluded(err, rank) })
	}
	return false
}

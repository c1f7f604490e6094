package cast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// ErrParted is what the error of Receive wraps if the sender is gone, or goes on without this rank:
// it may be that the two have not reached each other for a while.
var ErrParted = errors.New("parted from the sender")

var (
	errSender = errors.New("the sender is gone")
	errAlone  = errors.New("go on without those that are lost")
)

// partedError is an error that is ErrParted, too.
type partedError struct{ error }

func (e *partedError) Unwrap() []error { return []error{e.error, ErrParted} }

// leaveTime bounds how long a rank whose context has ended stays for the sake of the others.
const leaveTime = 5 * time.Second

// shrink returns a communicator of the ranks that are left after err, which has failed comm. If
// none is lost the error would come again, and is returned.
//
// A rank whose ctx ends while they agree goes on until they have, and leaves what they have made
// then: who leaves between the two agreements of Shrink is counted in, and fails what they have
// made.
func shrink(ctx context.Context, comm *runtime.Comm, err error) (*runtime.Comm, error) {
	if ctx.Err() != nil || errors.Is(err, runtime.ErrMismatch) || errors.Is(err, runtime.ErrProtocol) || errors.Is(err, runtime.ErrInput) || comm.Err() == nil {
		return nil, err
	}
	agreeing, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	defer context.AfterFunc(ctx, func() {
		late := time.AfterFunc(leaveTime, over)
		context.AfterFunc(agreeing, func() { late.Stop() })
	})()
	heir, failed := comm.Shrink(agreeing)
	switch {
	case failed != nil:
		return nil, fmt.Errorf("%w: %w (%w)", errAlone, failed, err)
	case ctx.Err() != nil:
		return nil, errors.Join(context.Cause(ctx), heir.Close())
	case heir.Size() == comm.Size():
		return nil, errors.Join(err, heir.Close())
	}
	return heir, nil
}

// excluded reports whether err says that the other ranks have taken this one for lost and gone on
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

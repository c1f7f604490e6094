package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// LostError says that ranks are lost. It wraps ErrPeerLost, a RankError about the lowest lost rank,
// and ErrPeerSilent if a lost rank is silent.
type LostError = core.LostError

// succession links the communicators that Shrink makes from one another. They have the same number
// and different epochs.
type succession struct {
	agreeing sync.Mutex // held by the goroutine inside Agree or Shrink

	// The driver's lock guards the fields below.
	old     *Comm // the previous communicator, until it is closed
	shrunk  *Comm // the next communicator, until it has begun
	unfit   error // why shrunk must fail when it has begun; nil: it need not
	offered uint8 // sets of windows offered to the next communicator, as bits, until the ranks have agreed on one
}

// before returns the communicator that takes a frame of another epoch: the previous one if there is
// one, else c. It returns nil for a late message of an earlier agreement.
func (c *Comm) before(h *wire.Header) *Comm {
	switch {
	case c.old != nil:
		return c.old
	case h.Kind == wire.FrameAgree && h.Epoch < c.cfg.Epoch:
		return nil
	}
	return c
}

// Bits of a vote that say what the ranks agree on. Votes with different kinds are a mismatch. The
// lower bits hold the flags of Agree or the offered sets of windows.
const (
	agreeFlags = 1 << (32 + iota) // Agree
	agreeLeft                     // Shrink: which ranks are left
	agreeBegin                    // Shrink: all ranks know the ranks that are left
)

// Agree returns the bitwise AND of the flags of all ranks, and the ranks that took no part because
// they are lost or have closed c, ascending. The result is the same at every rank that returns
// without an error. Agree works before and after c has failed. It goes on when ranks are lost
// meanwhile, including the rank that gathers the votes. While no rank is lost, Agree takes 2⌈log₂
// Size⌉ steps and two messages a rank, of some 140 bytes each for up to 64 ranks, and as many again
// in the background. All ranks that are left must call Agree and Shrink in the same order;
// operations may run at the same time. Agree corresponds to MPI_Comm_agree of ULFM.
//
// Agreement covers the ranks that are left. A rank that returns and then dies before all ranks know
// the result may have returned another one. A rank that was stopped for longer than Config.Silence
// and goes on may also return another result, since it first takes the votes that came before the
// others found it lost. If a network is cut in two, each part agrees that the other part is lost;
// Config.Quorum lets at most one of them shrink.
//
// If ctx ends, only the wait ends: this rank's vote counts, and its next call of Agree waits for
// the same agreement, whatever flags it gives. The error names the ranks that are late, like that
// of [Comm.Shrink].
func (c *Comm) Agree(ctx context.Context, flags uint32) (agreed uint32, gone []int, err error) {
	if ctx == nil {
		return 0, nil, noContext("agree")
	}
	if !c.agreeing.TryLock() {
		return 0, nil, ErrBusy
	}
	defer c.agreeing.Unlock()
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	out, err := c.agree(ctx, core.Vote{Flags: agreeFlags | uint64(flags)})
	if err != nil {
		return 0, nil, fmt.Errorf("agree: rank %d, epoch %d: %w", c.rank, c.cfg.Epoch, err)
	}
	return uint32(out.Flags), out.Gone, nil
}

// Shrink returns a communicator of the ranks of c that are left, in their order, with a higher
// epoch. It is the way to go on after [ErrPeerLost]. c fails at all ranks, if it has not failed
// yet, and is closed when Shrink returns without an error. All ranks that are left must call
// Shrink. It agrees twice, like [Comm.Agree]: on the ranks that are left, and on the fact that all
// ranks know them. A rank that leaves between the two agreements, or is lost later, fails the new
// communicator, which can be shrunk in turn.
//
// The new communicator has the Config of c, without Params.Hosts if ranks are missing, and makes
// its own schedules. It shares the connections of c and uses the number and the multicast group of
// c. If ranks share memory and a set of windows is free at all of them, the new communicator has
// windows, like one made by [Comm.Split]. A rank that cannot make its windows fails the new
// communicator at every rank, with its reason. Nothing else carries over from c: published messages
// that were not taken are gone.
//
// If Config.Quorum forbids the ranks that are left to go on, Shrink fails at all of them with
// ErrQuorum. c stays as it is, failed.
//
// If ctx ends, only the wait ends: Shrink can be called again. The error names a rank whose call
// has not come, as a [RankError], if this rank knows which one. Otherwise it names several ranks,
// at least one of which is late, or the rank that is to pass on the result.
//
// A launcher may end all ranks when one dies: mpirun needs --enable-recovery (Open MPI), or ranks
// started as sh -c './program || true' (Open MPI, MPICH); see examples/survive.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	if ctx == nil {
		return nil, noContext("shrink")
	}
	since := c.drv.clock.Now()
	next, err := c.shrinkOnce(ctx)
	if next != nil {
		c.logClose(err)
		next.logJoin("shrink", c.drv.clock.Now().Sub(since))
	}
	return next, err
}

// shrinkOnce shrinks and closes c. No other goroutine may be inside Agree or Shrink.
func (c *Comm) shrinkOnce(ctx context.Context) (*Comm, error) {
	if !c.agreeing.TryLock() {
		return nil, ErrBusy
	}
	defer c.agreeing.Unlock()
	d := c.drv
	d.mu.Lock()
	defer d.mu.Unlock()
	next, err := c.shrink(ctx)
	if err != nil {
		return nil, fmt.Errorf("shrink: rank %d, epoch %d: %w", c.rank, c.cfg.Epoch, err)
	}
	c.settle() // a rank that hears goodbye before it knows the result takes the sender for gone
	c.shrunk = nil
	err = c.close()
	c.core.Supersede(ErrClosed)
	return next, err
}

// errShrunk is the failure of a communicator that still worked when it was shrunk.
var errShrunk = errors.New("Shrink has been called")

func (c *Comm) shrink(ctx context.Context) (*Comm, error) {
	if c.closing {
		return nil, ErrClosed
	}
	if c.core.Settle(); c.core.Err() == nil {
		c.failFor("shrink", errShrunk)
	}
	if c.shrunk == nil {
		if err := c.makeShrunk(ctx); err != nil {
			return nil, err
		}
	}
	out, err := c.agree(ctx, core.Vote{Flags: agreeBegin})
	if err != nil {
		return nil, err
	}
	if err := c.checkQuorum(out.Gone); err != nil {
		return nil, err
	}
	c.loseAbsent(out.Gone)
	if c.unfit != nil {
		c.shrunk.failFor("shrink", c.unfit)
	}
	return c.shrunk, nil
}

// makeShrunk agrees on the ranks that are left, and makes the next communicator. Each vote offers
// the sets of windows that are free at its rank; the outcome holds the sets that all votes offer.
func (c *Comm) makeShrunk(ctx context.Context) error {
	d := c.drv
	if c.offered == 0 {
		c.offered = d.offerSets()
	}
	out, err := c.agree(ctx, core.Vote{Flags: agreeLeft | uint64(c.offered), Generation: d.numbers.generation})
	if err != nil {
		return err
	}
	d.windows.release(&c.offered)
	if err := c.checkQuorum(out.Gone); err != nil {
		return err
	}
	d.tr.Abandon(c.number) // frames of c must not arrive after frames of the next
	left, next := c.without(out.Gone), outcome{
		number: c.number, epoch: out.Generation + 1, set: lowestSet(uint8(out.Flags)),
	}
	c.shrunk, err = c.register(left, next, c.casting)
	if errors.Is(err, ErrRefused) { // without windows it can tell the others
		c.unfit, next.set = err, 0
		c.shrunk, err = c.register(left, next, c.casting)
	}
	if c.shrunk != nil {
		c.shrunk.electorate = c.electors(left)
	}
	return err
}

// errNotBegun is why the next communicator loses a rank that was counted in and has not begun.
var errNotBegun = errors.New("it has left while the ranks shrank")

// loseAbsent tells the next communicator which ranks were counted in by the first agreement and
// took no part in the second. Such a rank has said goodbye to c and says nothing to the next.
func (c *Comm) loseAbsent(gone []int) {
	for _, rank := range gone {
		if r, member := c.shrunk.rankOf(c.endpointOf(rank)); member {
			c.shrunk.core.Ended(r, wire.Broken, errNotBegun)
		}
	}
	c.shrunk.serve()
	c.shrunk.notice()
}

// without returns the ranks of c that are not among gone.
func (c *Comm) without(gone []int) (left []int) {
	for rank := range c.size {
		if !slices.Contains(gone, rank) {
			left = append(left, rank)
		}
	}
	return left
}

// agree votes and waits for the outcome.
func (c *Comm) agree(ctx context.Context, v core.Vote) (core.Outcome, error) {
	if c.closing {
		return core.Outcome{}, ErrClosed
	}
	c.enter()
	defer c.leave()
	w := &verdict{number: c.core.Vote(v)}
	if err := c.await(ctx, w); err != nil {
		if ctx.Err() != nil {
			err = c.withAwaited(w.number, v, err)
		}
		return core.Outcome{}, err
	}
	const kinds = agreeFlags | agreeLeft | agreeBegin
	if w.out.Flags&kinds != v.Flags&kinds {
		return core.Outcome{}, fmt.Errorf("%w: some ranks have called Agree, others Shrink", ErrMismatch)
	}
	return w.out, nil
}

// withAwaited adds to err, the end of a context, the ranks that an agreement waits for.
func (c *Comm) withAwaited(number uint64, v core.Vote, err error) error {
	what := "its call of Shrink"
	switch {
	case v.Flags&agreeFlags != 0:
		what = "its call of Agree"
	case v.Flags&agreeBegin != 0:
		what = "its confirmation of the ranks that are left"
	}
	ranks, votes := c.core.Awaited(number)
	switch {
	case len(ranks) == 0:
		return err
	case !votes:
		return fmt.Errorf("rank %d has not passed on the result, and may still wait for it: %w", ranks[0], err)
	case len(ranks) == 1:
		return &RankError{Rank: ranks[0], Err: fmt.Errorf("%s has not arrived: %w", what, err)}
	}
	return fmt.Errorf("one of ranks %v is late: %s has not arrived: %w", ranks[:min(len(ranks), maxNamed)], what, err)
}

// verdict is what Agree and Shrink wait for.
type verdict struct {
	number uint64
	out    core.Outcome
}

func (w *verdict) met(c *Comm) (ok bool) {
	w.out, ok = c.core.Outcome(w.number)
	return ok
}

func (w *verdict) failed(c *Comm) error {
	if c.closing {
		return ErrClosed
	}
	return c.core.Excluded()
}

// settle waits until the other ranks know the results that this rank has agreed on, at most for
// Config.Waiting.Linger.
func (c *Comm) settle() {
	if c.closing || c.core.Confirmed() || c.core.Excluded() != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer c.cfg.Clock.AfterFunc(c.cfg.Waiting.Linger, cancel).Stop()
	defer cancel()
	defer c.drv.unwatch() // or cancel would start a goroutine that waits for the lock
	c.enter()
	defer c.leave()
	_ = c.await(ctx, confirmed{}) // if the other ranks do not answer, nothing more can be done
}

// confirmed is what settle waits for.
type confirmed struct{}

func (confirmed) met(c *Comm) bool { return c.core.Confirmed() || c.core.Excluded() != nil }

func (confirmed) failed(c *Comm) error {
	if c.closing {
		return ErrClosed
	}
	return nil
}

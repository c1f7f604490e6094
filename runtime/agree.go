package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// LostError is that ranks are lost. It wraps ErrPeerLost, a RankError about the lowest of them, and
// ErrPeerSilent if one of them is silent.
type LostError = core.LostError

// succession is of communicators that follow each other by Shrink under one number, with
// different epochs.
type succession struct {
	agreeing sync.Mutex // held by the goroutine inside Agree or Shrink

	// The driver's lock guards the others.
	old     *Comm // the one before, until that is closed
	heir    *Comm // the next one, until it has begun
	offered uint8 // sets of windows for it, by bits, until it is known which of them it has
}

// before returns the communicator that a frame of another epoch is for: the one before, nil
// if none can make anything of it.
func (c *Comm) before(h *wire.Header) *Comm {
	switch {
	case c.old != nil:
		return c.old
	case h.Kind == wire.FrameAgree && h.Epoch < c.cfg.Epoch:
		return nil
	}
	return c
}

// What ranks agree on, besides the flags of Agree and the sets of windows that all offer: they must all mean the same.
const (
	agreeFlags = 1 << (32 + iota) // Agree
	agreeLeft                     // Shrink: who is left
	agreeBegin                    // Shrink: all know that
)

// Agree returns the flags that all ranks have given, and the ranks that have taken no part,
// ascending, because they are lost or have closed c: the same at every rank that returns without an error.
// It works while c does, and after c has failed, and goes on around ranks that are lost
// meanwhile, the one that gathers the votes included. While none is, it takes 2⌈log₂ Size⌉
// steps and two messages of some 40 bytes a rank, and as much again behind the callers' backs. All ranks that are left
// must call Agree and Shrink in the same order; operations may run beside them. (It is what MPI_Comm_agree of ULFM is.)
//
// Agreement is among ranks that are left: one that has returned, and then dies before all know,
// may have been told something else. So may one that was stopped for longer than Config.Silence and
// goes on: it first takes the votes that came before the others found it lost. Where a network is cut in two, each part agrees for
// itself that the other is lost.
//
// The end of ctx ends the waiting alone: this rank's vote counts, and its next call of Agree
// waits for the same agreement, whatever flags it gives.
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
// epoch: what remains to be done after [ErrPeerLost]. c fails at all ranks, if it has not
// yet, and is closed when Shrink returns without an error. All ranks that are left must call it; it agrees
// twice, as [Comm.Agree] does: on who is left, and that all know. A rank that is lost later than that,
// or leaves between the two, fails the new communicator, which can be shrunk in turn.
//
// The new communicator has the Config of c, but for Params.Hosts, shares its connections and
// uses its number and its multicast group, and has schedules of its own. Where ranks share memory it has windows of its own as one
// made by [Comm.Split] does, if some are free at all its ranks. Nothing goes over from c: messages that were
// published and not taken are gone.
//
// The end of ctx ends the waiting alone, as it does for Agree: Shrink can be called again.
//
// A launcher may end all ranks when one dies: mpirun needs --enable-recovery (Open MPI), or ranks that are
// started as sh -c './program || true' (Open MPI, MPICH); see examples/survive.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	if ctx == nil {
		return nil, noContext("shrink")
	}
	since := c.drv.clock.Now()
	heir, err := c.shrinkOnce(ctx)
	if heir != nil {
		c.logClose(err)
		heir.logJoin("shrink", c.drv.clock.Now().Sub(since))
	}
	return heir, err
}

// shrinkOnce shrinks and closes c. No other goroutine may be about to agree.
func (c *Comm) shrinkOnce(ctx context.Context) (*Comm, error) {
	if !c.agreeing.TryLock() {
		return nil, ErrBusy
	}
	defer c.agreeing.Unlock()
	d := c.drv
	d.mu.Lock()
	defer d.mu.Unlock()
	heir, err := c.shrink(ctx)
	if err != nil {
		return nil, fmt.Errorf("shrink: rank %d, epoch %d: %w", c.rank, c.cfg.Epoch, err)
	}
	c.settle() // who hears the goodbyes before what has been agreed would take these ranks for gone
	c.heir = nil
	return heir, c.close()
}

// errShrunk is why a communicator has failed that worked when it was shrunk.
var errShrunk = errors.New("Shrink has been called")

func (c *Comm) shrink(ctx context.Context) (*Comm, error) {
	if c.closing {
		return nil, ErrClosed
	}
	if c.core.Settle(); c.core.Err() == nil {
		c.core.Fail("shrink", 0, errShrunk)
		c.serve()
		c.notice()
	}
	if c.heir == nil {
		if err := c.conceive(ctx); err != nil {
			return nil, err
		}
	}
	out, err := c.agree(ctx, core.Vote{Flags: agreeBegin})
	if err != nil {
		return nil, err
	}
	c.bereave(out.Gone)
	return c.heir, nil
}

// conceive agrees on who is left, and makes the heir. The sets of windows that are free at a rank are in its vote, and
// of votes what all have in common counts.
func (c *Comm) conceive(ctx context.Context) error {
	d := c.drv
	if c.offered == 0 {
		c.offered = d.offerSets()
	}
	out, err := c.agree(ctx, core.Vote{Flags: agreeLeft | uint64(c.offered), Generation: d.numbers.generation})
	if err != nil {
		return err
	}
	d.windows.release(&c.offered)
	d.tr.Abandon(c.number) // what is still queued of c must not be before what is the heir's
	c.heir, err = c.register(c.without(out.Gone), outcome{
		number: c.number, epoch: out.Generation + 1, set: lowestSet(uint8(out.Flags)),
	}, c.casting)
	return err
}

// errNotBegun is why a rank is lost in the heir that was counted in and has not begun.
var errNotBegun = errors.New("it has left while the ranks shrank")

// bereave tells the heir of ranks of c that were still there when it was agreed who is in it, and have taken
// no part in the second agreement. What they have said of c nobody says of the heir.
func (c *Comm) bereave(gone []int) {
	for _, rank := range gone {
		if r, member := c.heir.rankOf(c.endpointOf(rank)); member {
			c.heir.core.Ended(r, wire.Broken, errNotBegun)
		}
	}
	c.heir.serve()
	c.heir.notice()
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

// agree votes and waits for what follows.
func (c *Comm) agree(ctx context.Context, v core.Vote) (core.Outcome, error) {
	if c.closing {
		return core.Outcome{}, ErrClosed
	}
	c.enter()
	defer c.leave()
	w := &verdict{number: c.core.Vote(v)}
	if err := c.await(ctx, w); err != nil {
		return core.Outcome{}, err
	}
	const kinds = agreeFlags | agreeLeft | agreeBegin
	if w.out.Flags&kinds != v.Flags&kinds {
		return core.Outcome{}, fmt.Errorf("%w: some ranks have called Agree, others Shrink", ErrMismatch)
	}
	return w.out, nil
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

// settle waits until the other ranks know what this one has agreed on with them, for no longer than
// Config.Waiting.Linger.
func (c *Comm) settle() {
	if c.closing || c.core.Confirmed() || c.core.Excluded() != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer c.cfg.Clock.AfterFunc(c.cfg.Waiting.Linger, cancel).Stop()
	defer cancel()
	c.enter()
	defer c.leave()
	_ = c.await(ctx, confirmed{}) // there is no more to be done if they do not answer
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

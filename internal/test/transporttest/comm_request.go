package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// testRequests makes every rank start the same operations, from several roots, each rank in its own
// way. Some ranks start all operations and then wait in any order, some wait for each one, some
// have a few open, some call instead, and one is late. Rootless messages are sent beside them.
func testRequests(t *testing.T, with network) {
	algorithms := []string{""}
	for name := range with.broadcasts {
		algorithms = append(algorithms, name)
	}
	for i, name := range algorithms {
		ranks := []int{1, 2, 3, 5, 8}[i%5]
		with.run(t, fmt.Sprintf("%s/ranks=%d", name, ranks), func(t *testing.T) {
			comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}, Chunk: 3000, Repair: 2 * time.Millisecond})
			plays := script(uint64(i), ranks, 60)
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				return (&player{ctx: ctx, c: c, plays: plays, random: rand.New(rand.NewPCG(uint64(i), uint64(c.Rank())))}).run()
			})
		})
	}
}

// play is one operation of a script: a barrier, or a broadcast of n bytes.
type play struct {
	barrier bool
	root, n int
	publish bool // the root publishes a message before
}

func script(seed uint64, ranks, length int) []play {
	random := rand.New(rand.NewPCG(seed, 7))
	plays := []play{}
	for range length {
		plays = append(plays, play{
			barrier: random.IntN(4) == 0, root: random.IntN(ranks), n: sizes[random.IntN(len(sizes)-1)], publish: random.IntN(8) == 0,
		})
	}
	return plays
}

// player is a rank that plays a script.
type player struct {
	ctx    context.Context
	c      *runtime.Comm
	plays  []play
	random *rand.Rand
	open   []started
}

// started is a request and its expected result.
type started struct {
	req  *runtime.Request
	i    int
	buf  []byte
	want []byte
}

func (p *player) run() error {
	rank := p.c.Rank()
	if rank == 2 {
		time.Sleep(3 * time.Millisecond) // its process computes
	}
	width := []int{len(p.plays), 1, 3, 12, 2}[rank%5]
	expected := 0
	for i, play := range p.plays {
		switch {
		case play.publish && play.root == rank:
			if err := p.c.Publish(p.ctx, content(uint64(i), 100)); err != nil {
				return err
			}
		case play.publish:
			expected++
		}
		if err := p.start(i, play, width == 1 && i%2 == 0); err != nil {
			return fmt.Errorf("start %d: %w", i, err)
		}
		for len(p.open) >= width {
			if err := p.finish(p.random.IntN(len(p.open))); err != nil {
				return err
			}
		}
	}
	for len(p.open) > 0 {
		if err := p.finish(p.random.IntN(len(p.open))); err != nil {
			return err
		}
	}
	for range expected {
		if _, err := p.c.Next(p.ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts operation i, or calls it.
func (p *player) start(i int, play play, call bool) (err error) {
	s := started{i: i}
	switch {
	case play.barrier && call:
		return p.c.Barrier(p.ctx)
	case play.barrier:
		s.req, err = p.c.StartBarrier(p.ctx)
	case call:
		return bcast(p.ctx, p.c, uint64(i), buffer(play.n), play.root)
	default:
		s.want = content(uint64(i), play.n)
		if s.buf = buffer(play.n); p.c.Rank() == play.root {
			copy(s.buf, s.want)
		}
		s.req, err = p.c.StartBcast(p.ctx, s.buf, play.root)
	}
	p.open = append(p.open, s)
	return err
}

// finish waits for one of the open requests, in one of several ways.
func (p *player) finish(k int) error {
	s := p.open[k]
	p.open = slices.Delete(p.open, k, k+1)
	if s.i%5 == 0 {
		select {
		case <-s.req.Done():
		case <-p.ctx.Done():
		}
	}
	if err := s.req.Wait(p.ctx); err != nil {
		return err
	}
	if !bytes.Equal(s.buf, s.want) {
		return fmt.Errorf("rank %d: wrong bytes in operation %d", p.c.Rank(), s.i+1)
	}
	for i := range s.buf {
		s.buf[i] = 0xAA // the buffer belongs to the caller again
	}
	return s.req.Wait(p.ctx)
}

// testRequestDone: a request ends without a waiter, and any number of goroutines may wait for it.
func testRequestDone(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		want := content(1, 20000)
		buf := buffer(len(want))
		if c.Rank() == 1 {
			copy(buf, want)
		}
		first, err := c.StartBcast(ctx, buf, 1)
		if err != nil {
			return err
		}
		second, err := c.StartBarrier(ctx)
		if err != nil {
			return err
		}
		<-second.Done()
		<-first.Done()
		if !bytes.Equal(buf, want) {
			return fmt.Errorf("rank %d has wrong bytes", c.Rank())
		}
		var waits sync.WaitGroup
		errs := [4]error{}
		third, err := c.StartBarrier(ctx)
		if err != nil {
			return err
		}
		for i := range errs {
			waits.Go(func() { errs[i] = third.Wait(ctx) })
		}
		waits.Wait()
		return errs[0]
	})
}

// testRequestWait: a cancelled wait does not affect the request.
func testRequestWait(t *testing.T, with network) {
	comms := join(t, with, 2, runtime.Config{})
	req, err := comms[0].StartBarrier(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = req.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "operation 1")
	require.NoError(t, comms[1].Barrier(t.Context()))
	require.NoError(t, req.Wait(t.Context()))
	require.NoError(t, req.Wait(ctx), "it has ended")
	require.NoError(t, comms[0].Err())
}

// testRequestContext: the end of a request's context fails the communicator at all ranks, with or
// without a waiter, and each open request has its own error.
func testRequestContext(t *testing.T, with network) {
	comms := join(t, with, 4, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var reqs []*runtime.Request
	for i := range 9 { // some of them are queued
		with := t.Context()
		if i == 1 {
			with = ctx
		}
		req, err := comms[1].StartBcast(with, buffer(10), 0)
		require.NoError(t, err)
		reqs = append(reqs, req)
	}
	for i, req := range reqs {
		<-req.Done()
		err := req.Wait(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var op *runtime.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, uint64(i+2), op.Seq)
	}
	for _, rank := range []int{0, 2, 3} {
		err := comms[rank].Barrier(t.Context())
		require.ErrorIs(t, err, runtime.ErrAborted, "rank %d", rank)
		require.ErrorContains(t, err, "operation 3", "rank %d", rank)
	}
	_, err := comms[1].StartBarrier(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded, "a failed communicator stays failed")
}

// testRequestClose: Close ends open requests, including queued ones, and returns their buffers.
func testRequestClose(t *testing.T, with network) {
	comms := join(t, with, 2, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	var reqs []*runtime.Request
	bufs := [][]byte{}
	for range 8 {
		bufs = append(bufs, buffer(50000))
		req, err := comms[0].StartBcast(t.Context(), bufs[len(bufs)-1], len(bufs)%2)
		require.NoError(t, err)
		reqs = append(reqs, req)
	}
	require.NoError(t, comms[0].Close())
	for i, req := range reqs {
		for k := range bufs[i] {
			bufs[i][k] = 1
		}
		<-req.Done()
		require.ErrorIs(t, req.Wait(t.Context()), runtime.ErrClosed)
	}
	_, err := comms[0].StartBarrier(t.Context())
	require.ErrorIs(t, err, runtime.ErrClosed)
	err = comms[1].Barrier(t.Context())
	require.ErrorIs(t, err, runtime.ErrPeerLeft)
	require.NotErrorIs(t, err, runtime.ErrPeerLost, "it lives")
}

// testRequestCrash: a rank that is gone without a goodbye fails the open requests of all others.
func testRequestCrash(t *testing.T, with network) {
	const ranks = 4
	comms := join(t, mortals(with, ranks-1), ranks, runtime.Config{Stall: 20 * time.Millisecond})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	require.NoError(t, comms[ranks-1].Close())
	errs := each(t, comms[:ranks-1], func(ctx context.Context, c *runtime.Comm) error {
		first, err := c.StartBarrier(ctx)
		if err != nil {
			return err
		}
		second, err := c.StartBcast(ctx, buffer(1000), ranks-1)
		if err != nil {
			return err
		}
		if err := second.Wait(ctx); err == nil {
			return fmt.Errorf("rank %d has a message of a rank that is dead", c.Rank())
		}
		return first.Wait(ctx)
	})
	requireFailed(t, errs, runtime.ErrPeerLost)
}

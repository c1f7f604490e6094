package group_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/group"
)

// within calls do, which must end within an hour of virtual time, and returns its error.
func within(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Hour):
		t.Fatal("it does not end")
		return nil
	}
}

// enter joins the hall's group.
func (h *hall) enter(t *testing.T) (*register, *group.Group) {
	r := h.register()
	g, err := group.Join(t.Context(), group.Config{Name: "g", Address: "127.0.0.1:0", Manager: r, Connect: r.connect})
	require.NoError(t, err)
	return r, g
}

// pair returns two members that have called Advance.
func pair(t *testing.T, h *hall) (rs [2]*register, gs [2]*group.Group) {
	for i := range gs {
		rs[i], gs[i] = h.enter(t)
	}
	var wg sync.WaitGroup
	for _, g := range gs {
		wg.Go(func() {
			if _, err := g.Advance(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return rs, gs
}

// If a manager cannot make another view at once, members ask it again.
func TestReportIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 0)
		rs, gs := pair(t, h)
		rs[0].mu.Lock()
		rs[0].refuses = 3
		rs[0].mu.Unlock()
		rs[1].die() // the register is not told
		require.NoError(t, within(t, func() error {
			_, err := gs[0].Await(t.Context(), gs[0].View().Epoch)
			return err
		}))
		require.Len(t, gs[0].View().Members, 1)
		gs[0].Close()
		gs[1].Close()
	})
}

// Advance ends with the membership, even if the others do not call it.
func TestAdvanceEndsWithTheMembership(t *testing.T) {
	for name, end := range map[string]struct {
		do   func(ctx context.Context, g *group.Group) error
		want error
	}{
		"leave": {func(ctx context.Context, g *group.Group) error { return g.Leave(ctx) }, group.ErrLeft},
		"close": {func(_ context.Context, g *group.Group) error { return g.Close() }, group.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(1, 0)
				_, gs := pair(t, h)
				advanced := make(chan error, 1)
				go func() {
					_, err := gs[1].Advance(t.Context()) // rank 0 must say how to go on, but does not
					advanced <- err
				}()
				synctest.Wait()
				require.NoError(t, within(t, func() error { return end.do(t.Context(), gs[1]) }))
				require.ErrorIs(t, within(t, func() error { return <-advanced }), end.want)
				gs[1].Close()
				gs[0].Close()
			})
		})
	}
}

// After Leave, Advance fails, even if the manager has not removed this member.
func TestAdvanceOfLeavingMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, advanced := range []bool{false, true} {
			h := newHall(1, 0)
			r, g := h.enter(t)
			if advanced {
				_, err := g.Advance(t.Context())
				require.NoError(t, err)
			}
			r.stays = true
			require.ErrorIs(t, g.Leave(t.Context()), errRefused)
			require.ErrorIs(t, within(t, func() error {
				_, err := g.Advance(t.Context())
				return err
			}), group.ErrLeft)
			require.NoError(t, g.Close())
		}
	})
}

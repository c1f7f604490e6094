package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// Members that a cut makes silent, however many, do not stop the members after them: the part with
// more than half of all goes on.
func TestManySilentMembers(t *testing.T) {
	for _, size := range []int{5, 31} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t, size, around(func(ctx context.Context, _ int, dial func() (net.Conn, error)) (net.Conn, error) {
					conn, err := dial()
					if errors.Is(err, errCut) { // no process gives this answer
						<-ctx.Done()
					}
					return conn, err
				}))
				for _, m := range c.managers {
					c.see(m, c.members)
				}
				c.cutAt(size / 2)
				for rank, m := range c.managers[size/2:] {
					v, err := last(c.ctx, m, func(v membership.View) bool { return same(v, c.members[size/2:]) })
					require.NoError(t, err, "rank %d, last view %d of %d", size/2+rank, v.Epoch, len(v.Members))
				}
				_, err := last(c.ctx, c.managers[0], func(membership.View) bool { return false })
				require.ErrorIs(t, err, membership.ErrLost)
			})
		})
	}
}

// leap is a clock that can be put forward, as seen by a process that was stopped, or had no time,
// for a while.
type leap struct {
	clock.System
	by atomic.Int64
}

func (c *leap) Now() time.Time { return c.System.Now().Add(time.Duration(c.by.Load())) }

// A manager that could not hear for a while does not therefore take members for silent.
func TestStoppedManagerHearsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := new(leap)
		c := newCrew(t, 5, func(_ int, cfg *embedded.Config) { cfg.Clock = now })
		for _, m := range c.managers {
			c.see(m, c.members)
		}
		for i := range 50 {
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
			now.by.Add(int64(time.Minute))
		}
		time.Sleep(time.Minute)
		v, err := c.managers[4].Watch(c.ctx, 0)
		require.NoError(t, err)
		require.True(t, same(v, c.members), "%d members are left", len(v.Members))
	})
}

// A member that dies while the others turn to another manager is also found at once, whether it
// dies before it has heard of that manager or right after.
func TestDeathInAHandOver(t *testing.T) {
	for _, rest := range []time.Duration{0, time.Millisecond} {
		t.Run(fmt.Sprint(rest), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t, 5, nil)
				for _, m := range c.managers {
					c.see(m, c.members)
				}
				begun := time.Now()
				c.managers[0].Die()
				if rest > 0 {
					c.see(c.managers[1], c.members[1:])
					time.Sleep(rest)
				}
				c.managers[4].Die()
				c.see(c.managers[1], c.members[1:4])
				require.Less(t, time.Since(begun), time.Second) // virtual
			})
		})
	}
}

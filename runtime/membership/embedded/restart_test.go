package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// again returns the place of a process that is started in the place of p's.
func (p *plug) again() *plug {
	p.cable.mu.Lock()
	defer p.cable.mu.Unlock()
	other := &plug{cable: p.cable, rank: p.rank, came: make(chan net.Conn), shut: make(chan struct{})}
	p.cable.plugs[p.rank] = other
	return other
}

// crew is members on a cable, each of which knows where all answer.
type crew struct {
	*cable
	t        *testing.T
	ctx      context.Context
	seeds    []string
	edit     func(rank int, cfg *embedded.Config)
	managers []*embedded.Manager
	members  []membership.Member
}

func newCrew(t *testing.T, size int, edit func(rank int, cfg *embedded.Config)) *crew {
	ctx, end := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(end)
	c := &crew{cable: new(cable), t: t, ctx: ctx, edit: edit}
	for range size {
		l := c.listen()
		c.seeds = append(c.seeds, l.Addr().String())
		l.Close() // nobody is there yet
	}
	for rank := range size {
		c.enter(rank, c.plugs[rank].again())
	}
	return c
}

// enter has a new process join at a place.
func (c *crew) enter(rank int, l *plug) *embedded.Manager {
	cfg := embedded.Config{Listener: l, Seeds: c.seeds}.WithDial(l.dial)
	if c.edit != nil {
		c.edit(rank, &cfg)
	}
	m, err := embedded.New(cfg)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { m.Close() })
	c.managers, c.members = append(c.managers, m), append(c.members, membership.Member{ID: membership.NewID()})
	_, err = m.Join(c.ctx, c.members[len(c.members)-1])
	require.NoError(c.t, err)
	return m
}

// see holds that m comes to a view of just these members.
func (c *crew) see(m membership.Manager, members []membership.Member) {
	_, err := last(c.ctx, m, func(v membership.View) bool { return same(v, members) })
	require.NoError(c.t, err)
}

func same(v membership.View, members []membership.Member) bool {
	for rank, m := range members {
		if v.Rank(m.ID) != rank {
			return false
		}
	}
	return len(v.Members) == len(members)
}

// around has what members dial go by do.
func around(do func(ctx context.Context, rank int, dial func() (net.Conn, error)) (net.Conn, error)) func(int, *embedded.Config) {
	return func(rank int, cfg *embedded.Config) {
		dial := cfg.Listener.(*plug).dial
		*cfg = cfg.WithDial(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return do(ctx, rank, func() (net.Conn, error) { return dial(ctx, network, addr) })
		})
	}
}

// A process that is started in the place of one that has died, at once and at the same address, is not taken
// for it: the one that has died is taken out, and the new one comes in.
func TestRestartAtTheSameAddress(t *testing.T) {
	for size := 2; size <= 4; size++ {
		for rank := range size {
			t.Run(fmt.Sprintf("%d of %d", rank, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var slow atomic.Bool
					c := newCrew(t, size, around(func(_ context.Context, _ int, dial func() (net.Conn, error)) (net.Conn, error) {
						if slow.Load() {
							time.Sleep(100 * time.Millisecond)
						}
						return dial()
					}))
					slow.Store(true) // so that nobody is refused
					c.managers[rank].Die()
					m := c.enter(rank, c.plugs[rank].again())
					want := append(append(append([]membership.Member{}, c.members[:rank]...), c.members[rank+1:size]...), c.members[size])
					c.see(m, want)
					for other, of := range c.managers[:size] {
						if other != rank {
							c.see(of, want)
						}
					}
				})
			})
		}
	}
}

// Who answers in the place of a member does not vote for it.
func TestNobodyVotesForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 1, nil)
		base := fmt.Sprintf(`"base":{"epoch":7,"members":[{"id":%q,"address":"a:1"}]}`, membership.NewID())
		for i, q := range []string{`"kind":"prepare",` + base, `"kind":"accept",` + base + `,"next":{"epoch":8,"members":[]}`, `"kind":"ping"`, `"kind":"attach"`} {
			group := strings.Repeat("other", i%2) // of whatever group it is
			conn, err := c.plugs[0].dial(c.ctx, "", c.seeds[0])
			require.NoError(t, err)
			fmt.Fprintf(conn, `{"version":1,"group":%q,"to":%q,%s}`+"\n", group, membership.NewID(), q)
			answer, err := bufio.NewReader(conn).ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, answer, `"other":true`, q)
			require.NotContains(t, answer, `"ok"`, q)
			conn.Close()
		}
		c.see(c.managers[0], c.members)
	})
}

// What the manager cannot do now is asked for again: too few members answer it for a while.
func TestReportOutlastsTheManagersTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alone atomic.Bool
		errAlone := errors.New("not now")
		c := newCrew(t, 3, around(func(_ context.Context, rank int, dial func() (net.Conn, error)) (net.Conn, error) {
			if rank == 0 && alone.Load() {
				return nil, errAlone
			}
			return dial()
		}))
		c.see(c.managers[2], c.members)
		v, err := c.managers[2].Watch(c.ctx, 0)
		require.NoError(t, err)
		alone.Store(true)
		time.AfterFunc(5*time.Second, func() { alone.Store(false) })
		require.NoError(t, c.managers[2].Report(c.ctx, v.Epoch))
		next, err := c.managers[2].Watch(c.ctx, v.Epoch)
		require.NoError(t, err)
		require.Equal(t, v.Members, next.Members)
	})
}

// Members that a cut makes silent, be they many, keep those behind them from nothing: the part with more
// than half of all goes on.
func TestManySilentMembers(t *testing.T) {
	for _, size := range []int{5, 31} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t, size, around(func(ctx context.Context, _ int, dial func() (net.Conn, error)) (net.Conn, error) {
					conn, err := dial()
					if errors.Is(err, errCut) { // nobody says so
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

// leap is a clock that can be put forward: so it looks to a process that was stopped, or had no time, for
// a while.
type leap struct {
	clock.System
	by atomic.Int64
}

func (c *leap) Now() time.Time { return c.System.Now().Add(time.Duration(c.by.Load())) }

// A manager that could not hear for a while takes nobody for silent because of that.
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

// Who dies while the others turn to another manager is found at once, too: before it has heard of that, and
// as soon as it has.
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

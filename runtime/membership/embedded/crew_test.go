package embedded_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// again returns the plug of a process that replaces p's process.
func (p *plug) again() *plug {
	p.cable.mu.Lock()
	defer p.cable.mu.Unlock()
	other := &plug{cable: p.cable, rank: p.rank, came: make(chan net.Conn), shut: make(chan struct{})}
	p.cable.plugs[p.rank] = other
	return other
}

// crew is members on a cable. Each of them knows all addresses.
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
		l.Close() // no member is there yet
	}
	for rank := range size {
		c.enter(rank, c.plugs[rank].again())
	}
	return c
}

// enter lets a new process join at a plug.
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

// see requires that m gets a view of exactly these members.
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

// around lets do replace the dials of members.
func around(do func(ctx context.Context, rank int, dial func() (net.Conn, error)) (net.Conn, error)) func(int, *embedded.Config) {
	return func(rank int, cfg *embedded.Config) {
		dial := cfg.Listener.(*plug).dial
		*cfg = cfg.WithDial(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return do(ctx, rank, func() (net.Conn, error) { return dial(ctx, network, addr) })
		})
	}
}

package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
	"github.com/schedgen/schedgen/runtime/membership/membershiptest"
)

// group is a group whose members all know where all before them answer.
type group struct{ seeds []string }

func (g *group) Manager(t *testing.T) membership.Manager {
	m, err := embedded.New(embedded.Config{Group: t.Name(), Listen: "127.0.0.1:0", Seeds: g.seeds, TTL: time.Second})
	require.NoError(t, err)
	g.seeds = append(g.seeds, m.Addr())
	return m
}

func (g *group) Kill(_ *testing.T, m membership.Manager) { m.(*embedded.Manager).Die() }

func TestEmbedded(t *testing.T) {
	defer goleak.VerifyNone(t)
	membershiptest.Run(t, func(*testing.T) membershiptest.Group { return &group{} })
}

// cable is a network that can be cut in two, between the first members of those that
// have been plugged in and the rest.
type cable struct {
	mu    sync.Mutex
	cut   int // members before are on one side; 0: not cut
	ranks map[string]int
	open  []span
}

type span struct {
	net.Conn
	a, b int
}

var errCut = errors.New("network is cut")

// dial returns the dialer of a member.
func (c *cable) dial(rank int) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if c.between(rank, c.rank(addr)) {
			return nil, errCut
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open = append(c.open, span{conn, rank, c.ranks[addr]})
		return conn, nil
	}
}

func (c *cable) rank(addr string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ranks[addr]
}

func (c *cable) plug(addr string, rank int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ranks[addr] = rank
}

func (c *cable) between(a, b int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut > 0 && (a < c.cut) != (b < c.cut)
}

func (c *cable) cutAt(rank int) {
	c.mu.Lock()
	c.cut = rank
	open := c.open
	c.mu.Unlock()
	for _, s := range open {
		if c.between(s.a, s.b) {
			s.Close()
		}
	}
}

// When the network is cut, the part goes on that has more than half of the members, or half with
// the first; the members of the other one are told.
func TestPartition(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct{ size, cut, from, to int }{
		{2, 1, 0, 1}, {3, 1, 1, 3}, {4, 2, 0, 2}, {5, 2, 2, 5}, {5, 3, 0, 3},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.cut, c.size), func(t *testing.T) {
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			line := &cable{ranks: map[string]int{}}
			var seeds []string
			var managers []*embedded.Manager
			var members []membership.Member
			for rank := range c.size {
				cfg := embedded.Config{Listen: "127.0.0.1:0", Seeds: seeds, TTL: 400 * time.Millisecond}
				m, err := embedded.New(cfg.WithDial(line.dial(rank)))
				require.NoError(t, err)
				defer m.Close()
				line.plug(m.Addr(), rank)
				seeds = append(seeds, m.Addr())
				managers, members = append(managers, m), append(members, membership.Member{ID: membership.NewID()})
				_, err = m.Join(ctx, members[rank])
				require.NoError(t, err)
			}
			line.cutAt(c.cut)
			for rank, m := range managers {
				v, err := last(ctx, m, func(v membership.View) bool { // not one from before all had joined
					return len(v.Members) == c.to-c.from && v.Members[0].ID == members[c.from].ID
				})
				if rank < c.from || rank >= c.to {
					require.ErrorIs(t, err, membership.ErrLost, "rank %d", rank)
					continue
				}
				require.NoError(t, err, "rank %d", rank)
				for i := c.from; i < c.to; i++ {
					require.Equal(t, members[i].ID, v.Members[i-c.from].ID)
				}
			}
		})
	}
}

// last watches until a view is as wanted.
func last(ctx context.Context, m membership.Manager, wanted func(membership.View) bool) (v membership.View, err error) {
	for v, err = m.Watch(ctx, 0); err == nil && !wanted(v); {
		v, err = m.Watch(ctx, v.Epoch)
	}
	return v, err
}

// Who speaks nonsense, is of another group or speaks another version is turned away; the
// group goes on.
func TestStrangers(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, err := embedded.New(embedded.Config{Group: "day", Listen: "127.0.0.1:0", TTL: time.Second})
	require.NoError(t, err)
	defer m.Close()
	_, err = m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	for says, want := range map[string]string{
		`{"version":9,"group":"day","kind":"ping"}`:                                                                   "speaks version 9",
		`{"version":1,"group":"night","kind":"ping"}`:                                                                 `is of group \"night\"`,
		`{"version":1,"group":"day","kind":"dance"}`:                                                                  `unknown request \"dance\"`,
		`{"version":1,"group":"day","kind":"join"}`:                                                                   "join without a member",
		`{"version":1,"group":"day","kind":"join","member":{"id":""}}`:                                                "",
		`{"version":1,"group":"day","kind":"prepare"}`:                                                                "prepare without a view",
		`{"version":1,"group":"day","kind":"accept","base":{"epoch":1,"members":[]},"next":{"epoch":9,"members":[]}}`: "view 9 is to follow view 1",
		"GET / HTTP/1.1\r\n\r\n":                                                                                      "",
	} {
		conn, err := net.Dial("tcp", m.Addr())
		require.NoError(t, err)
		_, err = conn.Write([]byte(says + "\n"))
		require.NoError(t, err)
		answer, _ := bufio.NewReader(conn).ReadString('\n') // a reset is an answer, too
		require.Contains(t, answer, want, says)
		require.False(t, want == "" && strings.Contains(answer, "{"), answer)
		require.NoError(t, conn.Close())
	}
	v, err := m.Watch(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, v.Members, 1)
}

func TestNobodyToJoin(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	require.NoError(t, err)
	require.NoError(t, l.Close())
	m, err := embedded.New(embedded.Config{Group: "g", Listen: "127.0.0.1:0", Seeds: []string{l.Addr().String()}, TTL: 100 * time.Millisecond})
	require.NoError(t, err)
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = m.Join(ctx, membership.Member{ID: membership.NewID()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "refused")
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]embedded.Config{
		"Config.Group has 300 bytes":  {Group: strings.Repeat("x", 300), Listen: "127.0.0.1:0"},
		"is negative":                 {TTL: -1, Listen: "127.0.0.1:0"},
		"answer as a member":          {Listen: "nowhere"},
		"is none that others can use": {Listen: ":0"},
	} {
		_, err := embedded.New(cfg)
		require.ErrorContains(t, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"group":"g","kind":"accept","ballot":3,"base":{"epoch":1,"members":[{"id":"01000000000000000000000000000000","address":"a:1"}]},"next":{"epoch":2,"members":[]}}`))
	f.Add([]byte(`{"ok":true,"view":{"epoch":1,"members":[]},"accepted":{"ballot":1,"view":{"epoch":2,"members":[]}}}`))
	f.Fuzz(func(_ *testing.T, data []byte) { embedded.Decode(data) })
}

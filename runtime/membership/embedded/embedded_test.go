package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/membershiptest"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// group is a group whose members know the addresses of all members before them.
type group struct{ seeds []string }

func (g *group) Manager(t *testing.T) membership.Manager {
	m, err := embedded.New(embedded.Config{Group: t.Name(), Listen: "127.0.0.1:0", Seeds: g.seeds})
	require.NoError(t, err)
	g.seeds = append(g.seeds, m.Addr())
	return m
}

func (g *group) Kill(_ *testing.T, m membership.Manager) { m.(*embedded.Manager).Die() }

func TestEmbedded(t *testing.T) {
	defer goleak.VerifyNone(t)
	membershiptest.Run(t, func(*testing.T) membershiptest.Group { return &group{} })
}

// If the network is cut, the part that goes on has more than half of the members, or half including
// the first. The members of the other part get an error.
func TestPartition(t *testing.T) {
	for _, c := range []struct{ size, cut, from, to int }{
		{2, 1, 0, 1}, {3, 1, 1, 3}, {4, 2, 0, 2}, {5, 2, 2, 5}, {5, 3, 0, 3}, {11, 5, 5, 11},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.cut, c.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testPartition(t, c.size, c.cut, c.from, c.to) })
		})
	}
}

func testPartition(t *testing.T, size, cut, from, to int) {
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	line := new(cable)
	var seeds []string
	var managers []*embedded.Manager
	var members []membership.Member
	for range size {
		l := line.listen()
		m, err := embedded.New(embedded.Config{Listener: l, Seeds: seeds}.WithDial(l.dial))
		require.NoError(t, err)
		defer m.Close()
		seeds = append(seeds, m.Addr())
		managers, members = append(managers, m), append(members, membership.Member{ID: membership.NewID()})
		_, err = m.Join(ctx, members[len(members)-1])
		require.NoError(t, err)
	}
	line.cutAt(cut)
	for rank, m := range managers {
		v, err := last(ctx, m, func(v membership.View) bool { // not a view from before all had joined
			return len(v.Members) == to-from && v.Members[0].ID == members[from].ID
		})
		if rank < from || rank >= to {
			require.ErrorIs(t, err, membership.ErrLost, "rank %d", rank)
			continue
		}
		require.NoError(t, err, "rank %d", rank)
		for i := from; i < to; i++ {
			require.Equal(t, members[i].ID, v.Members[i-from].ID)
		}
	}
}

// If a network is cut at any moment, also while members join, at most one group remains: no two
// members know different views of one epoch, and the remaining members know each other.
func TestCutAtAnyMoment(t *testing.T) {
	for seed := range heavy.Seeds(heavy.Or(20, 60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testCut(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func testCut(t *testing.T, random *rand.Rand) {
	var mu sync.Mutex
	draw := func(most time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(most)))
	}
	size := 2 + random.IntN(6)
	line := &cable{delay: func() time.Duration { return draw(200 * time.Millisecond) }}
	var plugs []*plug
	var seeds []string
	for range size {
		plugs = append(plugs, line.listen())
		seeds = append(seeds, plugs[len(plugs)-1].Addr().String())
	}
	ends := make([]membership.View, size)
	var wg sync.WaitGroup
	for rank, l := range plugs {
		m, err := embedded.New(embedded.Config{Listener: l, Seeds: seeds}.WithDial(l.dial))
		require.NoError(t, err)
		defer m.Close()
		wg.Go(func() {
			time.Sleep(draw(3 * time.Second))
			ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
			defer end()
			if _, err := m.Join(ctx, membership.Member{ID: membership.NewID(), Name: seeds[rank]}); err != nil {
				return
			}
			_, err := last(ctx, m, func(v membership.View) bool { ends[rank] = v; return false })
			if !errors.Is(err, context.DeadlineExceeded) {
				ends[rank] = membership.View{} // lost, or expelled
			}
		})
	}
	time.Sleep(draw(5 * time.Second))
	line.cutAt(1 + int(draw(time.Duration(size-1))))
	wg.Wait()
	left := slices.DeleteFunc(ends, func(v membership.View) bool { return v.Epoch == 0 })
	for _, v := range left {
		require.Len(t, v.Members, len(left))
		require.Equal(t, left[0], v)
	}
}

// last watches until a view is as wanted.
func last(ctx context.Context, m membership.Manager, wanted func(membership.View) bool) (v membership.View, err error) {
	for v, err = m.Watch(ctx, 0); err == nil && !wanted(v); {
		v, err = m.Watch(ctx, v.Epoch)
	}
	return v, err
}

// A process that speaks nonsense, belongs to another group or speaks another version is turned
// away. The group goes on.
func TestStrangers(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, err := embedded.New(embedded.Config{Group: "day", Listen: "127.0.0.1:0", TTL: time.Minute})
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
	synctest.Test(t, func(t *testing.T) {
		l := new(cable).listen()
		m, err := embedded.New(embedded.Config{Group: "g", Listener: l, Seeds: []string{"10.0.0.2:1"}}.WithDial(l.dial))
		require.NoError(t, err)
		defer m.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = m.Join(ctx, membership.Member{ID: membership.NewID()})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "refused")
	})
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]embedded.Config{
		"Config.Group has 300 bytes":  {Group: strings.Repeat("x", 300), Listen: "127.0.0.1:0"},
		"is negative":                 {TTL: -1, Listen: "127.0.0.1:0"},
		"answer as a member":          {Listen: "nowhere"},
		"cannot be reached by others": {Listen: ":0"},
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

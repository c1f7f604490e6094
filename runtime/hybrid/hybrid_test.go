package hybrid_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

const patience = 60 * time.Second

// hosts maps ranks to hosts.
type hosts func(rank, size int) int

func oneHost(int, int) int        { return 0 }
func twoEach(rank, _ int) int     { return rank / 2 }
func takingTurns(rank, _ int) int { return rank % 2 }
func oneEach(rank, _ int) int     { return rank }
func threeEach(rank, _ int) int   { return rank / 3 }

func TestFrames(t *testing.T) {
	all := map[string]hosts{"one host": oneHost, "one each": oneEach, "two each": twoEach, "taking turns": takingTurns}
	if !heavy.Transports.Runs() { // with one host, or one rank on each host, it is the transport below
		all = map[string]hosts{"taking turns": takingTurns}
	}
	for name, host := range all {
		t.Run(name, func(t *testing.T) { transporttest.Frames(t, connector(host, false)) })
	}
	t.Run("multicast", func(t *testing.T) { transporttest.Datagrams(t, connector(twoEach, true)) })
}

// Between hosts, puts and multicasts are sealed.
func TestFramesSealed(t *testing.T) {
	transporttest.Datagrams(t, func(t testing.TB, size int) (list []wire.Transport) {
		for _, tr := range joinAll(t, size, func(rank int, c *hybrid.Config) {
			c.Host = fmt.Sprintf("%s host %d", t.Name(), twoEach(rank, size))
			c.TCP.Key, c.TCP.Encrypt = bytes.Repeat([]byte("k"), tcp.MinKey), true
			c.Mcast = &mcast.Config{Interface: "lo"}
		}) {
			list = append(list, tr)
		}
		return list
	})
}

func TestCommunicators(t *testing.T) {
	if heavy.Transports.Runs() { // with multicasts there are these, too
		for name, host := range map[string]hosts{"one host": oneHost, "two each": twoEach} {
			t.Run(name, func(t *testing.T) { transporttest.Communicators(t, connector(host, false)) })
		}
	}
	t.Run("multicast", func(t *testing.T) { transporttest.Communicators(t, connector(twoEach, true)) })
}

func TestComm(t *testing.T) { transporttest.CommDaily(t, connector(threeEach, false)) }

func TestSplit(t *testing.T) { transporttest.SplitDaily(t, connector(threeEach, false)) }

func TestSplitMulticast(t *testing.T) {
	if testing.Short() {
		t.Skip("as TestSplit, but for the multicasts")
	}
	transporttest.SplitDaily(t, connector(takingTurns, true))
}

func TestCommMulticast(t *testing.T) {
	if testing.Short() {
		t.Skip("as TestComm, but for the multicasts")
	}
	transporttest.CommSample(t, connector(takingTurns, true))
}

// connector makes the transports of ranks on the given hosts.
func connector(host hosts, multicast bool) transporttest.Make {
	return func(t testing.TB, size int) []wire.Transport {
		var list []wire.Transport
		for _, tr := range joinAll(t, size, func(rank int, c *hybrid.Config) {
			c.Host = fmt.Sprintf("%s host %d", t.Name(), host(rank, size))
			if multicast {
				c.Mcast = &mcast.Config{Interface: "lo"}
			}
		}) {
			list = append(list, tr)
		}
		return list
	}
}

func joinAll(t testing.TB, size int, edit func(int, *hybrid.Config)) []*hybrid.Transport {
	trs, errs := tryJoin(t, size, edit)
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
	}
	return trs
}

func tryJoin(t testing.TB, size int, edit func(int, *hybrid.Config)) ([]*hybrid.Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*hybrid.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := hybrid.Config{TCP: tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}}
		if rank == 0 {
			cfg.TCP.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = hybrid.Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}

func closeAll(trs []*hybrid.Transport) {
	for _, tr := range trs {
		tr.Close(false, 0)
	}
}

func TestCaps(t *testing.T) {
	for _, hosts := range []string{"a", "aa", "ab", "aabb", "aaabb", "abab", "abba"} {
		t.Run(hosts, func(t *testing.T) {
			trs := joinAll(t, len(hosts), func(rank int, c *hybrid.Config) { c.Host = hosts[rank : rank+1] })
			defer closeAll(trs)
			together := strings.Count(hosts, "a") == len(hosts)
			for rank, tr := range trs {
				require.Equal(t, strings.Count(hosts, hosts[rank:rank+1]), tr.Caps().Local)
				for r, h := range tr.Caps().Host {
					require.Equal(t, strings.IndexByte(hosts, hosts[r]), h, "the lowest rank there")
				}
				require.True(t, together || len(tr.Caps().Host) == len(hosts))
				require.Empty(t, tr.Reason())
			}
			require.Equal(t, together && len(hosts) > 1, trs[0].Caps().Multicast)
		})
	}
}

// A rank without a configured host is on the host where it runs, with its neighbours.
func TestHostOfTheSystem(t *testing.T) {
	trs := joinAll(t, 3, func(int, *hybrid.Config) {})
	defer closeAll(trs)
	for _, tr := range trs {
		require.Equal(t, 3, tr.Caps().Local)
	}
}

func TestBadConfig(t *testing.T) {
	for name, edit := range map[string]func(*hybrid.Config){
		"Host":   func(c *hybrid.Config) { c.Host = string(make([]byte, 201)) },
		"rank 7": func(c *hybrid.Config) { c.TCP.Rank = 7 },
		"loss":   func(c *hybrid.Config) { c.Mcast = &mcast.Config{Loss: 2} },
		"group":  func(c *hybrid.Config) { c.Mcast = &mcast.Config{Group: netip.MustParseAddrPort("127.0.0.1:7")} },
		"Heard":  func(c *hybrid.Config) { c.Mcast = &mcast.Config{Heard: -1} },
	} {
		_, errs := tryJoin(t, 1, func(_ int, c *hybrid.Config) { edit(c) })
		require.ErrorContains(t, errs[0], name)
	}
}

// A shared listener stays the caller's.
func TestSharedListener(t *testing.T) {
	var shared net.Listener
	trs := joinAll(t, 2, func(rank int, c *hybrid.Config) {
		c.Host = fmt.Sprint(t.Name(), rank)
		if rank == 0 {
			c.TCP.Share, shared = true, c.TCP.Listener
		}
	})
	closeAll(trs)
	require.NoError(t, shared.Close(), "Join has not closed it")
}

// Ranks with different transports get an error.
func TestMixedTransports(t *testing.T) {
	_, errs := tryJoin(t, 2, func(rank int, c *hybrid.Config) {
		if rank == 1 {
			c.Mcast = &mcast.Config{Interface: "lo"}
		}
	})
	for _, err := range errs {
		require.ErrorContains(t, err, "rank")
	}
}

// A join that ends early leaves no descriptors.
func TestGivenUp(t *testing.T) {
	before := descriptors(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, err = hybrid.Join(ctx, hybrid.Config{TCP: tcp.Config{Size: 2, Coordinator: l.Addr().String(), Listener: l}})
	require.ErrorContains(t, err, "rank 1")
	closeAll(joinAll(t, 4, func(rank int, c *hybrid.Config) { c.Host = "ab"[rank/2 : rank/2+1] }))
	require.LessOrEqual(t, descriptors(t), before+4, "the system's poller may keep some")
}

func descriptors(t testing.TB) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// A warm barrier allocates nothing, in memory or over the network.
func TestBarrierDoesNotAllocate(t *testing.T) {
	trs := joinAll(t, 6, func(rank int, c *hybrid.Config) { c.Host = "ab"[rank/3 : rank/3+1] })
	const warm, rounds = 300, 1000
	var wg sync.WaitGroup
	var before, after goruntime.MemStats
	for _, tr := range trs {
		c, err := runtime.Join(t.Context(), runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/hsb", Params: schedule.Params{Hosts: 2}}}})
		require.NoError(t, err)
		defer c.Close()
		wg.Go(func() {
			for i := range warm + rounds {
				if i == warm && c.Rank() == 0 {
					goruntime.ReadMemStats(&before)
				}
				if err := c.Barrier(t.Context()); err != nil {
					t.Errorf("rank %d: %v", c.Rank(), err)
					return
				}
			}
			if c.Rank() == 0 {
				goruntime.ReadMemStats(&after)
			}
		})
	}
	wg.Wait()
	require.Less(t, after.Mallocs-before.Mallocs, uint64(rounds/4), "allocations of %d barriers", rounds)
}

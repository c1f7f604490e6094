package mcast_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestJoinRefusesBadConfigs(t *testing.T) {
	alone := tcp.Config{Size: 1, Coordinator: "127.0.0.1:1"}
	for want, cfg := range map[string]mcast.Config{
		"interface nowhere0":     {TCP: alone, Interface: "nowhere0"},
		"family 5":               {TCP: alone, Family: 5},
		"MTU of 100":             {TCP: alone, MTU: 100},
		"MTU -1":                 {TCP: alone, MTU: -1},
		"256 hops":               {TCP: alone, Hops: 256},
		"loss 1.5":               {TCP: alone, Loss: 1.5},
		"negative Collect: -1ns": {TCP: alone, Collect: -1},
		"loss NaN":               {TCP: alone, Loss: math.NaN()},
		"address 192.0.2.77":     {TCP: tcp.Config{Size: 1, Bind: "192.0.2.77", Coordinator: "127.0.0.1:1"}},
		"name the interface":     {TCP: tcp.Config{Size: 1, Coordinator: ":5000"}},
		"missing port":           {TCP: tcp.Config{Size: 1}},
		"size 0 is not":          {TCP: tcp.Config{Coordinator: "127.0.0.1:1"}},
		"rank -1 is not in 0 ":   {TCP: tcp.Config{Rank: -1, Size: 1, Coordinator: "127.0.0.1:1"}},
	} {
		_, err := mcast.Join(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestInterfaceIsFound(t *testing.T) {
	trs := joinAll(t, 2, mcast.Config{})
	for _, tr := range trs {
		require.Equal(t, "lo", tr.Interface())
		require.Equal(t, trs[0].Group(), tr.Group())
		require.True(t, tr.Group().Addr().Is4())
		require.Equal(t, byte(239), tr.Group().Addr().As4()[0])
		caps := tr.Caps()
		require.GreaterOrEqual(t, caps.Room, 64<<10)
		caps.Room = 0
		require.Equal(t, wire.Caps{Multicast: true, Direct: true, Datagram: 65507 - 48, Local: len(trs), Sealed: "no", Host: []int{0, 0}}, caps)
		require.NoError(t, tr.Close(true, 0))
	}
}

func TestGroupsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 8 {
		tr := joinAll(t, 1, mcast.Config{})[0]
		seen[tr.Group().String()] = true
		require.NoError(t, tr.Close(true, 0))
	}
	require.Len(t, seen, 8)
}

// TestWithoutMulticast: if a rank's interface cannot multicast, the errors of all ranks name that
// rank.
func TestWithoutMulticast(t *testing.T) {
	if os.Getenv(inNamespace) != "" || multicastsIPv6("lo") {
		t.Skip("the loopback interface does IPv6 multicast")
	}
	trs, errs := tryJoin(t, 2, mcast.Config{Family: 6}, func(int, *mcast.Config) {})
	for rank, err := range errs {
		require.Nil(t, trs[rank])
		require.ErrorContains(t, err, "interface lo")
		require.ErrorContains(t, err, "ip -6 route add local ff00::/8 dev lo")
	}
}

func multicastsIPv6(name string) bool {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return false
	}
	c, err := net.DialUDP("udp6", nil, &net.UDPAddr{IP: net.ParseIP("ff15::1"), Port: 9, Zone: ifi.Name})
	if err != nil {
		return false
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.IsLoopback()
}

func TestOneFamilyForAll(t *testing.T) {
	trs, errs := tryJoin(t, 2, mcast.Config{Interface: "lo"}, func(rank int, c *mcast.Config) { c.Family = 4 + 2*rank })
	for rank, err := range errs {
		require.Nil(t, trs[rank])
		require.ErrorContains(t, err, "rank 1 multicasts in IPv6, rank 0 in IPv4")
	}
}

func TestJoinEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("lunch"))
	_, err := mcast.Join(ctx, mcast.Config{TCP: tcp.Config{Rank: 1, Size: 2, Coordinator: "127.0.0.1:1"}})
	require.ErrorContains(t, err, "lunch")
}

// A rank that cannot open its interface tells the others, which need not wait for it. If it is rank
// 0, it also opens its door for that.
func TestRankWithoutInterface(t *testing.T) {
	for _, guilty := range []int{0, 2} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var errs [3]error
		var wg sync.WaitGroup
		for rank := range errs {
			cfg := mcast.Config{TCP: tcp.Config{Rank: rank, Size: len(errs), Coordinator: l.Addr().String()}, Interface: "lo"}
			if rank == 0 {
				cfg.TCP.Listener = l
			}
			if rank == guilty {
				cfg.Interface = "nowhere0"
			}
			wg.Go(func() { _, errs[rank] = mcast.Join(t.Context(), cfg) })
		}
		wg.Wait()
		for rank, err := range errs {
			if rank != guilty {
				require.ErrorContains(t, err, fmt.Sprintf("rank %d: mcast: ", guilty))
			}
			require.ErrorContains(t, err, "interface nowhere0")
		}
	}
}

package schedgen_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// An exactJoin connects a rank. Ranks without a listener of their own find the others at l's
// address.
type exactJoin func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error)

func tcpConfig(rank, size int, l net.Listener) tcp.Config {
	cfg := tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}
	if rank == 0 {
		cfg.Listener = l
	}
	return cfg
}

// lossy multicasts on loopback. Each rank drops datagrams that come to it.
func lossy(loss float64) mcast.Config {
	return mcast.Config{Interface: "lo", Family: 4, MTU: 1500, Loss: loss, Seed: 21}
}

// byMulticast are algorithms that multicast.
var byMulticast = map[string]schedgen.Algorithm{"allreduce": {Name: "allreduce/mcast-acktree"}, "allgather": {Name: "allgather/mcast"}}

// TestExactByEveryTransport checks that exact sums have the same bits over every transport,
// whatever is lost, and equal those of math/big.
func TestExactByEveryTransport(t *testing.T) {
	overMcast := func(loss float64) exactJoin {
		return func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			cfg := lossy(loss)
			cfg.TCP = tcpConfig(rank, size, l)
			return mcast.Join(t.Context(), cfg)
		}
	}
	for _, c := range []struct {
		name       string
		algorithms map[string]schedgen.Algorithm
		loses      bool
		join       exactJoin
	}{
		{name: "tcp", join: func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			return tcp.Join(t.Context(), tcpConfig(rank, size, l))
		}},
		{name: "shm", join: func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			return shm.Join(t.Context(), shm.Config{Rank: rank, Size: size, Name: fmt.Sprintf("exact-%d", l.Addr().(*net.TCPAddr).Port)})
		}},
		{name: "hybrid", algorithms: byMulticast, loses: true, join: func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			m := lossy(0.2)
			return hybrid.Join(t.Context(), hybrid.Config{TCP: tcpConfig(rank, size, l), Mcast: &m, Host: fmt.Sprintf("exact-%d-%d", l.Addr().(*net.TCPAddr).Port, rank/2)})
		}},
		{name: "mcast", algorithms: byMulticast, join: overMcast(0)},
		{name: "mcast that loses a fifth", algorithms: byMulticast, loses: true, join: overMcast(0.2)},
		{name: "mcast that loses half", algorithms: byMulticast, loses: true, join: overMcast(0.5)},
	} {
		for _, size := range []int{2, heavy.Or(5, 16)} {
			t.Run(fmt.Sprint(c.name, "/", size), func(t *testing.T) {
				injected := exactOver(t, size, c.algorithms, c.join)
				require.Equal(t, c.loses && (c.name != "hybrid" || size > 2), injected > 0, "%d datagrams were dropped", injected)
			})
		}
	}
}

// exactOver adds up numbers on a transport, and returns how many datagrams have been dropped.
func exactOver(t *testing.T, size int, algorithms map[string]schedgen.Algorithm, join exactJoin) (injected uint64) {
	r := rand.New(rand.NewPCG(13, uint64(size)))
	xs := drawVector(r, 3000)
	parts, want := divided(r, xs, size), roundedSum(xs)
	rows := make([][]float64, size)
	sums := make([]schedgen.Exact, 5000)
	for rank := range rows {
		rows[rank] = drawVector(r, len(sums))
		for i, x := range rows[rank] {
			sums[i].Add(x)
		}
	}
	rounded := make([]float64, len(sums))
	for i := range sums {
		rounded[i] = sums[i].Float64()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	transports, comms, errs := make([]wire.Transport, size), make([]*schedgen.Comm, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		wg.Go(func() {
			tr, err := join(t, rank, size, l)
			if err == nil {
				transports[rank] = tr
				comms[rank], err = schedgen.Join(t.Context(), schedgen.Config{Transport: tr, Algorithms: algorithms})
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		sum, err := schedgen.ExactSum(t.Context(), c, parts[c.Rank()])
		if err != nil {
			return err
		}
		if math.Float64bits(sum) != math.Float64bits(want) {
			return fmt.Errorf("rank %d of %d: %s, want %s", c.Rank(), size, hex(sum), hex(want))
		}
		for _, n := range []int{len(sums), 100} { // in two collectives, and in one
			buf := slices.Clone(rows[c.Rank()][:n])
			if err := schedgen.AllreduceExact(t.Context(), c, buf); err != nil {
				return err
			}
			if err := differ(c, buf, rounded[:n]); err != nil {
				return err
			}
		}
		several := make([]schedgen.Exact, 40)
		for i := range several {
			several[i].Add(rows[c.Rank()][i])
		}
		if err := schedgen.Allreduce(t.Context(), c, several, schedgen.Sum); err != nil {
			return err
		}
		if !slices.Equal(several, sums[:len(several)]) {
			return fmt.Errorf("rank %d of %d: the Exacts differ from those that are added up at once", c.Rank(), size)
		}
		return schedgen.Barrier(t.Context(), c)
	}))
	closeAll(t, comms)
	for _, tr := range transports {
		injected += tr.Stats().Injected
	}
	return injected
}

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
	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Exact sums have the same bits over TCP and shared memory as in one process.
func TestExactByEveryTransport(t *testing.T) {
	for name, join := range map[string]func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error){
		"tcp": func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			cfg := tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}
			if rank == 0 {
				cfg.Listener = l
			}
			return tcp.Join(t.Context(), cfg)
		},
		"shm": func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			return shm.Join(t.Context(), shm.Config{Rank: rank, Size: size, Name: fmt.Sprintf("exact-%d", l.Addr().(*net.TCPAddr).Port)})
		},
	} {
		for _, size := range []int{2, heavy.Or(5, 16)} {
			t.Run(fmt.Sprint(name, "/", size), func(t *testing.T) {
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
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				defer l.Close()
				comms, errs := make([]*schedgen.Comm, size), make([]error, size)
				var wg sync.WaitGroup
				for rank := range size {
					wg.Go(func() {
						tr, err := join(t, rank, size, l)
						if err == nil {
							comms[rank], err = schedgen.Join(t.Context(), schedgen.Config{Transport: tr})
						}
						errs[rank] = err
					})
				}
				wg.Wait()
				require.NoError(t, errors.Join(errs...))
				require.NoError(t, each(comms, func(c *schedgen.Comm) error {
					sum, err := schedgen.ExactSum(t.Context(), c, parts[c.Rank()])
					buf := slices.Clone(rows[c.Rank()])
					if err := errors.Join(err, schedgen.AllreduceExact(t.Context(), c, buf)); err != nil {
						return err
					}
					if math.Float64bits(sum) != math.Float64bits(want) {
						return fmt.Errorf("rank %d of %d: %s, want %s", c.Rank(), size, hex(sum), hex(want))
					}
					rounded := make([]float64, len(sums))
					for i := range sums {
						rounded[i] = sums[i].Float64()
					}
					return errors.Join(differ(c, buf, rounded), schedgen.Barrier(t.Context(), c))
				}))
				closeAll(t, comms)
			})
		}
	}
}

package rdma

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const patience = 60 * time.Second

// JoinAll joins size ranks. edit completes the configuration of each rank.
func JoinAll(t testing.TB, size int, edit func(rank int, c *Config)) ([]*Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		var cfg Config
		cfg.TCP.Rank, cfg.TCP.Size, cfg.TCP.Coordinator = rank, size, l.Addr().String()
		if rank == 0 {
			cfg.TCP.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}

// An adapter that a rank cannot wait for fails the join at every rank.
func TestUnwatchableAdapterFailsAll(t *testing.T) {
	n := NewFabric()
	_, errs := JoinAll(t, 3, func(rank int, c *Config) {
		c.Open = n.Open(1024, true)
		if open := c.Open; rank == 2 {
			c.Open = func(layout func(Address) Layout) (Adapter, error) {
				a, err := open(layout)
				return unwatchable{a}, err
			}
		}
	})
	require.ErrorIs(t, errs[2], unix.EBADF)
	for _, err := range errs[:2] {
		require.ErrorContains(t, err, "rank 2: watch a descriptor: ")
		require.ErrorContains(t, err, unix.EBADF.Error())
	}
}

// unwatchable is an adapter without a descriptor.
type unwatchable struct{ Adapter }

func (unwatchable) FD() int { return -1 }

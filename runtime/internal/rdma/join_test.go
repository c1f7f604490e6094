package rdma

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		cfg.Rank, cfg.Size, cfg.Coordinator = rank, size, l.Addr().String()
		if rank == 0 {
			cfg.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}

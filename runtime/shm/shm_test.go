//go:build linux

package shm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

func TestFrames(t *testing.T) { transporttest.Frames(t, connect) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect) }

func TestComm(t *testing.T) { transporttest.CommDaily(t, connect) }

func TestSplit(t *testing.T) { transporttest.SplitDaily(t, connect) }

func connect(t testing.TB, size int) []wire.Transport {
	var list []wire.Transport
	for _, tr := range joinAll(t, size) {
		list = append(list, tr)
	}
	return list
}

// joinAll joins size ranks of this process over an unnamed segment.
func joinAll(t testing.TB, size int) []*shm.Transport {
	f, err := shm.Create(size)
	require.NoError(t, err)
	defer f.Close()
	return joinFile(t, f, size)
}

// tryJoin joins size ranks, each with a configuration that edit completes.
func tryJoin(t testing.TB, size int, edit func(int, *shm.Config)) ([]*shm.Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	trs, errs := make([]*shm.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := shm.Config{Rank: rank, Size: size}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = shm.Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}

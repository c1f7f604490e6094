package runtime

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/mem"
)

// The first call of an operation that Config.Prepare names compiles nothing, whatever its elements
// and its fold are.
func TestShapesAreCompiled(t *testing.T) {
	ts, err := mem.New(5, mem.Options{Windows: true})
	require.NoError(t, err)
	shapes := []Shape{
		{Collective: "allreduce", Bytes: 8}, {Collective: "allreduce", Bytes: 1 << 20, Ordered: true}, {Collective: "bcast", Bytes: 3 << 20, Root: 4},
		{Collective: "gather", Bytes: 1 << 20, Root: 2, Counted: true}, {Collective: "allgather", Bytes: 5000, Counted: true}, {Collective: "barrier"},
	}
	cfg := Config{Transport: ts[3], Prepare: shapes}
	c, err := Join(context.Background(), cfg)
	require.NoError(t, err)
	clear(cfg.Prepare) // the communicator has its own
	before := len(c.plans.order)
	for _, f := range []form{{}, elements(8), {fold: "sum of float64", element: 8}} {
		call := func(collective string, bytes, root int, f form) {
			k := c.plans.kindOf(collective)
			if c.plans.row(k).Inputs == nil {
				f.fold = ""
			}
			_, err := c.planOf(k, &core.Buffers{Block: bytes}, root, &f)
			require.NoError(t, err)
		}
		call("allreduce", 8, 0, f)
		call("bcast", 3<<20, 4, f)
		call("barrier", 0, 0, form{})
		if f.ordered = true; f.fold != "" {
			call("allreduce", 1<<20, 0, f)
		}
		f.ordered, f.counted = false, true
		call("gather", 70, 2, f)
		f.shared = true
		call("allgather", 5000, 0, f)
	}
	require.Len(t, c.plans.order, before)
	require.NoError(t, c.Close())
}

// Shapes that no operation has are errors of Join, which tells the other ranks.
func TestWrongShapes(t *testing.T) {
	for want, s := range map[string]Shape{
		`there is no collective "broadcast"`: {Collective: "broadcast"},
		"bcast: root 2":                      {Collective: "bcast", Root: 2},
		"bcast: root -1":                     {Collective: "bcast", Root: -1},
		"allgather: root 1":                  {Collective: "allgather", Root: 1},
		"bcast: blocks of -1 bytes":          {Collective: "bcast", Bytes: -1},
		"barrier: blocks of 8 bytes":         {Collective: "barrier", Bytes: 8},
		"bcast: it folds nothing":            {Collective: "bcast", Ordered: true},
		"allreduce: it takes no counts":      {Collective: "allreduce", Counted: true},
	} {
		ts, err := mem.New(2, mem.Options{})
		require.NoError(t, err)
		_, err = Join(context.Background(), Config{Transport: ts[0], Prepare: []Shape{s}})
		require.ErrorIs(t, err, ErrInput, "%v", s)
		require.ErrorContains(t, err, "Config.Prepare: "+want)
		other, err := Join(context.Background(), Config{Transport: ts[1]})
		require.NoError(t, err)
		require.ErrorContains(t, other.Barrier(context.Background()), want)
		require.NoError(t, other.Close())
	}
}

// Communicators of the same ranks keep the shapes. Others have other roots.
func TestShapesOfDerivedCommunicators(t *testing.T) {
	ts, err := mem.New(3, mem.Options{})
	require.NoError(t, err)
	comms := make([]*Comm, len(ts))
	for rank := range comms {
		comms[rank], err = Join(context.Background(), Config{Transport: ts[rank], Prepare: []Shape{{Collective: "bcast", Root: 2}}})
		require.NoError(t, err)
	}
	errs := make(chan error, len(comms))
	for rank, c := range comms {
		go func() {
			twin, err := c.Dup(context.Background())
			if err == nil && len(twin.cfg.Prepare) != 1 {
				t.Error("Dup has no shapes")
			}
			half, err2 := c.Split(context.Background(), rank/2, 0)
			if err2 == nil && len(half.cfg.Prepare) != 0 {
				t.Error("Split has shapes")
			}
			if err == nil {
				err = err2
			}
			errs <- err
		}()
	}
	for range comms {
		require.NoError(t, <-errs)
	}
	for _, c := range comms {
		for _, of := range slices.Clone(c.drv.active) {
			if of != c {
				require.NoError(t, of.Close())
			}
		}
		require.NoError(t, c.Close())
	}
}

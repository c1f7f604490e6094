package schedgen_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/verify"
)

func init() {
	// reversed folds from the last rank down to the root.
	reversed := func(b *build.Builder) {
		for k := range b.Chunks() {
			last := (b.Root() + b.Ranks() - 1) % b.Ranks()
			sum := b.Chunk(last, k)
			for v := b.Ranks() - 2; v >= 0; v-- {
				rank := (b.Root() + v) % b.Ranks()
				sum = b.Chunk(rank, k).Fold(sum.PutTo(rank))
			}
			sum.Result()
		}
	}
	// forgetful leaves the last rank out.
	forgetful := func(b *build.Builder) {
		for rank := 1; rank < b.Ranks()-1; rank++ {
			b.Chunk(0, 0).PutTo(rank)
		}
	}
	for _, d := range []schedule.Definition{
		{Name: "reduce/test-reversed", Collective: "reduce", Params: []string{"root", "chunks"}, Build: reversed},
		{Name: "reduce/test-ordered", Collective: "reduce", Params: []string{"root", "chunks"}, Build: reversed, RankOrder: true},
		{Name: "bcast/test-forgetful", Collective: "bcast", Build: forgetful},
	} {
		if err := schedule.Register(d); err != nil {
			panic(err)
		}
	}
}

func withAlgorithm(collective, name string) local.Ranks {
	return local.Ranks{Size: 5, Config: schedgen.Config{Algorithms: map[string]schedgen.Algorithm{collective: {Name: name}}}}
}

// A program's own algorithm serves calls as the built-in ones do.
func TestRegisteredAlgorithmServes(t *testing.T) {
	require.NoError(t, withAlgorithm("reduce", "reduce/test-reversed").Run(t.Context(), func(ctx context.Context, comm *schedgen.Comm) error {
		for root := range comm.Size() {
			buf := make([]int, 1000)
			for i := range buf {
				buf[i] = comm.Rank() * i
			}
			if err := schedgen.Reduce(ctx, comm, buf, schedgen.Sum, root); err != nil {
				return err
			}
			if comm.Rank() == root && buf[999] != (0+1+2+3+4)*999 {
				return errors.New("wrong sum")
			}
		}
		return nil
	}))
}

// A wrong algorithm fails before anything is sent, at every rank with the same counterexample. So
// does one that is said to fold in the order of the ranks and does not.
func TestWrongRegisteredAlgorithm(t *testing.T) {
	for _, c := range []struct{ collective, name, want string }{
		{"bcast", "bcast/test-forgetful", "coverage: rank 4"},
		{"reduce", "reduce/test-ordered", "reduce/test-ordered does not fold in the order of the ranks, as it was registered to"},
	} {
		err := withAlgorithm(c.collective, c.name).Run(t.Context(), func(ctx context.Context, comm *schedgen.Comm) error {
			buf := []int{1}
			if c.collective == "bcast" {
				return schedgen.Bcast(ctx, comm, buf, 0)
			}
			return schedgen.Reduce(ctx, comm, buf, schedgen.Sum, 1)
		})
		require.ErrorIs(t, err, schedgen.ErrInput)
		require.ErrorContains(t, err, c.want)
		var failure *verify.Failure
		require.Equal(t, c.collective == "bcast", errors.As(err, &failure))
	}
}

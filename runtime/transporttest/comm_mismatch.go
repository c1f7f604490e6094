package transporttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// mismatch is one way in which an odd rank differs from the others.
type mismatch struct {
	name     string
	cfg      func(odd bool) runtime.Config
	call     func(ctx context.Context, c *runtime.Comm, odd bool) error
	words    string // what the error says of a rank that is not odd, after its number
	wordsOdd string // and of the odd one
}

// mismatches returns all ways in which ranks can differ.
func mismatches(ranks, odd int) []mismatch {
	barrier := func(ctx context.Context, c *runtime.Comm, _ bool) error { return c.Barrier(ctx) }
	bcast := func(n, root, oddN, oddRoot int) func(ctx context.Context, c *runtime.Comm, odd bool) error {
		return func(ctx context.Context, c *runtime.Comm, odd bool) error {
			if odd {
				return c.Bcast(ctx, buffer(oddN), oddRoot)
			}
			return c.Bcast(ctx, buffer(n), root)
		}
	}
	anyConfig := func(bool) runtime.Config { return runtime.Config{} }
	either := func(odd bool, a, b runtime.Config) runtime.Config {
		if odd {
			return b
		}
		return a
	}
	return []mismatch{
		{
			name: "collective", cfg: anyConfig, words: "called bcast of 100 bytes from root 0 by bcast/", wordsOdd: "called barrier by barrier/",
			call: func(ctx context.Context, c *runtime.Comm, odd bool) error {
				if odd {
					return c.Barrier(ctx)
				}
				return c.Bcast(ctx, buffer(100), 0)
			},
		},
		{name: "root", cfg: anyConfig, call: bcast(100, 0, 100, odd), words: "called bcast of 100 bytes from root 0 by bcast/", wordsOdd: fmt.Sprintf("called bcast of 100 bytes from root %d by bcast/", odd)},
		{name: "waiting", cfg: anyConfig, call: bcast(100, odd, 100, 0), words: fmt.Sprintf("called bcast of 100 bytes from root %d by bcast/", odd), wordsOdd: "called bcast of 100 bytes from root 0 by bcast/"},
		{name: "size", cfg: anyConfig, call: bcast(1000, 0, 999, 0), words: "called bcast of 1000 bytes from root 0 by bcast/", wordsOdd: "called bcast of 999 bytes from root 0 by bcast/"},
		{
			name: "length", cfg: anyConfig, words: "called bcast of 512 bytes from root 0 by bcast/", wordsOdd: "called bcast of 512 bytes from root 0 by bcast/",
			call: func(ctx context.Context, c *runtime.Comm, odd bool) error {
				if odd {
					return c.Bcast(ctx, buffer(512), 0)
				}
				_, err := c.BcastBytes(ctx, nil, 0)
				return err
			},
		},
		{
			name: "algorithm", call: barrier, words: "called barrier by barrier/dissemination degree=", wordsOdd: "called barrier by barrier/hsb fan-in=",
			cfg: func(odd bool) runtime.Config {
				return either(odd, runtime.Config{Barrier: runtime.Algorithm{Name: "barrier/dissemination"}}, runtime.Config{Barrier: runtime.Algorithm{Name: "barrier/hsb"}})
			},
		},
		{
			name: "degree", call: barrier, words: "called barrier by barrier/dissemination degree=2", wordsOdd: "called barrier by barrier/dissemination degree=9",
			cfg: func(odd bool) runtime.Config {
				of := func(degree int) runtime.Config {
					return runtime.Config{Barrier: runtime.Algorithm{Name: "barrier/dissemination", Params: schedule.Params{Degree: degree}}}
				}
				return either(odd, of(2), of(9))
			},
		},
		{
			name: "rules", cfg: anyConfig, words: "called bcast of 100 bytes from root 0 by bcast/linear chunks=2 (schedule ", wordsOdd: "called bcast of 100 bytes from root 0 by bcast/linear chunks=2 (schedule ",
			call: func(ctx context.Context, c *runtime.Comm, odd bool) error {
				s, err := star(ranks, odd)
				if err != nil {
					return err
				}
				if err := c.Use(s); err != nil {
					return err
				}
				return c.Bcast(ctx, buffer(100), 0)
			},
		},
		{
			name: "messages", words: "uses anycast/skip-ring with windows of 64 messages", wordsOdd: "uses anycast/skip-ring with windows of 63 messages",
			cfg: func(odd bool) runtime.Config {
				return either(odd, runtime.Config{CastWindow: 64}, runtime.Config{CastWindow: 63})
			},
			call: func(ctx context.Context, c *runtime.Comm, _ bool) error {
				_, err := c.Next(ctx)
				return err
			},
		},
		{
			name: "epoch", call: barrier, words: "has membership 1", wordsOdd: "has membership 2",
			cfg: func(odd bool) runtime.Config { return either(odd, runtime.Config{}, runtime.Config{Epoch: 2}) },
		},
	}
}

// star returns a broadcast of two chunks that a root puts to all, in another order if odd is set.
func star(ranks int, odd bool) (*machine.Schedule, error) {
	spec, err := schedule.New("bcast/linear", schedule.Params{Ranks: ranks, Chunks: 2})
	if err != nil {
		return nil, err
	}
	s := spec.Schedule()
	if odd {
		do := slices.Clone(s.Programs[0].Rules[0].Do)
		slices.Reverse(do)
		s.Programs[0].Rules = []ir.Rule{{When: s.Programs[0].Rules[0].When, Do: do}}
	}
	return machine.Of(s)
}

// testMismatchTold: when a rank differs from the others all get an error that says in the words of
// both sides who has called what, the same at all.
func testMismatchTold(t *testing.T, with Make, ranks, odd int, m *mismatch) {
	comms := joinEach(t, with, ranks, func(rank int) runtime.Config {
		cfg := m.cfg(rank == odd)
		cfg.Stall = 20 * time.Millisecond
		return cfg
	})
	errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		return untilFailed(ctx, c, func(ctx context.Context, c *runtime.Comm) error { return m.call(ctx, c, c.Rank() == odd) })
	})
	requireFailed(t, errs, runtime.ErrMismatch)
	text := comms[0].Err().Error()
	for _, c := range comms {
		require.EqualError(t, c.Err(), text, "rank %d", c.Rank())
	}
	require.Contains(t, text, fmt.Sprintf("rank %d %s", odd, m.wordsOdd))
	require.True(t, slices.ContainsFunc(comms, func(c *runtime.Comm) bool {
		return c.Rank() != odd && strings.Contains(text, fmt.Sprintf("rank %d %s", c.Rank(), m.words))
	}), text)
}

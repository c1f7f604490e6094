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
	words    string // the error's words about a rank that is not odd, after its number
	wordsOdd string // the words about the odd rank
}

// mismatches returns all ways in which ranks can differ.
func mismatches(ranks, odd int) []mismatch {
	return slices.Concat(otherOperation(odd), otherConfig(), []mismatch{otherSchedule(ranks)})
}

// call is a call of a rank.
type call func(ctx context.Context, c *runtime.Comm) error

func barrier(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) }

func next(ctx context.Context, c *runtime.Comm) error {
	_, err := c.Next(ctx)
	return err
}

func unknownLength(ctx context.Context, c *runtime.Comm) error {
	_, err := c.BcastBytes(ctx, nil, 0)
	return err
}

func bcastOf(n, root int) call {
	return func(ctx context.Context, c *runtime.Comm) error { return c.Bcast(ctx, buffer(n), root) }
}

// calledBcast and calledBarrier are the words of errors about these calls.
func calledBcast(n, root int) string {
	return fmt.Sprintf("called bcast of %d bytes from root %d by bcast/", n, root)
}

const calledBarrier = "called barrier by barrier/"

// otherOperation returns calls that the odd rank may make in place of the others' call.
func otherOperation(odd int) (all []mismatch) {
	for _, c := range []struct {
		name            string
		call, callOdd   call
		words, wordsOdd string
		bcast           string // algorithm, if not the default
	}{
		{"collective", bcastOf(100, 0), barrier, calledBcast(100, 0), calledBarrier, ""},
		{"root", bcastOf(100, 0), bcastOf(100, odd), calledBcast(100, 0), calledBcast(100, odd), ""},
		{"waiting", bcastOf(100, odd), bcastOf(100, 0), calledBcast(100, odd), calledBcast(100, 0), ""},
		{"size", bcastOf(1000, 0), bcastOf(999, 0), calledBcast(1000, 0), calledBcast(999, 0), ""},
		{"length", unknownLength, bcastOf(512, 0), calledBcast(512, 0), calledBcast(512, 0), ""},
		{"collective by puts", bcastOf(100, 0), barrier, calledBcast(100, 0), calledBarrier, "bcast/linear"},
		{"root by puts", bcastOf(100, 0), bcastOf(100, odd), calledBcast(100, 0), calledBcast(100, odd), "bcast/linear"},
		{"long by puts", bcastOf(1e5, 0), bcastOf(1e5, odd), calledBcast(1e5, 0), calledBcast(1e5, odd), "bcast/linear"},
	} {
		all = append(all, mismatch{
			name: c.name, words: c.words, wordsOdd: c.wordsOdd,
			cfg: func(bool) runtime.Config {
				return runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: c.bcast}}}
			},
			call: func(ctx context.Context, comm *runtime.Comm, odd bool) error {
				if odd {
					return c.callOdd(ctx, comm)
				}
				return c.call(ctx, comm)
			},
		})
	}
	return all
}

func barrierBy(name string, degree int) runtime.Config {
	return runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: name, Params: schedule.Params{Degree: degree}}}}
}

// messages are the words about rootless messages by default, up to the algorithm of questions.
const messages = "uses anycast/skip-ring with windows of 64 messages and 262144 bytes, and at most 1048576 bytes in each, questions by anyreduce/"

func asksBy(name string) runtime.Config {
	return runtime.Config{Algorithms: runtime.Algorithms{"anyreduce": {Name: name}}}
}

// otherConfig returns other configurations of the odd rank, for the same calls.
func otherConfig() (all []mismatch) {
	for _, c := range []struct {
		name            string
		call            call
		cfg, cfgOdd     runtime.Config
		words, wordsOdd string
	}{
		{"algorithm", barrier, barrierBy("barrier/dissemination", 0), barrierBy("barrier/hsb", 0), calledBarrier + "dissemination degree=", calledBarrier + "hsb fan-in="},
		{"degree", barrier, barrierBy("barrier/dissemination", 2), barrierBy("barrier/dissemination", 9), calledBarrier + "dissemination degree=2", calledBarrier + "dissemination degree=9"},
		{"messages", next, runtime.Config{PublishWindow: 64}, runtime.Config{PublishWindow: 63}, "uses anycast/skip-ring with windows of 64 messages", "uses anycast/skip-ring with windows of 63 messages"},
		{"questions", next, asksBy("anyreduce/skip-ring"), asksBy("anyreduce/circulant"), messages + "skip-ring", messages + "circulant"},
		{"epoch", barrier, runtime.Config{}, runtime.Config{Epoch: 2}, "has membership 1", "has membership 2"},
	} {
		all = append(all, mismatch{
			name: c.name, words: c.words, wordsOdd: c.wordsOdd,
			cfg: func(odd bool) runtime.Config {
				if odd {
					return c.cfgOdd
				}
				return c.cfg
			},
			call: func(ctx context.Context, comm *runtime.Comm, _ bool) error { return c.call(ctx, comm) },
		})
	}
	return all
}

// otherSchedule makes the odd rank use other rules for the same call.
func otherSchedule(ranks int) mismatch {
	const words = "called bcast of 100 bytes from root 0 by bcast/linear chunks=2 (schedule "
	return mismatch{
		name: "rules", words: words, wordsOdd: words,
		cfg: func(bool) runtime.Config { return runtime.Config{} },
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
	}
}

// star returns a broadcast of two chunks that the root puts to all ranks, in another order if odd
// is set.
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

// testMismatchTold: if a rank differs from the others, all ranks get the same error, which contains
// the calls of both sides.
func testMismatchTold(t *testing.T, with network, ranks, odd int, m *mismatch) {
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

package build_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/verify"
)

// The algorithms that package schedule has, as a designer would write them.

func allgatherRing(b *build.Builder) {
	p := b.Ranks()
	f := b.Chunks() / p
	now := make([][]build.Piece, p)
	for r := range p {
		for k := range f {
			now[r] = append(now[r], b.Chunk(r, r*f+k))
		}
	}
	for range p - 1 {
		next := make([][]build.Piece, p)
		for r, pieces := range now {
			for _, piece := range pieces {
				next[(r+1)%p] = append(next[(r+1)%p], piece.PutTo((r+1)%p))
			}
		}
		now = next
	}
}

func bcastBinomial(b *build.Builder) {
	p, root := b.Ranks(), b.Root()
	for k := range b.Chunks() {
		at := make([]build.Piece, p) // by virtual rank
		at[0] = b.Chunk(root, k)
		top := 1
		for top < p {
			top *= 2
		}
		for step := top / 2; step > 0; step /= 2 {
			for v := 0; v+step < p; v += 2 * step {
				at[v+step] = at[v].PutTo((v + step + root) % p)
			}
		}
	}
}

func allgatherBruck(b *build.Builder) {
	p := b.Ranks()
	has := make([][]build.Piece, p)
	for r := range p {
		has[r] = []build.Piece{b.Chunk(r, r)}
	}
	for step := 1; step < p; step *= 2 {
		next := make([][]build.Piece, p)
		for r := range p {
			to := (r - step + p) % p
			came := build.PutTogether(to, has[r][:min(step, p-step)]...)
			next[to] = append(slices.Clone(has[to]), came...)
		}
		has = next
	}
}

func dissemination(b *build.Builder) {
	p := b.Ranks()
	before := make([][]build.Piece, p)
	for r := range p {
		before[r] = []build.Piece{b.Enter(r)}
	}
	for step := 1; step < p; step *= 2 {
		next := make([][]build.Piece, p)
		for r := range p {
			to := (r + step) % p
			next[to] = append(slices.Clone(before[to]), b.Signal(r, to, before[r]...))
		}
		before = next
	}
	for r := range p {
		b.Done(r, before[r]...)
	}
}

func allreduceRing(b *build.Builder) {
	p := b.Ranks()
	f := b.Chunks() / p
	for k := range b.Chunks() {
		at := k/f + 1
		sum := b.Chunk(at%p, k)
		for range p - 1 {
			at++
			sum = sum.PutTo(at % p).Fold(b.Chunk(at%p, k))
		}
		sum.Result()
		for range p - 1 {
			at++
			sum = sum.PutTo(at % p)
			sum.Result()
		}
	}
}

// messages returns the puts of each rank, as often as they occur, without the numbers of partial
// results and signals, and the round in which each slot of a rank is set.
func messages(t *testing.T, s *ir.Schedule) (puts []string, rounds int) {
	for i := range s.Programs {
		p := &s.Programs[i]
		for _, r := range p.Rules {
			for left := r.Do; len(left) > 0; {
				m := ir.MessageOf(left)
				left = left[len(m):]
				text := fmt.Sprintf("%v %d -> %d:", m[0].Op, p.Rank, m[0].To)
				var of []string
				for _, a := range m {
					if k := a.Slot.Kind(); k == ir.KindValue || k == ir.KindSignal {
						of = append(of, fmt.Sprint(" of kind ", k))
					} else {
						of = append(of, " "+a.Slot.String())
					}
				}
				slices.Sort(of)
				puts = append(puts, text+strings.Join(of, ""))
			}
		}
	}
	slices.Sort(puts)
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.NoError(t, report.Err(), s.Name())
	return puts, report.Cost.Rounds
}

var _ = fixpoint.Run

func TestSameAsBuiltIn(t *testing.T) {
	for _, c := range []struct {
		name   string
		write  func(*build.Builder)
		chunks func(ranks int) int
		degree int
	}{
		{"allgather/ring", allgatherRing, func(int) int { return 2 }, 0},
		{"bcast/binomial", bcastBinomial, func(int) int { return 3 }, 0},
		{"allgather/bruck", allgatherBruck, nil, 0},
		{"barrier/dissemination", dissemination, nil, 2},
		{"allreduce/ring", allreduceRing, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for ranks := 1; ranks <= 33; ranks++ {
				p := schedule.Params{Ranks: ranks, Degree: c.degree}
				if c.chunks != nil {
					p.Chunks = c.chunks(ranks)
				}
				if strings.HasPrefix(c.name, "bcast") {
					p.Root = ranks / 3
				}
				spec, err := schedule.New(c.name, p)
				require.NoError(t, err)
				own, err := build.Schedule(spec.Header(), c.write)
				require.NoError(t, err)
				want, rounds := messages(t, spec.Schedule())
				got, ownRounds := messages(t, own)
				require.Equal(t, want, got, "%d ranks", ranks)
				require.Equal(t, rounds, ownRounds, "%d ranks", ranks)
				if ranks == 5 {
					var a, b bytes.Buffer
					require.NoError(t, ir.WriteText(&a, spec.Schedule()))
					require.NoError(t, ir.WriteText(&b, own))
					if a.String() != b.String() {
						t.Logf("%s\n%s", a.String(), b.String())
					}
				}
			}
		})
	}
}

package build_test

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
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
			}
		})
	}
}

// acknowledged multicasts each chunk. The root puts it again to a rank that does not acknowledge it.
func acknowledged(b *build.Builder) {
	for k := range b.Chunks() {
		for rank, came := range b.Chunk(b.Root(), k).Mcast() {
			if rank != b.Root() {
				ack := b.Signal(rank, b.Root(), came)
				b.Repair(ack, rank, rank+1)
				b.Done(b.Root(), ack)
			}
		}
	}
}

// released is a barrier: all ranks tell rank 0, which multicasts a chunk. A rank that it does not
// reach asks the rank before it.
func released(b *build.Builder) {
	var all []build.Piece
	for rank := 1; rank < b.Ranks(); rank++ {
		all = append(all, b.Signal(rank, 0))
	}
	for rank, came := range b.Chunk(0, 0).After(all...).Mcast() {
		if rank > 0 {
			b.Repair(came, rank-1, 1)
			b.Done(rank, came)
		}
	}
	b.Done(0, all...)
}

// prefixes is an exscan in which each rank puts what it has, folded with its own, to the next.
func prefixes(b *build.Builder) {
	for k := range b.Chunks() / b.Ranks() {
		upTo := b.Chunk(0, k)
		for rank := 1; rank < b.Ranks(); rank++ {
			before := upTo.PutTo(rank)
			before.Result()
			if rank+1 < b.Ranks() {
				upTo = before.Fold(b.Chunk(rank, k))
			}
		}
	}
}

// starOfHosts is an allreduce: masters of hosts fold what their host has, rank 0 folds the rest,
// and puts the result to all.
func starOfHosts(b *build.Builder) {
	for k := range b.Chunks() {
		sums := make([]build.Piece, b.Hosts())
		for rank := range b.Ranks() {
			host := b.Host(rank)
			if rank == 0 || b.Host(rank-1) != host {
				sums[host] = b.Chunk(rank, k)
			} else {
				master := sums[host].Rank()
				sums[host] = sums[host].Fold(b.Chunk(rank, k).PutTo(master))
			}
		}
		sum := sums[0]
		for _, other := range sums[1:] {
			sum = sum.Fold(other.PutTo(0))
		}
		sum.Result()
		for rank := 1; rank < b.Ranks(); rank++ {
			sum.PutTo(rank).Result()
		}
	}
}

// inTwo is a scatter whose root puts the blocks of two ranks to the first of them, together.
func inTwo(b *build.Builder) {
	for rank := 0; rank < b.Ranks(); rank += 2 {
		at := func(rank int) build.Piece { return b.Chunk(b.Root(), rank) }
		switch {
		case rank+1 == b.Ranks() && rank != b.Root():
			at(rank).PutTo(rank)
		case rank+1 == b.Ranks():
		case rank == b.Root():
			at(rank + 1).PutTo(rank + 1)
		case rank+1 == b.Root():
			at(rank).PutTo(rank)
		default:
			build.PutTogether(rank, at(rank), at(rank+1))[1].PutTo(rank + 1)
		}
	}
}

// TestProved checks that built schedules verify for each number of ranks and each root.
func TestProved(t *testing.T) {
	for _, c := range []struct {
		h     ir.Header
		write func(*build.Builder)
	}{
		{ir.Header{Collective: "bcast", Chunks: 3}, acknowledged},
		{ir.Header{Collective: "barrier", Chunks: 1}, released},
		{ir.Header{Collective: "exscan", Chunks: 2}, prefixes},
		{ir.Header{Collective: "allreduce", Chunks: 2}, starOfHosts},
		{ir.Header{Collective: "allreduce", Chunks: 1, Params: []ir.Param{{Name: "hosts", Value: 2}}}, starOfHosts},
		{ir.Header{Collective: "scatter", Chunks: 1}, inTwo},
	} {
		for ranks := 2; ranks <= 9; ranks++ {
			h := c.h
			h.Algorithm, h.Ranks = "own", ranks
			if blocks := h.Blocks(); blocks > 0 {
				h.Chunks *= blocks
			}
			for h.Root = 0; h.Root < ranks && (h.Root == 0 || h.Rooted()); h.Root++ {
				s, err := build.Schedule(h, c.write)
				require.NoError(t, err)
				report, err := verify.Run(s)
				require.NoError(t, err)
				require.NoError(t, report.Err(), "%s, %d ranks, root %d", h.Collective, ranks, h.Root)
			}
		}
	}
}

// A chunk that nobody brings is left to verify, which names it.
func TestMissing(t *testing.T) {
	s, err := build.Schedule(ir.Header{Collective: "bcast", Algorithm: "own", Ranks: 3, Chunks: 1}, func(b *build.Builder) {
		b.Chunk(0, 0).PutTo(1)
	})
	require.NoError(t, err)
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.ErrorContains(t, report.Err(), "rank 2")
}

// Names of pieces are in counterexamples, sentences and pictures.
func TestNames(t *testing.T) {
	h := ir.Header{Collective: "allreduce", Algorithm: "own", Ranks: 2, Chunks: 1}
	write := func(right bool) func(b *build.Builder) {
		return func(b *build.Builder) {
			low := b.Chunk(0, 0).PutTo(1).Named("low half")
			sum := low.Fold(b.Chunk(1, 0)).Named("both halves")
			sum.Result()
			if right {
				sum.PutTo(0).Result()
			} else {
				low.Fold().PutTo(0).Result()
			}
		}
	}
	s, err := build.Schedule(h, write(true))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, emit.Explain(&out, s, 1))
	require.Contains(t, out.String(), `Names: c0 is "both halves", v0 is "low half".`)
	out.Reset()
	require.NoError(t, emit.Rounds(&out, s, emit.RoundsOptions{}))
	require.Contains(t, out.String(), `rank 1: v0 is "low half"`)
	out.Reset()
	require.NoError(t, emit.Write(&out, "svg", s, emit.Options{}))
	require.Contains(t, html.UnescapeString(out.String()), `rank 1: c0 is "both halves"`)

	s, err = build.Schedule(h, write(false))
	require.NoError(t, err)
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.ErrorContains(t, report.Err(), `"both halves"`)
}

// BenchmarkBuild writes an allgather by a ring among 1,024 ranks: a million puts.
func BenchmarkBuild(b *testing.B) {
	spec, err := schedule.New("allgather/ring", schedule.Params{Ranks: 1024})
	require.NoError(b, err)
	for b.Loop() {
		_, err := build.Schedule(spec.Header(), allgatherRing)
		require.NoError(b, err)
	}
}

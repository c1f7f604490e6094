package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

// programs are the programs of all ranks of a schedule that rotates, by rank.
type programs func(rank int) ir.Program

// maker returns the programs in the form that RunPrograms takes.
func (of programs) maker() func(rank int) ir.Program { return of }

// ofBlock returns the chunks of a block.
func ofBlock(per, block int) (slots []ir.Slot) {
	for f := range per {
		slots = append(slots, ir.Chunk(block*per+f))
	}
	return slots
}

// allButOwn returns the Done of an allgather.
func allButOwn(ranks, per, rank int) (done []ir.Slot) {
	for b := range ranks {
		if b != rank {
			for f := range per {
				done = append(done, ir.Chunk(b*per+f))
			}
		}
	}
	return done
}

func allgatherRing(ranks, per int) (ir.Header, programs) {
	h := ir.Header{Collective: "allgather", Algorithm: "ring", Ranks: ranks, Chunks: ranks * per}
	return h, func(rank int) ir.Program {
		p := ir.Program{Rank: rank, Done: allButOwn(ranks, per, rank)}
		for d := range ranks - 1 {
			block := ofBlock(per, (rank-d+ranks)%ranks)
			when := []ir.Slot{ir.Enter}
			if d > 0 {
				when = append(when, block...)
			}
			p.Rules = append(p.Rules, ir.Rule{When: when, Do: ir.PutAll((rank+1)%ranks, block...)})
		}
		return p
	}
}

func allgatherBruck(ranks, per int) (ir.Header, programs) {
	h := ir.Header{Collective: "allgather", Algorithm: "bruck", Ranks: ranks, Chunks: ranks * per}
	return h, func(rank int) ir.Program {
		p := ir.Program{Rank: rank, Done: allButOwn(ranks, per, rank)}
		for step := 1; step < ranks; step *= 2 {
			var message []ir.Slot
			end := rank + min(step, ranks-step)
			for k := range max(0, end-ranks) * per { // ascending, as in a schedule
				message = append(message, ir.Chunk(k))
			}
			for k := rank * per; k < min(end, ranks)*per; k++ {
				message = append(message, ir.Chunk(k))
			}
			r := ir.Rule{When: []ir.Slot{ir.Enter}, Do: ir.PutAll((rank-step+ranks)%ranks, message...)}
			for _, c := range message {
				if c.Index()/per != rank {
					r.When = append(r.When, c)
				}
			}
			p.Rules = append(p.Rules, r)
		}
		return p
	}
}

// alltoallLinear returns an alltoall that puts each block to its rank. If pairwise, the put to rank
// r+i waits for the block of rank r-i+1.
func alltoallLinear(ranks, per int, pairwise bool) (ir.Header, programs) {
	h := ir.Header{Collective: "alltoall", Algorithm: "linear", Ranks: ranks, Chunks: ranks * ranks * per}
	return h, func(rank int) ir.Program {
		p := ir.Program{Rank: rank}
		for i := 1; i < ranks; i++ {
			to, before := (rank+i)%ranks, (rank-i+1+ranks)%ranks
			when := []ir.Slot{ir.Enter}
			if pairwise && i > 1 {
				when = append(when, ofBlock(per, before*ranks+rank)...)
			}
			p.Rules = append(p.Rules, ir.Rule{When: when, Do: ir.PutAll(to, ofBlock(per, rank*ranks+to)...)})
		}
		for from := range ranks {
			if from != rank {
				p.Done = append(p.Done, ofBlock(per, from*ranks+rank)...)
			}
		}
		return p
	}
}

// allreduceRing returns an allreduce that folds piece i of the vector on its way from rank i+1 to
// rank i, and sends the result round once more. Each piece has per chunks.
func allreduceRing(ranks, per int) (ir.Header, programs) {
	h := ir.Header{Collective: "allreduce", Algorithm: "ring-of-tests", Ranks: ranks, Chunks: ranks * per}
	return h, func(rank int) ir.Program {
		p := ir.Program{Rank: rank, Values: (2*ranks - 3) * per}
		next := (rank + 1) % ranks
		got := func(d, f int) ir.Slot { return ir.Value((2*d-2)*per + f) }
		made := func(d, f int) ir.Slot { return ir.Value((2*d-1)*per + f) }
		for d := range ranks {
			piece := (rank - 1 - d + 2*ranks) % ranks
			for f := range per {
				x, c := ir.Input(piece*per+f), ir.Chunk(piece*per+f)
				switch {
				case d == 0:
					p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutAs(x, next, got(1, f))}})
				case d < ranks-1:
					p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter, got(d, f)}, Do: ir.FoldOf(made(d, f), got(d, f), x)},
						ir.Rule{When: []ir.Slot{made(d, f)}, Do: []ir.Action{ir.PutAs(made(d, f), next, got(d+1, f))}})
				default:
					p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter, got(d, f)}, Do: ir.FoldOf(c, got(d, f), x)})
				}
			}
		}
		for d := range ranks - 1 {
			for f := range per {
				c := ir.Chunk((rank-d+ranks)%ranks*per + f)
				p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{c}, Do: []ir.Action{ir.PutTo(c, next)}})
			}
		}
		for k := range h.Chunks {
			p.Done = append(p.Done, ir.Chunk(k))
		}
		return p
	}
}

// reduceScatterLinear returns a reduce-scatter in which each rank puts its contributions to all
// others. They fold what comes in the order of the ranks after their own.
func reduceScatterLinear(ranks, per int) (ir.Header, programs) {
	h := ir.Header{Collective: "reduce-scatter", Algorithm: "linear-of-tests", Ranks: ranks, Chunks: ranks * per}
	return h, func(rank int) ir.Program {
		p := ir.Program{Rank: rank, Values: (ranks - 1) * per}
		for i := 1; i < ranks; i++ {
			to := (rank + i) % ranks
			r := ir.Rule{When: []ir.Slot{ir.Enter}}
			for f := range per {
				a := ir.PutAs(ir.Input(to*per+f), to, ir.Value((ranks-i-1)*per+f))
				a.Joins = f > 0
				r.Do = append(r.Do, a)
			}
			p.Rules = append(p.Rules, r)
		}
		for f := range per {
			c, operands := ir.Chunk(rank*per+f), []ir.Slot{ir.Input(rank*per + f)}
			when := []ir.Slot{ir.Enter}
			for i := range ranks - 1 {
				operands, when = append(operands, ir.Value(i*per+f)), append(when, ir.Value(i*per+f))
			}
			p.Rules = append(p.Rules, ir.Rule{When: when, Do: ir.FoldOf(c, operands...)})
			p.Done = append(p.Done, c)
		}
		return p
	}
}

// reduceScatterCirculant returns the reduce-scatter of J. L. Träff.
func reduceScatterCirculant(ranks, per int) (ir.Header, programs) {
	h := ir.Header{Collective: "reduce-scatter", Algorithm: "circulant-of-tests", Ranks: ranks, Chunks: ranks * per}
	return h, func(rank int) ir.Program {
		p := ir.Program{Rank: rank}
		for f := range per {
			have := make([]ir.Slot, ranks)
			for i := range have {
				have[i] = ir.Input((rank+i)%ranks*per + f)
			}
			uses := func(when []ir.Slot, s ir.Slot) []ir.Slot {
				if s.Kind() == ir.KindInput {
					s = ir.Enter
				}
				if slices.Contains(when, s) {
					return when
				}
				when = append(when, s)
				slices.Sort(when)
				return when
			}
			for left := ranks; left > 1; {
				skip := (left + 1) / 2
				var put, fold ir.Rule
				for i := range left - skip {
					a := ir.PutAs(have[skip+i], (rank+skip)%ranks, ir.Value(p.Values+i))
					a.Joins = i > 0
					put.Do, put.When = append(put.Do, a), uses(put.When, have[skip+i])
				}
				base := p.Values
				p.Values += left - skip
				for i := range left - skip {
					theirs, made := ir.Value(base+i), ir.Value(p.Values)
					if skip == 1 {
						made = ir.Chunk(rank*per + f)
					} else {
						p.Values++
					}
					fold.Do = append(fold.Do, ir.FoldOf(made, theirs, have[i])...)
					fold.When = uses(uses(fold.When, theirs), have[i])
					have[i] = made
				}
				p.Rules = append(p.Rules, put, fold)
				left = skip
			}
			p.Done = append(p.Done, ir.Chunk(rank*per+f))
		}
		return p
	}
}

// withAck adds a signal to a ring: each rank acknowledges to its predecessor.
func withAck(h ir.Header, of programs) (ir.Header, programs) {
	return h, func(rank int) ir.Program {
		p := of(rank)
		p.Signals = 1
		p.Rules = append(p.Rules, ir.Rule{When: p.Done, Do: []ir.Action{ir.PutTo(ir.Signal(0), (rank-1+h.Ranks)%h.Ranks)}})
		p.Done = append(p.Done[:len(p.Done):len(p.Done)], ir.Signal(0))
		return p
	}
}

// withMcasts also multicasts each block.
func withMcasts(h ir.Header, of programs) (ir.Header, programs) {
	per := h.Chunks / h.Ranks
	return h, func(rank int) ir.Program {
		p := of(rank)
		for _, c := range ofBlock(per, rank) {
			p.Rules[0].Do = append(p.Rules[0].Do, ir.McastOf(c))
		}
		return p
	}
}

func rotations(ranks, per int) map[string]func() (ir.Header, programs) {
	return map[string]func() (ir.Header, programs){
		"ring":         func() (ir.Header, programs) { return allgatherRing(ranks, per) },
		"bruck":        func() (ir.Header, programs) { return allgatherBruck(ranks, per) },
		"linear":       func() (ir.Header, programs) { return alltoallLinear(ranks, per, false) },
		"pairwise":     func() (ir.Header, programs) { return alltoallLinear(ranks, per, true) },
		"acknowledged": func() (ir.Header, programs) { return withAck(allgatherRing(ranks, per)) },
		"multicasts":   func() (ir.Header, programs) { return withMcasts(allgatherRing(ranks, per)) },

		"allreduce ring":           func() (ir.Header, programs) { return allreduceRing(ranks, per) },
		"reduce-scatter linear":    func() (ir.Header, programs) { return reduceScatterLinear(ranks, per) },
		"reduce-scatter circulant": func() (ir.Header, programs) { return reduceScatterCirculant(ranks, per) },
	}
}

func whole(h ir.Header, of programs) *ir.Schedule {
	s := &ir.Schedule{Header: h}
	for rank := range h.Ranks {
		s.Programs = append(s.Programs, of(rank))
	}
	return s
}

// TestRotationsAreProvedByOneRank checks that rank 0 alone gives the same results as all ranks for
// a schedule that rotates, word for word.
func TestRotationsAreProvedByOneRank(t *testing.T) {
	for ranks := 2; ranks <= 13; ranks++ {
		for per := 1; per <= 3; per++ {
			for name, made := range rotations(ranks, per) {
				t.Run(fmt.Sprintf("%s, %d ranks, %d chunks a block", name, ranks, per), func(t *testing.T) {
					h, of := made()
					report := proveRotation(h, of.maker, Checks())
					require.NotNil(t, report)
					full, err := Run(whole(h, of))
					require.NoError(t, err)
					require.NoError(t, full.Err())
					require.Zero(t, full.Period)
					require.Equal(t, 1, report.Period)
					full.Period = 1
					require.Equal(t, full, report)
				})
			}
		}
	}
}

// mutateRotation changes one rank's program, or the programs of all ranks that stand where one of the
// first period ranks does, in the same way.
func mutateRotation(h ir.Header, of programs, period int, all bool, seed uint64) programs {
	per, rotated := h.Rotation()
	rotate := func(_ *ir.Schedule, by int, slot ir.Slot) ir.Slot {
		if slot.Kind() != ir.KindChunk && slot.Kind() != ir.KindInput {
			return slot
		}
		return slot&^ir.MaxIndex + ir.Slot(rotated(h.Ranks, by, slot.Index()/per)*per+slot.Index()%per)
	}
	s := whole(h, of)
	mutated, _ := mutate(s, rand.New(rand.NewPCG(seed, 5)))
	if !all {
		return func(rank int) ir.Program { return mutated.Programs[rank] }
	}
	return func(rank int) ir.Program { // the program of one of the first ranks, shifted
		q := clone(&ir.Schedule{Header: h, Programs: []ir.Program{mutated.Programs[rank%period]}}).Programs[0]
		q.Rank = rank
		rank -= rank % period
		for i := range q.Rules {
			r := &q.Rules[i]
			r.Unless = rotate(s, rank, r.Unless)
			for j := range r.When {
				r.When[j] = rotate(s, rank, r.When[j])
			}
			for j := range r.Do {
				r.Do[j].Slot, r.Do[j].As = rotate(s, rank, r.Do[j].Slot), rotate(s, rank, r.Do[j].As)
				if r.Do[j].Op == ir.Put {
					r.Do[j].To = int32((int(r.Do[j].To) + rank) % h.Ranks)
				}
			}
		}
		for j := range q.Done {
			q.Done[j] = rotate(s, rank, q.Done[j])
		}
		return q
	}
}

// TestMutantsOfRotations checks that a mutant of a schedule that rotates is proved by its first ranks
// only if it is right, and then with the same words.
func TestMutantsOfRotations(t *testing.T) {
	proved, refuted := make(map[int]int), 0
	rapid.Check(t, func(t *rapid.T) {
		ranks, per := rapid.IntRange(2, 7).Draw(t, "ranks"), rapid.IntRange(1, 2).Draw(t, "chunks a block")
		name := rapid.SampledFrom([]string{
			"ring", "bruck", "linear", "pairwise", "acknowledged", "multicasts", "allreduce ring", "reduce-scatter linear", "reduce-scatter circulant",
			"allgather/ring", "allgather/neighbor", "alltoall/linear",
		}).Draw(t, "algorithm")
		period := 1
		var h ir.Header
		var of programs
		if made := rotations(ranks, per)[name]; made != nil {
			h, of = made()
		} else { // on hosts of several ranks
			period = rapid.IntRange(2, 3).Draw(t, "ranks of a host")
			hosts := rapid.IntRange(2, 4).Draw(t, "hosts")
			spec, err := NewSpec(name, Params{Ranks: period * hosts, Hosts: hosts, Chunks: per})
			require.NoError(t, err)
			h, of = spec.Header(), func(rank int) ir.Program { return spec.Maker()(rank) }
			if name == "allgather/neighbor" && hosts%2 == 0 {
				period *= 2
			}
		}
		all := rapid.Bool().Draw(t, "all ranks")
		of = mutateRotation(h, of, period, all, rapid.Uint64().Draw(t, "seed"))
		s := whole(h, of)
		full, err := Run(s)
		require.NoError(t, err)
		report := proveRotation(h, of.maker, Checks())
		if report != nil {
			proved[min(report.Period, 2)]++
			require.NoError(t, full.Err(), "%v", s)
			full.Period, full.FoldsApart = report.Period, report.FoldsApart
			require.Equal(t, full, report)
		} else if full.Err() != nil {
			refuted++
		}
		either, err := RunPrograms(h, of.maker)
		require.NoError(t, err)
		require.Equal(t, full, either)
	})
	require.Positive(t, proved[1])
	require.Positive(t, proved[2], "by several ranks")
	require.Positive(t, refuted)
}

// TestOneRankThatDiffers checks that a schedule does not rotate if a single rank differs, even the
// last one.
func TestOneRankThatDiffers(t *testing.T) {
	for name, made := range rotations(5, 2) {
		h, of := made()
		for odd := range h.Ranks {
			for what, spoil := range map[string]func(p *ir.Program){
				"a rule less":  func(p *ir.Program) { p.Rules = p.Rules[1:] },
				"another rank": func(p *ir.Program) { p.Rules[0].Do[0].To = int32((int(p.Rules[0].Do[0].To) + 1) % h.Ranks) },
				"two messages": func(p *ir.Program) {
					if do := p.Rules[0].Do; len(do) > 1 {
						do[1].Joins = false
						return
					}
					p.Rules[0].Do = append(p.Rules[0].Do, p.Rules[0].Do[0])
				},
				"another chunk": func(p *ir.Program) {
					s := &p.Rules[0].Do[0].Slot
					*s = *s&^ir.MaxIndex + ir.Slot((s.Index()+1)%h.Chunks)
				},
				"another partial result": func(p *ir.Program) {
					if a := &p.Rules[0].Do[0]; a.As != ir.None {
						a.As++
						return
					}
					p.Values++
				},
				"operands the other way round": func(p *ir.Program) {
					for i := range p.Rules {
						if do := p.Rules[i].Do; do[0].Op == ir.Fold {
							do[0].Slot, do[1].Slot = do[1].Slot, do[0].Slot
							return
						}
					}
					p.Values++
				},
				"less done":        func(p *ir.Program) { p.Done = p.Done[1:] },
				"another signal":   func(p *ir.Program) { p.Signals++ },
				"waits for more":   func(p *ir.Program) { p.Rules[0].When = append(p.Rules[0].When, p.Done[0]) },
				"somebody to ask":  func(p *ir.Program) { p.Ask = []int32{int32((odd + 1) % h.Ranks)} },
				"a repair":         func(p *ir.Program) { p.Rules[0].Unless = p.Done[0] },
				"the wrong number": func(p *ir.Program) { p.Rank = (p.Rank + 1) % h.Ranks },
			} {
				spoiled := programs(func(rank int) ir.Program {
					p := of(rank)
					if rank == odd {
						p = clone(&ir.Schedule{Programs: []ir.Program{p}}).Programs[0]
						spoil(&p)
					}
					return p
				})
				require.Nil(t, proveTurns(h, spoiled.maker, nil, Checks()), "%s: rank %d has %s", name, odd, what)
				if what != "operands the other way round" { // the bare programs are the same
					require.Nil(t, proveRotation(h, spoiled.maker, Checks()), "%s: rank %d has %s", name, odd, what)
				}
			}
		}
	}
}

// TestRowsRotate checks that in each row with Rotated, the rotated blocks are held and wanted by
// the rotated ranks.
func TestRowsRotate(t *testing.T) {
	for _, row := range ir.Collectives() {
		if row.Rotated == nil {
			continue
		}
		for ranks := 1; ranks <= 9; ranks++ {
			h := ir.Header{Collective: row.Name, Ranks: ranks, Chunks: row.Blocks(ranks)}
			for rank := range ranks {
				for by := range ranks {
					to := (rank + by) % ranks
					for b := range row.Blocks(ranks) {
						c := row.Rotated(ranks, by, b)
						require.Equal(t, h.Holds(rank, b), h.Holds(to, c))
						wanted, further := h.Wanted(rank), h.Wanted(to)
						require.Equal(t, wanted.Has(b), further.Has(c))
						require.Equal(t, b, row.Rotated(ranks, (ranks-by)%ranks, c))
					}
				}
			}
		}
	}
}

// BenchmarkRotation proves allgathers that fit no memory: 65,536 programs of 131,070 slots.
//
//	go test -run '^$' -bench Rotation -benchtime 1x ./verify
func BenchmarkRotation(b *testing.B) {
	for _, ranks := range []int{1024, 4096, 65536} {
		b.Run(fmt.Sprintf("bruck/%d", ranks), func(b *testing.B) {
			h, of := allgatherBruck(ranks, 1)
			for b.Loop() {
				require.NotNil(b, proveRotation(h, of.maker, Checks()))
			}
		})
	}
}

// TestRankZeroNeedsWhatAllRanksSay compares what must be set before the rules of rank 0 with the
// analysis of all ranks, for one operation and for one that follows another.
func TestRankZeroNeedsWhatAllRanksSay(t *testing.T) {
	for ranks := 2; ranks <= 9; ranks++ {
		for name, made := range rotations(ranks, 1) {
			s := whole(made())
			sub, err := newSubject(s)
			require.NoError(t, err)
			per, rotated := s.Rotation()
			q := rotationOf(s, 1, per, rotated)
			require.True(t, q.computeRounds())
			a := newMust(&sub.equations, nil, run{0, int32(ranks)}, maxRuns)
			b := newMust(&q.equations, nil, run{0, int32(ranks)}, maxRuns)
			for range 3 {
				require.True(t, a.solve())
				require.True(t, b.solve())
				for i := range q.Rules() {
					require.Equal(t, a.sets[a.rules[sub.layout.Rule(0, i)]], b.sets[b.rules[i]], "%s, %d ranks, rule %d", name, ranks, i)
				}
				seeds, seed := a.enteredBefore(), b.enteredBefore()
				require.Equal(t, seeds[0], seed[0])
				a, b = newMust(a.equations, nil, a.span, maxRuns), newMust(b.equations, nil, b.span, maxRuns)
				a.seeds, b.seeds = seeds, seed
			}
		}
	}
}

// TestBlocksPassedOnTwice checks that a block may not come twice even to a rank that only passes it
// on.
func TestBlocksPassedOnTwice(t *testing.T) {
	h, of := alltoallLinear(5, 1, false)
	twice := func(again bool) programs {
		return func(rank int) ir.Program {
			p := of(rank)
			via, to := (rank+1)%h.Ranks, (rank+2)%h.Ranks
			block := ir.Chunk(rank*h.Ranks + to)
			before := ir.Chunk((rank+h.Ranks-1)%h.Ranks*h.Ranks + via) // this rank passes it on
			p.Rules[1] = ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(block, via)}}
			p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter, before}, Do: []ir.Action{ir.PutTo(before, via)}})
			p.Done = append(p.Done, before)
			if again {
				p.Rules = append(p.Rules, p.Rules[1])
			}
			return p
		}
	}
	full, err := Run(whole(h, twice(false)))
	require.NoError(t, err)
	require.NoError(t, full.Err())
	full.Period = 1
	require.Equal(t, full, proveRotation(h, twice(false).maker, Checks()))
	require.Nil(t, proveRotation(h, twice(true).maker, Checks()))
	full, err = RunPrograms(h, twice(true).maker)
	require.NoError(t, err)
	require.ErrorContains(t, full.Err(), "once: ")
}

// TestOnlyMulticastsBreakTheCircle checks that puts may not wait for each other in a circle that
// only multicasts break, because these may be lost.
func TestOnlyMulticastsBreakTheCircle(t *testing.T) {
	h, _ := allgatherRing(3, 1)
	of := programs(func(rank int) ir.Program {
		own, next, last := ir.Chunk(rank), (rank+1)%3, (rank+2)%3
		return ir.Program{Rank: rank, Rules: []ir.Rule{
			{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.McastOf(own)}},
			{When: []ir.Slot{ir.Chunk(next)}, Do: []ir.Action{ir.PutTo(own, next), ir.PutTo(own, last)}},
		}, Done: allButOwn(3, 1, rank)}
	})
	require.True(t, mayRotate(h, of.maker))
	require.Nil(t, proveRotation(h, of.maker, Checks()))
	full, err := Run(whole(h, of))
	require.NoError(t, err)
	require.ErrorContains(t, full.Err(), "if all multicasts are lost")
}

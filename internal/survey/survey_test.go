package survey

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// mix folds numbers so that the result shows which were folded, in which order and with which
// brackets.
func mix(dst, a, b []byte) {
	x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
	binary.LittleEndian.PutUint64(dst, (x*0x9E3779B97F4A7C15>>17|x<<47)*3^y+7)
}

func number(rank int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(1000+rank)) }

// group holds the surveys of one question at all ranks, and the answers under way.
type group struct {
	all []*Survey
	way []message
}

type message struct {
	from, to int
	answer   Answer
}

func ask(o schedule.Overlay, ranks, origin int) *group {
	g := &group{all: make([]*Survey, ranks)}
	g.place(o, ranks, origin, origin, origin)
	return g
}

func (g *group) place(o schedule.Overlay, ranks, rank, origin, from int) {
	t := Place(o, ranks, rank, origin, from)
	g.all[rank] = New(t, mix)
	for _, to := range t.Children {
		g.place(o, ranks, to, origin, rank)
	}
}

// own makes a rank answer, and hear makes a message arrive. Both pass on the answer of a complete
// sub-tree.
func (g *group) own(rank int, a Answer) {
	g.all[rank].Own(a)
	g.passOn(rank)
}

func (g *group) hear(i int) {
	m := g.way[i]
	g.way = slices.Delete(g.way, i, i+1)
	s := g.all[m.to]
	s.Hear(s.Tree().Child(m.from), m.answer)
	g.passOn(m.to)
}

func (g *group) passOn(rank int) {
	s := g.all[rank]
	if t := s.Tree(); s.Complete() && t.Parent != rank {
		a, err := Parse(s.Answer().Append(nil), t.Ranks)
		if err != nil {
			panic(err)
		}
		g.way = append(g.way, message{rank, t.Parent, a})
	}
}

// run makes all ranks answer, in an order drawn from r, and all messages arrive.
func (g *group) run(r *rand.Rand, answer func(rank int) Answer) {
	left := r.Perm(len(g.all))
	for len(left) > 0 || len(g.way) > 0 {
		if n := r.IntN(len(left) + len(g.way)); n < len(left) {
			rank := left[n]
			left = slices.Delete(left, n, n+1)
			g.own(rank, answer(rank))
		} else {
			g.hear(n - len(left))
		}
	}
}

func plain(rank int) Answer { return Answer{Data: number(rank)} }

// overlays calls check for the overlay of every row of a rootless allreduce.
func overlays(t *testing.T, check func(t *testing.T, name string)) {
	for _, name := range []string{"anyreduce/skip-ring", "anyreduce/circulant"} {
		t.Run(name, func(t *testing.T) { check(t, name) })
	}
}

func spec(t require.TestingT, name string, ranks, origin int) *schedule.Spec {
	s, err := schedule.New(name, schedule.Params{Ranks: ranks, Root: origin})
	require.NoError(t, err)
	return s
}

// The answers of all ranks are folded as by the proved schedule, in any order of arrival.
func TestFoldsAsTheSchedule(t *testing.T) {
	overlays(t, func(t *testing.T, name string) {
		r := rand.New(rand.NewPCG(1, 2))
		for ranks := 1; ranks <= 40; ranks++ {
			for origin := range ranks {
				s := spec(t, name, ranks, origin)
				g := ask(s.Overlay(), ranks, origin)
				g.run(r, plain)
				require.True(t, g.all[origin].Complete())
				require.Equal(t, result(t, s, ranks), g.all[origin].Answer().Data, "P=%d origin=%d", ranks, origin)
			}
		}
	})
}

// result evaluates a schedule's rules until none fires, and returns the answer of all ranks.
func result(t *testing.T, s *schedule.Spec, ranks int) []byte {
	type place struct {
		rank int
		slot ir.Slot
	}
	values := make(map[place][]byte)
	for rank := range ranks {
		values[place{rank, ir.Input(0)}] = number(rank)
		values[place{rank, ir.Enter}] = []byte{}
		if rank == s.Header().Root {
			values[place{rank, ir.Chunk(0)}] = []byte("question")
		}
	}
	fired := make(map[string]bool)
	for moved := true; moved; {
		moved = false
		for rank := range ranks {
			p := s.Program(rank)
			for i, rule := range p.Rules {
				id := fmt.Sprint(rank, i)
				if fired[id] || slices.ContainsFunc(rule.When, func(x ir.Slot) bool { return values[place{rank, x}] == nil }) {
					continue
				}
				fired[id], moved = true, true
				for do := rule.Do; len(do) > 0; {
					act := ir.MessageOf(do)
					do = do[len(act):]
					of := func(i int) []byte { return values[place{rank, act[i].Slot}] }
					if act[0].Op != ir.Fold {
						to := act[0].Slot
						if act[0].As != ir.None {
							to = act[0].As
						}
						values[place{int(act[0].To), to}] = of(0)
						continue
					}
					sum := slices.Clone(of(0))
					for i := range act[1:] {
						mix(sum, sum, of(1+i))
					}
					values[place{rank, act[0].As}] = sum
				}
			}
		}
	}
	return values[place{s.Header().Root, ir.Chunk(1)}]
}

// If rank 0 asks, answers are folded in the order of the ranks: a refusal is that of the first
// rank.
func TestFirstRefusalCounts(t *testing.T) {
	overlays(t, func(t *testing.T, name string) {
		rapid.Check(t, func(t *rapid.T) {
			ranks := rapid.IntRange(1, 20).Draw(t, "ranks")
			refusing := rapid.SliceOfNDistinct(rapid.IntRange(0, ranks-1), 1, ranks, rapid.ID).Draw(t, "refusing")
			g := ask(spec(t, name, ranks, 0).Overlay(), ranks, 0)
			g.run(rand.New(rand.NewPCG(3, rapid.Uint64().Draw(t, "seed"))), func(rank int) Answer {
				if slices.Contains(refusing, rank) {
					return Answer{Refusal: &Refusal{Rank: rank, Cause: Mismatch, Text: fmt.Sprint(rank), Missing: []int{rank}}}
				}
				return plain(rank)
			})
			slices.Sort(refusing)
			no := g.all[0].Answer().Refusal
			require.NotNil(t, no)
			require.Equal(t, refusing[0], no.Rank)
			require.Equal(t, fmt.Sprint(refusing[0]), no.Text)
			require.Equal(t, refusing, no.Missing)
			in := []int{}
			for rank := range ranks {
				if !slices.Contains(refusing, rank) {
					in = append(in, rank)
				}
			}
			require.Equal(t, in, g.all[0].In())
		})
	})
}

// The refusal names a rank whose answer has another length than the origin's, whichever rank
// notices it.
func TestOtherLength(t *testing.T) {
	overlays(t, func(t *testing.T, name string) {
		for ranks := 2; ranks <= 16; ranks++ {
			for origin := range ranks {
				for odd := range ranks {
					if odd == origin {
						continue
					}
					g := ask(spec(t, name, ranks, origin).Overlay(), ranks, origin)
					g.run(rand.New(rand.NewPCG(5, 6)), func(rank int) Answer {
						if rank == odd {
							return Answer{Data: append(number(rank), number(rank)...)}
						}
						return plain(rank)
					})
					no := g.all[origin].Answer().Refusal
					require.NotNil(t, no)
					require.Equal(t, Length, no.Cause)
					require.Equal(t, []int{odd, 16, 8}, []int{no.Rank, no.Bytes, no.OtherBytes}, "P=%d origin=%d", ranks, origin)
					require.NotEqual(t, odd, no.Other)
					require.Contains(t, no.Missing, odd)
				}
			}
		}
	})
}

// The refusal names a child that has left, and the answers of the ranks behind it are missing.
func TestLeft(t *testing.T) {
	overlays(t, func(t *testing.T, name string) {
		g := ask(spec(t, name, 9, 4).Overlay(), 9, 4)
		s := g.all[4]
		require.Empty(t, s.In())
		require.Equal(t, append([]int{4}, s.Tree().Children...), s.Waits())
		s.Own(plain(4))
		require.Equal(t, s.Tree().Children, s.Waits())
		require.Equal(t, []int{4}, s.In())
		last := len(s.Tree().Children) - 1
		require.False(t, s.Heard(last))
		s.Lose(last)
		require.True(t, s.Heard(last))
		for i, child := range s.Tree().Children[:last] {
			require.False(t, s.Complete())
			s.Hear(i, plain(child))
		}
		require.True(t, s.Complete())
		require.Empty(t, s.Waits())
		leaf := g.all[s.Tree().Children[0]]
		for i := range leaf.Tree().Children {
			leaf.Hear(i, plain(0))
		}
		leaf.Own(plain(0))
		require.Equal(t, []int{4}, leaf.Waits())
		no := s.Answer().Refusal
		require.Equal(t, Left, no.Cause)
		require.Equal(t, s.Tree().Children[last], no.Rank)
		require.Equal(t, s.Tree().Below(nil, last), no.Missing)
		require.Len(t, s.In(), 9-len(no.Missing))
	})
}

// The sub-trees of a rank's children and the rank itself are the ranks behind it, each once.
func TestBelow(t *testing.T) {
	overlays(t, func(t *testing.T, name string) {
		for ranks := 1; ranks <= 33; ranks++ {
			for origin := range ranks {
				tree := Place(spec(t, name, ranks, origin).Overlay(), ranks, origin, origin, origin)
				var all []int
				for i := range tree.Children {
					all = tree.Below(all, i)
				}
				slices.Sort(all)
				all = slices.Insert(all, origin, origin)
				for rank := range ranks {
					require.Equal(t, rank, all[rank])
				}
				require.Len(t, all, ranks)
			}
		}
	})
}

// Parse reads what Append writes. It refuses everything else and does not panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte{}, uint8(4))
	f.Add(Answer{Data: []byte("data")}.Append(nil), uint8(4))
	f.Add(Answer{Refusal: &Refusal{Rank: 3, Cause: Mismatch, Text: "sum of int", Missing: []int{3, 1}}}.Append(nil), uint8(4))
	f.Add(Answer{Refusal: &Refusal{Rank: 2, Cause: Length, Bytes: 8, Other: 1, OtherBytes: 16, Missing: []int{2}}}.Append(nil), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, ranks uint8) {
		a, err := Parse(b, int(ranks))
		if err != nil {
			return
		}
		require.Equal(t, b, a.Append(nil))
		if r := a.Refusal; r != nil {
			require.LessOrEqual(t, len(b), MaxLen(int(ranks), 0))
			require.Less(t, r.Rank, int(ranks))
		}
	})
}

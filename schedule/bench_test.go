package schedule

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyRanks is the number of ranks for programs that are short in any group. fewRanks is the number
// for programs that are as long as the group is large.
const (
	manyRanks = MaxRanks
	fewRanks  = 1 << 6
)

// groupLong reports whether an algorithm's programs are as long as the group is large.
func groupLong(alg *Algorithm) bool {
	row := alg.Row()
	return row.Blocks != nil && row.Blocks(2) > 1 || alg.chunks != nil ||
		row.Inputs != nil && (strings.HasSuffix(alg.Name, "/linear") || strings.HasSuffix(alg.Name, "/star"))
}

// local returns specs of all algorithms, as large as is cheap.
func local(t testing.TB) []*Spec {
	var specs []*Spec
	for _, alg := range Algorithms() {
		ranks := manyRanks
		if groupLong(&alg) {
			ranks = fewRanks
		}
		for _, p := range []Params{{Ranks: ranks}, {Ranks: ranks, Root: 3}, {Ranks: ranks, Chunks: 16}, {Ranks: ranks, Hosts: ranks / 8}} {
			if p.check(&alg) != nil {
				continue
			}
			s, err := New(alg.Name, p)
			require.NoError(t, err)
			specs = append(specs, s)
		}
	}
	return specs
}

// someRanks returns ranks of every kind: the root, masters with many children, leaves, slaves, and
// the last rank.
func (s *Spec) someRanks() []int {
	many := s.params.Ranks
	ranks := []int{0, 1, 3, 4, many / 2, many/2 + 1, many - 1}
	if s.alg.Name != "bcast/linear" {
		return ranks
	}
	// The root of bcast/linear puts to every rank.
	return ranks[4:]
}

func TestProgramAllocates(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	for _, s := range local(t) {
		runtime.GC()
		for _, rank := range s.someRanks() {
			most := 3.0
			if p := s.Program(rank); len(p.Ask)+len(p.ReportFrom) > 0 {
				most++
			}
			got := testing.AllocsPerRun(20, func() { s.Program(rank) })
			require.LessOrEqual(t, got, most, "%s rank %d", s.label(), rank)
		}
	}
}

// TestMakerAllocatesNothing checks that a maker that has made all of some programs has enough
// memory to make each of them again.
func TestMakerAllocatesNothing(t *testing.T) {
	for _, s := range local(t) {
		made := s.Maker()
		all := func() {
			for _, rank := range s.someRanks() {
				made(rank)
			}
		}
		all()
		require.Zero(t, testing.AllocsPerRun(5, all), s.label())
	}
}

func (s *Spec) label() string {
	label := fmt.Sprintf("%s/root=%d", s.alg.Name, s.params.Root)
	for _, p := range s.Header().Params {
		label += fmt.Sprintf("/%s=%d", p.Name, p.Value)
	}
	if s.params.Chunks > 1 {
		label += fmt.Sprintf("/chunks=%d", s.params.Chunks)
	}
	return label
}

// BenchmarkProgram measures the program of one rank among 2^20. It may take 1 µs plus 50 ns a rule,
// and %limit is the part of that which it uses. A root with hundreds of actions in its one rule,
// chunks times children, takes more, because the limit does not count actions.
func BenchmarkProgram(b *testing.B) {
	for _, s := range local(b) {
		for _, rank := range s.someRanks() {
			b.Run(fmt.Sprintf("%s/rank=%d", s.label(), rank), func(b *testing.B) {
				rules := len(s.Program(rank).Rules)
				b.ReportAllocs()
				for b.Loop() {
					s.Program(rank)
				}
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				b.ReportMetric(float64(rules), "rules")
				b.ReportMetric(ns/float64(max(1, rules)), "ns/rule")
				b.ReportMetric(100*ns/(1000+50*float64(rules)), "%limit")
			})
		}
	}
}

package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

// text spells a program, one rule a line.
func text(p ir.Program) string {
	var b strings.Builder
	for _, r := range p.Rules {
		fmt.Fprint(&b, words(r.When))
		if r.IsRepair() {
			fmt.Fprintf(&b, " unless %v after %d", r.Unless, r.After)
		}
		b.WriteString(" ->")
		for _, act := range r.Do {
			if act.Joins {
				fmt.Fprintf(&b, "+%v", act.Slot)
				continue
			}
			fmt.Fprintf(&b, " %v:%v", act.Op, act.Slot)
			if act.Op == ir.Put {
				fmt.Fprintf(&b, "@%d", act.To)
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "done %s\n", words(p.Done))
	if !p.Recovery.IsNone() {
		fmt.Fprintf(&b, "ask %v report %v %d from %v twice", p.Ask, p.Reports, p.ReportTo, p.ReportFrom)
		for _, act := range p.Twice {
			fmt.Fprintf(&b, " %v@%d", act.Slot, act.To)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func words(slots []ir.Slot) string {
	names := make([]string, len(slots))
	for i, s := range slots {
		names[i] = s.String()
	}
	return strings.Join(names, " ")
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		rank int
		want []string
	}{
		{"bcast/chain", Params{Ranks: 3, Root: 2, Chunks: 2}, 2, []string{
			"enter -> put:c0@0 put:c1@0", "done enter"}},
		{"bcast/chain", Params{Ranks: 3, Root: 2, Chunks: 2}, 0, []string{
			"c0 -> put:c0@1", "c1 -> put:c1@1", "done c0 c1"}},
		{"bcast/chain", Params{Ranks: 3, Root: 2}, 1, []string{"done c0"}},
		{"bcast/mcast-chain", Params{Ranks: 4, Chunks: 2}, 0, []string{
			"enter -> mcast:c0 mcast:c1 put:c0@1 put:c1@1", "done enter", "ask [] report false 0 from [1] twice"}},
		{"bcast/mcast-chain", Params{Ranks: 4, Root: 3}, 0, []string{
			"c0 -> put:c0@1", "done c0", "ask [2 3] report true 3 from [1] twice"}},
		{"bcast/mcast-chain", Params{Ranks: 4, Root: 3}, 2, []string{
			"done c0", "ask [1 3] report true 1 from [] twice"}},
		{"bcast/mcast-chain", Params{Ranks: 2}, 1, []string{
			"done c0", "ask [0] report true 0 from [] twice"}},
		{"bcast/mcast-chain", Params{Ranks: 8, Hosts: 3, Root: 1}, 3, []string{
			"c0 -> put:c0@6 put:c0@4 put:c0@5", "done c0", "ask [6 1] report true 1 from [6] twice"}},
		{"bcast/mcast-chain", Params{Ranks: 8, Hosts: 3, Root: 1}, 4, []string{"done c0"}},
		{"bcast/mcast-acktree", Params{Ranks: 8, Chunks: 2}, 6, []string{
			"c0 c1 s0 -> put:s1@4", "c0 s1 -> put:c0@4", "c1 s2 -> put:c1@4",
			"c0 c1 unless s0 after 1 -> put:c0@7 put:c1@7",
			"s0 unless c0 after 0 -> put:s0@7", "s0 unless c1 after 0 -> put:s1@7",
			"done c0 c1 s0", "ask [4 0] report true 4 from [7] twice s1@4"}},
		{"bcast/mcast-acktree", Params{Ranks: 8, Hosts: 2, Root: 1}, 4, []string{
			"c0 -> put:c0@5 put:c0@6 put:c0@7", "c0 s0 s1 s2 -> put:s3@1", "done c0 s0 s1 s2",
			"ask [1] report true 1 from [5 6 7] twice s3@1"}},
		{"bcast/mcast-acktree", Params{Ranks: 8, Hosts: 2, Root: 1}, 1, []string{
			"enter -> mcast:c0 put:c0@0 put:c0@2 put:c0@3", "enter unless s3 after 1 -> put:c0@4", "done enter s0 s1 s2 s3",
			"ask [] report false 0 from [4] twice"}},
		{"bcast/mcast-acktree", Params{Ranks: 8, Hosts: 2, Root: 1}, 3, []string{
			"c0 -> put:s2@1", "done c0", "ask [] report false 0 from [] twice s2@1"}},
		{"bcast/mcast-acktree", Params{Ranks: 8, Hosts: 2, Root: 1}, 6, []string{
			"c0 -> put:s1@4", "done c0", "ask [4 1] report true 4 from [] twice s1@4"}},
		{"bcast/mcast-acktree", Params{Ranks: 7, Root: 5}, 6, []string{
			"c0 -> put:s0@5", "done c0", "ask [1 5] report true 5 from [] twice s0@5"}},
		{"bcast/mcast-acktree", Params{Ranks: 2}, 1, []string{
			"c0 -> put:s0@0", "done c0", "ask [0] report true 0 from [] twice s0@0"}},
		{"bcast/mcast-binomial", Params{Ranks: 8, Chunks: 2}, 4, []string{
			"c0 -> put:c0@6 put:c0@5", "c1 -> put:c1@6 put:c1@5", "done c0 c1", "ask [1 0] report true 0 from [5 6] twice"}},
		{"bcast/mcast-binomial", Params{Ranks: 8, Hosts: 2, Root: 1}, 4, []string{
			"c0 -> put:c0@5 put:c0@6 put:c0@7", "done c0", "ask [1] report true 1 from [] twice"}},
		{"bcast/scatter-allgather", Params{Ranks: 4}, 0, []string{
			"enter -> put:c2@2+c3 put:c1@1 put:c0@1 put:c3@1 put:c2@1", "done enter"}},
		{"bcast/scatter-allgather", Params{Ranks: 4}, 2, []string{
			"c3 -> put:c3@3", "c2 -> put:c2@3", "c1 -> put:c1@3", "c0 -> put:c0@3", "done c0 c1 c2 c3"}},
		{"bcast/scatter-allgather", Params{Ranks: 4, Chunks: 2}, 2, []string{
			"c1 -> put:c1@3", "c0 -> put:c0@3", "done c0 c1"}},
		{"allgather/bruck", Params{Ranks: 5}, 0, []string{
			"enter -> put:c0@4", "enter c1 -> put:c0@3+c1", "enter -> put:c0@1", "done c1 c2 c3 c4"}},
		{"allgather/bruck", Params{Ranks: 3, Chunks: 2}, 0, []string{
			"enter -> put:c0@2 put:c1@2", "enter -> put:c0@1 put:c1@1", "done c2 c3 c4 c5"}},
		{"allgather/bruck", Params{Ranks: 1}, 0, []string{"done enter"}},
		{"allgather/doubling", Params{Ranks: 7}, 1, []string{
			"enter -> put:c1@2", "enter c0 -> put:c0@3+c1", "enter c6 c0 -> put:c6@5+c0+c1", "done c0 c2 c3 c4 c5 c6"}},
		{"allgather/mcast", Params{Ranks: 4, Chunks: 2}, 3, []string{
			"enter -> mcast:c6 mcast:c7 put:c6@0 put:c7@0", "c4 -> put:c4@0", "c5 -> put:c5@0", "c2 -> put:c2@0", "c3 -> put:c3@0",
			"done c0 c1 c2 c3 c4 c5"}},
		{"allgather/mcast", Params{Ranks: 2}, 1, []string{"enter -> mcast:c1 put:c1@0", "done c0"}},
		{"allgather/mcast", Params{Ranks: 1}, 0, []string{"done enter"}},
		{"allgather/ring", Params{Ranks: 6, Hosts: 3}, 2, []string{
			"enter c3 -> put:c2@4+c3", "c0 c1 -> put:c0@4+c1", "enter c3 -> put:c2@3", "c0 c1 -> put:c0@3+c1", "c4 c5 -> put:c4@3+c5",
			"done c0 c1 c3 c4 c5"}},
		{"allgather/ring", Params{Ranks: 6, Hosts: 3}, 3, []string{"enter -> put:c3@2", "done c0 c1 c2 c4 c5"}},
		{"gather/binomial", Params{Ranks: 6, Root: 2}, 0, []string{"enter c1 -> put:c0@2+c1", "done c1"}},
		{"gather/binomial", Params{Ranks: 6, Root: 2, Chunks: 2}, 4, []string{
			"enter c10 -> put:c8@2+c10", "enter c11 -> put:c9@2+c11", "done c10 c11"}},
		{"gather/linear", Params{Ranks: 6, Root: 2, Hosts: 2}, 3, []string{"enter c4 c5 -> put:c3@2+c4+c5", "done c4 c5"}},
		{"scatter/binomial", Params{Ranks: 6, Root: 2}, 2, []string{"enter -> put:c0@0+c1 put:c4@4+c5 put:c3@3", "done enter"}},
		{"scatter/binomial", Params{Ranks: 6, Root: 2, Chunks: 2}, 4, []string{
			"c10 -> put:c10@5", "c11 -> put:c11@5", "done c8 c9 c10 c11"}},
		{"scatter/linear", Params{Ranks: 6, Hosts: 2}, 3, []string{"c4 c5 -> put:c4@4 put:c5@5", "done c3 c4 c5"}},
		{"alltoall/bruck", Params{Ranks: 4}, 0, []string{
			"enter -> put:c1@1+c3", "enter c14 -> put:c2@2+c14", "done c4 c8 c12 c14"}},
		{"alltoall/pairwise", Params{Ranks: 4}, 0, []string{
			"enter -> put:c1@1", "enter c12 -> put:c2@2", "enter c8 -> put:c3@3", "done c4 c8 c12"}},
		{"alltoall/pairwise", Params{Ranks: 4, Hosts: 2}, 2, []string{
			"enter c12 c13 -> put:c8@0+c9+c12+c13", "enter -> put:c11@3", "c3 c7 -> put:c3@3+c7", "done c2 c6 c14 c12 c13 c3 c7"}},
		{"alltoall/linear", Params{Ranks: 4, Hosts: 2}, 3, []string{"enter -> put:c12@2+c13+c14", "done c3 c7 c11"}},
		{"barrier/dissemination", Params{Ranks: 4, Degree: 2}, 0, []string{
			"enter -> put:s0@1", "enter s0 -> put:s1@2", "done s0 s1"}},
		{"barrier/dissemination", Params{Ranks: 8, Hosts: 3, Degree: 2}, 3, []string{
			"enter s0 s1 -> put:s1@6",
			"enter s0 s1 s2 -> put:s3@0",
			"enter s0 s1 s2 s3 -> put:s0@4 put:s0@5", "done s0 s1 s2 s3"}},
	} {
		t.Run(fmt.Sprintf("%s/%v/rank=%d", c.name, c.p, c.rank), func(t *testing.T) {
			s, err := New(c.name, c.p)
			require.NoError(t, err)
			require.Equal(t, strings.Join(c.want, "\n")+"\n", text(s.Program(c.rank)))
		})
	}
}

// TestArenaIsExact checks that programs fit their computed sizes exactly, without slack or growth.
func TestArenaIsExact(t *testing.T) {
	for _, alg := range Algorithms() {
		for ranks := 1; ranks <= 33; ranks++ {
			for _, p := range variants(&alg, ranks) {
				s, err := New(alg.Name, p)
				require.NoError(t, err)
				for rank := range ranks {
					requireExact(t, s, rank)
				}
			}
		}
	}
}

func requireExact(t *testing.T, s *Spec, rank int) {
	t.Helper()
	n := s.node(rank)
	z := s.sizeOf(n)
	p := s.Program(rank)
	acts := 0
	for _, r := range p.Rules {
		acts += len(r.Do)
	}
	want := [...]int{z.rules, z.rules, z.acts, z.peers}
	if got := [...]int{len(p.Rules), cap(p.Rules), acts, len(p.Ask) + len(p.ReportFrom)}; got != want {
		t.Fatalf("%s %+v rank %d: %v rules, room for rules, actions, ranks of recovery, want %v", s.alg.Name, s.params, rank, got, want)
	}
}

// TestMaker checks that programs that overwrite each other equal programs in memory of their own,
// whatever the memory held before.
func TestMaker(t *testing.T) {
	for _, alg := range Algorithms() {
		rapid.Check(t, func(t *rapid.T) {
			ranks := rapid.IntRange(1, 40).Draw(t, "ranks")
			s, err := New(alg.Name, rapid.SampledFrom(variants(&alg, ranks)).Draw(t, "params"))
			require.NoError(t, err)
			made := s.Maker()
			// rank number ranks does not exist
			for _, rank := range rapid.SliceOfN(rapid.IntRange(0, ranks), 2, 12).Draw(t, "order") {
				require.Equal(t, s.Program(rank), made(rank), "%s %+v rank %d", alg.Name, s.params, rank)
			}
		})
	}
}

// variants returns parameters of every kind that alg takes.
func variants(alg *Algorithm, ranks int) []Params {
	out := []Params{{Ranks: ranks}}
	add := func(param string, values []int, field func(*Params) *int) {
		if !slices.Contains(alg.Params, param) {
			return
		}
		for _, base := range slices.Clone(out) {
			for _, v := range values {
				*field(&base) = v
				out = append(out, base)
			}
		}
	}
	add("root", []int{ranks / 2, ranks - 1}, func(p *Params) *int { return &p.Root })
	add("origin", []int{ranks / 2, ranks - 1}, func(p *Params) *int { return &p.Root })
	add("chunks", []int{3}, func(p *Params) *int { return &p.Chunks })
	add("degree", []int{2, 3, 40}, func(p *Params) *int { return &p.Degree })
	add("fan-in", []int{2, 40}, func(p *Params) *int { return &p.FanIn })
	add("fan-out", []int{1, 3}, func(p *Params) *int { return &p.FanOut })
	add("hosts", []int{1, (ranks + 2) / 3, ranks}, func(p *Params) *int { return &p.Hosts })
	return out
}

// TestMulticastingRanks checks that an algorithm says that it multicasts if and only if its root
// does. Other ranks read the root's program, which may be as long as there are ranks, only if the
// algorithm says so.
func TestMulticastingRanks(t *testing.T) {
	for _, alg := range Algorithms() {
		s, err := New(alg.Name, Params{Ranks: 9})
		require.NoError(t, err)
		found := false
		for rank := range 9 {
			p := s.Program(rank)
			found = found || p.Yields()
			for _, r := range p.Rules {
				found = found || slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Mcast })
			}
		}
		require.Equal(t, alg.Multicasts(), found, alg.Name)
	}
}

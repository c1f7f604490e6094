package ir

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// dissemination returns the mode 2 barrier of degree 2. It is large and has long waits.
func dissemination(ranks int) *Schedule {
	s := &Schedule{Header: Header{
		Collective: "barrier", Algorithm: "dissemination", Ranks: ranks, Params: []Param{{"degree", 2}},
	}}
	steps := bits.Len(uint(ranks - 1))
	wait := []Slot{Enter}
	for j := range steps {
		wait = append(wait, Signal(j))
	}
	for rank := range ranks {
		g := Program{Rank: rank, Signals: steps, Done: wait[1:]}
		for i := range steps {
			to := (rank + 1<<i) % ranks
			g.Rules = append(g.Rules, Rule{When: wait[:i+1], Do: []Action{PutTo(Signal(i), to)}})
		}
		s.Programs = append(s.Programs, g)
	}
	return s
}

// linear returns a broadcast whose root has one rule of many actions.
func linear(ranks int) *Schedule {
	s := &Schedule{Header: Header{Collective: "bcast", Algorithm: "linear", Ranks: ranks, Chunks: 1}}
	root := Rule{When: []Slot{Enter}}
	for rank := range ranks {
		if rank > 0 {
			root.Do = append(root.Do, PutTo(Chunk(0), rank))
		}
		s.Programs = append(s.Programs, Program{Rank: rank, Done: []Slot{Chunk(0)}})
	}
	s.Programs[0].Rules, s.Programs[0].Done = []Rule{root}, []Slot{Enter}
	return s
}

func TestLongRule(t *testing.T) {
	s := linear(1 << 16)
	for _, f := range forms {
		got, err := f.parse(bytes.NewReader(f.print(t, s)))
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
}

func BenchmarkForms(b *testing.B) {
	for _, ranks := range []int{64, 1 << 12, 1 << 16} {
		for _, s := range []*Schedule{dissemination(ranks), linear(ranks)} {
			for _, f := range forms {
				name := fmt.Sprintf("%s/P=%d/%s", s.Algorithm, ranks, f.name)
				b.Run("write/"+name, func(b *testing.B) { benchmarkWrite(b, f, s) })
				b.Run("parse/"+name, func(b *testing.B) { benchmarkParse(b, f, s) })
			}
		}
	}
}

func benchmarkWrite(b *testing.B, f form, s *Schedule) {
	b.SetBytes(int64(len(f.print(b, s))))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.write(io.Discard, s); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkParse(b *testing.B, f form, s *Schedule) {
	printed := f.print(b, s)
	b.SetBytes(int64(len(printed)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.parse(bytes.NewReader(printed)); err != nil {
			b.Fatal(err)
		}
	}
}

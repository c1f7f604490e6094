package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// largePrograms are algorithms with programs of different lengths: of an inner rank of a tree, of a
// root, and of a rank that communicates with all others. An alltoall of a million ranks has more
// blocks than there are numbers.
var largePrograms = []struct {
	algorithm string
	rank      int
}{
	{"allgather/bruck", 4711},
	{"allgather/doubling", 4711},
	{"allgather/ring", 4711},
	{"gather/binomial", 0},
	{"gather/binomial", 4711},
	{"gather/linear", 4711},
	{"scatter/binomial", 0},
	{"scatter/binomial", 4711},
	{"scatter/linear", 4711},
}

// BenchmarkLargePlan makes the plan of one rank among 2^20, starting from the algorithm's name.
func BenchmarkLargePlan(b *testing.B) {
	for _, l := range largePrograms {
		name := l.algorithm + "/rank"
		if l.rank == 0 {
			name = l.algorithm + "/root"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := schedule.New(l.algorithm, schedule.Params{Ranks: 1 << 20})
				require.NoError(b, err)
				h, program := s.Header(), s.Program(l.rank)
				plan, err := machine.Compile(&h, &program)
				require.NoError(b, err)
				core.NewPlan(&h, plan, program, 0)
			}
		})
	}
}

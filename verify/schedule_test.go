package verify

import "github.com/schedgen/schedgen/ir"

// Tests inside the package take the algorithms from these functions, which provide_test.go sets.
// They cannot import package schedule, because that imports this package.
var (
	Algorithms func() []Algorithm
	NewSpec    func(name string, p Params) (Spec, error)
)

// Algorithm is a schedule.Algorithm.
type Algorithm struct {
	Name, Collective, Tree string
	RankOrder, Acked       bool
	Row                    ir.Collective
}

// Params are schedule.Params.
type Params struct{ Ranks, Root, Chunks, Hosts, Degree, FanIn, FanOut int }

// Spec is a *schedule.Spec.
type Spec interface {
	Header() ir.Header
	Maker() func(rank int) ir.Program
	Schedule() *ir.Schedule
}

package verify_test

import (
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

func init() {
	verify.Algorithms = func() (all []verify.Algorithm) {
		for _, a := range schedule.Algorithms() {
			all = append(all, verify.Algorithm{
				Name: a.Name, Collective: a.Collective, Tree: a.Tree, RankOrder: a.RankOrder, Acked: a.Acknowledged(), Row: a.Row(),
			})
		}
		return all
	}
	verify.NewSpec = func(name string, p verify.Params) (verify.Spec, error) {
		return schedule.New(name, schedule.Params{Ranks: p.Ranks, Root: p.Root, Chunks: p.Chunks, Hosts: p.Hosts, Degree: p.Degree, FanIn: p.FanIn, FanOut: p.FanOut})
	}
}

package papers

import (
	"fmt"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// micros returns a time in µs.
func micros(t sim.Time) float64 { return float64(t) / 1e3 }

// simulate simulates one operation of an algorithm.
func simulate(name string, p schedule.Params, c sim.Config) (*sim.Result, error) {
	spec, err := schedule.New(name, p)
	if err != nil {
		return nil, err
	}
	r, err := sim.Run(spec, c)
	if err != nil {
		return nil, err
	}
	if r.Makespan == sim.Never {
		return nil, fmt.Errorf("simulate %s among %d ranks: some rank never returns", name, p.Ranks)
	}
	return r, nil
}

// repeat simulates operations of an algorithm, with seeds from seed on, and passes each result to
// see. If the root is adaptive, it chooses the second stage.
func repeat(name string, p schedule.Params, c sim.Config, seed uint64, runs int, see func(i int, r *sim.Result)) error {
	spec, err := schedule.New(name, p)
	if err != nil {
		return err
	}
	if c.Delay.Adaptive {
		alg := spec.Algorithm()
		otherwise, lost := alg.Otherwise()
		if c.Otherwise, err = schedule.New(otherwise, p); err != nil {
			return err
		}
		c.Lost = lost
	}
	s, err := sim.New(spec, c)
	if err != nil {
		return err
	}
	for i := range runs {
		r, err := s.Run(seed + uint64(i))
		if err != nil {
			return err
		}
		if r.Makespan == sim.Never {
			return fmt.Errorf("simulate %s among %d ranks, seed %d: some rank never returns", name, p.Ranks, seed+uint64(i))
		}
		see(i, r)
	}
	return nil
}

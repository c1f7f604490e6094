package sim_test

import (
	"fmt"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// A binomial broadcast of 64 KiB takes 2.4 ms among 64 ranks in the LogGP model.
func ExampleRun() {
	spec, err := schedule.New("bcast/binomial", schedule.Params{Ranks: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := sim.Run(spec, sim.Config{Model: sim.DefaultLogGP(), Bytes: 64 << 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the last rank returns after", r.Makespan, "ns")
	// Output: the last rank returns after 2392260 ns
}

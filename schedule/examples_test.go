package schedule_test

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/schedule"
)

// One rank computes its own program alone, here rank 5 of a barrier among a million.
func ExampleSpec_Program() {
	spec, err := schedule.New("barrier/hsb", schedule.Params{Ranks: 1 << 20, FanIn: 2, FanOut: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	program := spec.Program(5)
	for _, rule := range program.Rules {
		fmt.Print(rule.When, " ->")
		for _, act := range rule.Do {
			fmt.Printf(" %v %v @%d", act.Op, act.Slot, act.To)
		}
		fmt.Println()
	}
	fmt.Println("done", program.Done)
	// Output:
	// [enter s0 s1] -> put s0 @2
	// [s2] -> put s2 @11 put s2 @12
	// done [s2]
}

// The channels of the skip ring of eight nodes.
func ExampleSpec_Overlay() {
	spec, err := schedule.New("anycast/skip-ring", schedule.Params{Ranks: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	overlay := spec.Overlay()
	for rank := range spec.Params().Ranks {
		fmt.Println(rank, overlay.Channels(nil, rank))
	}
	fmt.Println("from 2 through 4:", overlay.Forward(nil, 4, 2, 2))
	// Output:
	// 0 [1 2 4]
	// 1 [2]
	// 2 [3 4]
	// 3 [4]
	// 4 [5 6 0]
	// 5 [6]
	// 6 [7 0]
	// 7 [0]
	// from 2 through 4: [0 6 5]
}

// Errors name the parameter and its legal range.
func ExampleNew() {
	_, err := schedule.New("bcast/chain", schedule.Params{Ranks: 8, Root: 8})
	fmt.Println(err)
	_, err = schedule.New("bcast/chian", schedule.Params{Ranks: 8})
	fmt.Println(err)
	// Output:
	// schedule: root=8: must be in 0..7
	// schedule: no algorithm "bcast/chian"; did you mean bcast/chain?
}

// The algorithms that take a degree, with all their parameters.
func ExampleAlgorithms() {
	for _, alg := range schedule.Algorithms() {
		if slices.Contains(alg.Params, "degree") {
			fmt.Println(alg.Name, alg.Params)
		}
	}
	// Output:
	// barrier/exchange [degree hosts]
	// barrier/dissemination [degree hosts]
	// allreduce/multiplying [chunks degree hosts]
}

package build_test

import (
	"fmt"
	"os"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/verify"
)

// A broadcast down a chain.
func ExampleSchedule() {
	h := ir.Header{Collective: "bcast", Algorithm: "my-chain", Ranks: 3, Chunks: 2}
	s, err := build.Schedule(h, func(b *build.Builder) {
		for k := range b.Chunks() {
			at := b.Chunk(b.Root(), k)
			for v := 1; v < b.Ranks(); v++ {
				at = at.PutTo((b.Root() + v) % b.Ranks())
			}
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ir.WriteText(os.Stdout, s)
	report, err := verify.Run(s)
	fmt.Println(report.Err(), err)
	// Output:
	// schedule bcast/my-chain ranks=3 root=0 chunks=2
	// rank 0
	//   enter -> put c0 @1, put c1 @1
	//   done enter
	// rank 1
	//   c0 -> put c0 @2
	//   c1 -> put c1 @2
	//   done c0 c1
	// rank 2
	//   done c0 c1
	// <nil> <nil>
}

// Rank 0 folds the contributions of two ranks and tells them the sum.
func ExamplePiece_Fold() {
	h := ir.Header{Collective: "allreduce", Algorithm: "my-star", Ranks: 2, Chunks: 1}
	s, err := build.Schedule(h, func(b *build.Builder) {
		sum := b.Chunk(0, 0).Fold(b.Chunk(1, 0).PutTo(0))
		sum.Result()
		sum.PutTo(1).Result()
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ir.WriteText(os.Stdout, s)
	// Output:
	// schedule allreduce/my-star ranks=2 chunks=1
	// rank 0
	//   enter v0 -> fold c0 = x0 v0
	//   c0 -> put c0 @1
	//   done c0
	// rank 1
	//   enter -> put x0 @0 as v0
	//   done c0
}

// The error of a wrong call names its line.
func ExampleBuilder() {
	h := ir.Header{Collective: "barrier", Algorithm: "my-barrier", Ranks: 2}
	_, err := build.Schedule(h, func(b *build.Builder) {
		b.Done(0, b.Signal(0, 1)) // the signal is at rank 1
	})
	fmt.Println(err)
	// Output:
	// example_test.go:72: Done: the piece is at rank 1, not at rank 0
}

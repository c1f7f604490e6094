package schedgen_test

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/local"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule/build"
)

// A program runs a schedule of its own. Use proves it first.
func ExampleComm_Use() {
	h := ir.Header{Collective: "bcast", Algorithm: "mine", Ranks: 3, Chunks: 1}
	s, err := build.Schedule(h, func(b *build.Builder) {
		b.Chunk(0, 0).PutTo(2).PutTo(1)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = local.Run(context.Background(), 3, func(ctx context.Context, comm *schedgen.Comm) error {
		mine, err := machine.Of(s)
		if err != nil {
			return err
		}
		if err := comm.Use(mine); err != nil {
			return err
		}
		buf := []int{comm.Rank() + 7}
		if err := schedgen.Bcast(ctx, comm, buf, 0); err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Println(buf[0])
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 7
}

package schedule_test

import (
	"fmt"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/build"
)

func ExampleRegister() {
	err := schedule.Register(schedule.Definition{
		Name: "gather/my-gather", Collective: "gather", Params: []string{"root"},
		Summary: "every rank puts its block to the root", Messages: "P-1 puts",
		Build: func(b *build.Builder) {
			for rank := range b.Ranks() {
				if rank != b.Root() {
					b.Chunk(rank, rank).PutTo(b.Root())
				}
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := schedule.New("gather/my-gather", schedule.Params{Ranks: 3, Root: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("rank 1 waits for", s.Program(1).Done)
	// Output: rank 1 waits for [c0 c2]
}

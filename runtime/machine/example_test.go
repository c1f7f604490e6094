package machine_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/local"
	"github.com/schedgen/schedgen/runtime/machine"
)

// A schedule from a file replaces the library's choice, after it has been proved.
func ExampleOf() {
	s, err := ir.ParseText(strings.NewReader(`schedule bcast/mine ranks=2 root=0 chunks=1
rank 0
  enter -> put c0 @1
  done enter
rank 1
  done c0
`))
	if err != nil {
		log.Fatal(err)
	}
	of, err := machine.Of(s)
	if err != nil {
		log.Fatal(err)
	}
	err = local.Run(context.Background(), 2, func(ctx context.Context, comm *schedgen.Comm) error {
		if err := comm.Use(of); err != nil {
			return err
		}
		x := []int{7 * (1 - comm.Rank())}
		if err := schedgen.Bcast(ctx, comm, x, 0); err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Println(x)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [7]
}

package cli_test

import (
	"fmt"

	"github.com/schedgen/schedgen/cli"
)

// A program with algorithms of its own calls schedule.Register first.
func ExampleMain() {
	code := cli.Main([]string{"verify", "bcast/binomial", "-p", "1..2"})
	fmt.Println("exit code", code)
	// Output:
	// ok    bcast/binomial ranks=1 root=0 chunks=1
	// ok    bcast/binomial ranks=2 root=0 chunks=1
	// 2 schedules verified
	// exit code 0
}

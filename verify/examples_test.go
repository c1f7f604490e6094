package verify_test

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// Prove that a barrier is one, and print its cost.
func Example() {
	spec, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: 9, Degree: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := verify.Run(spec.Schedule())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, res := range report.Results {
		if res.Applies && res.Err == nil {
			fmt.Println("proved:", res.Check)
		}
	}
	fmt.Println("rounds:", report.Cost.Rounds, "messages:", report.Cost.Messages)
	// Output:
	// proved: wellformed
	// proved: barrier
	// proved: deadlock
	// proved: reuse
	// proved: retire
	// rounds: 2 messages: 36
}

// A dissemination in which send k waits only for the flag of step k-1, and not for the flags of all
// earlier steps, lets ranks leave too early. No test by timing shows it.
func Example_refuted() {
	var text strings.Builder
	fmt.Fprintln(&text, "schedule barrier/dissemination ranks=8 degree=2")
	for r := range 8 {
		fmt.Fprintf(&text, "rank %d\n", r)
		fmt.Fprintf(&text, "  enter -> put s0 @%d\n", (r+1)%8)
		fmt.Fprintf(&text, "  enter s0 -> put s1 @%d\n", (r+2)%8)
		fmt.Fprintf(&text, "  enter s1 -> put s2 @%d\n", (r+4)%8)
		fmt.Fprintf(&text, "  done s0 s1 s2\n")
	}
	s, err := ir.ParseText(strings.NewReader(text.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := verify.Run(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(report.Err().Error(), ", s", ",\n  s"))
	// Output:
	// barrier: rank 0 may leave before rank 3 enters: it waits only for s0 from rank 7,
	//   s1 from rank 6 after s0 from rank 5,
	//   s2 from rank 4 after s1 from rank 2 after s0 from rank 1
}

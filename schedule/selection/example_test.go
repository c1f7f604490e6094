package selection_test

import (
	"fmt"
	"log"

	"github.com/schedgen/schedgen/schedule/selection"
)

// Rules replace the built-in choice of algorithms. A program gives them to its communicator as
// Config.Rules.
func ExampleParse() {
	r, err := selection.Parse([]byte(`{"format":"schedgen-rules/1","rules":[
  {"collective":"bcast","bytes":{"max":8191},"algorithm":"bcast/binomial"},
  {"collective":"bcast","algorithm":"bcast/chain"}
]}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, bytes := range []int{100, 1 << 20} {
		d, ok := r.Of(selection.Case{Collective: "bcast", Ranks: 12, Bytes: bytes, Place: selection.OneEach})
		fmt.Println(d.Rule.Algorithm, ok)
	}
	// Output:
	// bcast/binomial true
	// bcast/chain true
}

package wire_test

import (
	"fmt"
	"log"

	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A communicator chooses algorithms by what its transport can do.
func ExampleTransport() {
	ts, err := mem.New(4, mem.Options{NoMulticast: true})
	if err != nil {
		log.Fatal(err)
	}
	var t wire.Transport = ts[3]
	defer t.Close(true, 0)
	fmt.Printf("rank %d of %d, multicasts: %v\n", t.Rank(), t.Size(), t.Caps().Multicast)
	// Output: rank 3 of 4, multicasts: false
}

package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// BenchmarkBlocks times each collective with one block per rank, under the algorithm that the rules
// choose.
func BenchmarkBlocks(b *testing.B) {
	for _, row := range ir.Collectives() {
		if row.Blocks == nil || row.Blocks(2) == 1 || row.Inputs != nil {
			continue
		}
		for _, size := range []int{2, 8} {
			for _, bytes := range []int{8, 1 << 10, 64 << 10} {
				b.Run(fmt.Sprintf("%s/ranks=%d/bytes=%d", row.Name, size, bytes), func(b *testing.B) {
					collectives(b, size, runtime.Config{}, func(c *runtime.Comm, buf []byte) error {
						out := row.Wanted(size, 0, c.Rank()).Count * bytes
						in := row.Held(size, 0, c.Rank()).Count * bytes
						return c.Collective(context.Background(), row.Name, buf[:out], buf[out:out+in], 0)
					}, 2*size*bytes)
				})
			}
		}
	}
}

package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// BenchmarkEngine is BenchmarkArrival as the runtime has it: through the
// interface that generated code implements too.
func BenchmarkEngine(b *testing.B) {
	const chunks = 1024
	engine := compile(b, "bcast/mcast-chain", 64, 5, chunks).Engine()
	puts := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%chunks == 0 {
			engine.Clear()
			engine.Set(ir.Enter)
		}
		do, _ := engine.Set(ir.Chunk(i % chunks))
		puts += len(do)
	}
	require.Positive(b, puts)
}

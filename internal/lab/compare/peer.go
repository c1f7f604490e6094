package compare

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
)

// parsePeer parses the line of the micro-benchmark.
func parsePeer(line string) (bench.Times, bool) {
	var t bench.Times
	n, err := fmt.Sscanf(line, "micro %g %g %g", &t.Mean, &t.Median, &t.P99)
	return t, err == nil && n == 3
}

package schedule

import "testing"

// reduce-scatter/linear passes the conformance suite.
func TestReduceScatterLinear(t *testing.T) { conform(t, "reduce-scatter/linear") }

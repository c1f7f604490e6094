package schedule

import "testing"

// reduce-scatter/halving passes the conformance suite.
func TestReduceScatterHalving(t *testing.T) { conform(t, "reduce-scatter/halving") }

package schedule

import "testing"

// reduce-scatter/pairwise passes the conformance suite.
func TestReduceScatterPairwise(t *testing.T) { conform(t, "reduce-scatter/pairwise") }

package schedule

import "testing"

// reduce-scatter/star passes the conformance suite.
func TestReduceScatterStar(t *testing.T) { conform(t, "reduce-scatter/star") }

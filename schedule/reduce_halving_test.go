package schedule

import "testing"

// reduce/halving passes the conformance suite.
func TestReduceHalving(t *testing.T) { conform(t, "reduce/halving") }

package schedule

import "testing"

// reduce/linear passes the conformance suite.
func TestReduceLinear(t *testing.T) { conform(t, "reduce/linear") }

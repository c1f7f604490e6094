package schedule

import "testing"

// allgather/linear passes the conformance suite.
func TestAllgatherLinear(t *testing.T) { conform(t, "allgather/linear") }

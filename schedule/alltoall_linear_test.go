package schedule

import "testing"

// alltoall/linear passes the conformance suite.
func TestAlltoallLinear(t *testing.T) { conform(t, "alltoall/linear") }

package schedule

import "testing"

// allreduce/linear passes the conformance suite.
func TestAllreduceLinear(t *testing.T) { conform(t, "allreduce/linear") }

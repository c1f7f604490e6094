package schedule

import "testing"

// allreduce/halving passes the conformance suite.
func TestAllreduceHalving(t *testing.T) { conform(t, "allreduce/halving") }

package schedule

import "testing"

// allreduce/doubling passes the conformance suite.
func TestAllreduceDoubling(t *testing.T) { conform(t, "allreduce/doubling") }

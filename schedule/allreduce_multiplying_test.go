package schedule

import "testing"

// allreduce/multiplying passes the conformance suite.
func TestAllreduceMultiplying(t *testing.T) { conform(t, "allreduce/multiplying") }

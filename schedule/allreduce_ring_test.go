package schedule

import "testing"

// allreduce/ring passes the conformance suite.
func TestAllreduceRing(t *testing.T) { conform(t, "allreduce/ring") }

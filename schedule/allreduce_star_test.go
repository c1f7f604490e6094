package schedule

import "testing"

// allreduce/star passes the conformance suite.
func TestAllreduceStar(t *testing.T) { conform(t, "allreduce/star") }

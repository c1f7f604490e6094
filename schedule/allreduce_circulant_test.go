package schedule

import "testing"

// allreduce/circulant passes the conformance suite.
func TestAllreduceCirculant(t *testing.T) { conform(t, "allreduce/circulant") }

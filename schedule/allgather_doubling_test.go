package schedule

import "testing"

// allgather/doubling passes the conformance suite.
func TestAllgatherDoubling(t *testing.T) { conform(t, "allgather/doubling") }

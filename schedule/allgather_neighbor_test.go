package schedule

import "testing"

// allgather/neighbor passes the conformance suite.
func TestAllgatherNeighbor(t *testing.T) { conform(t, "allgather/neighbor") }

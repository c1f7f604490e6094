package schedule

import "testing"

// allgather/mcast passes the conformance suite.
func TestAllgatherMcast(t *testing.T) { conform(t, "allgather/mcast") }

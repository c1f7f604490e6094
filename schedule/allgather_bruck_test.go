package schedule

import "testing"

// allgather/bruck passes the conformance suite.
func TestAllgatherBruck(t *testing.T) { conform(t, "allgather/bruck") }

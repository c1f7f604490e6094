package schedule

import "testing"

// alltoall/bruck passes the conformance suite.
func TestAlltoallBruck(t *testing.T) { conform(t, "alltoall/bruck") }

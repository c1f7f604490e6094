package schedule

import "testing"

// alltoall/pairwise passes the conformance suite.
func TestAlltoallPairwise(t *testing.T) { conform(t, "alltoall/pairwise") }

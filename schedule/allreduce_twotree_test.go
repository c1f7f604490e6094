package schedule

import "testing"

// allreduce/two-tree passes the conformance suite.
func TestAllreduceTwoTree(t *testing.T) { conform(t, "allreduce/two-tree") }

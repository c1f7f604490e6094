package schedule

import "testing"

// bcast/two-tree passes the conformance suite.
func TestBcastTwoTree(t *testing.T) { conform(t, "bcast/two-tree") }

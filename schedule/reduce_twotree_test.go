package schedule

import "testing"

// reduce/two-tree passes the conformance suite.
func TestReduceTwoTree(t *testing.T) { conform(t, "reduce/two-tree") }

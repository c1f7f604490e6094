package schedule

import "testing"

// bcast/linear passes the conformance suite.
func TestLinear(t *testing.T) { conform(t, "bcast/linear") }

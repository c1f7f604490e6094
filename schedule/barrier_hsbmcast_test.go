package schedule

import "testing"

// barrier/hsb-mcast passes the conformance suite.
func TestHsbMcast(t *testing.T) { conform(t, "barrier/hsb-mcast") }

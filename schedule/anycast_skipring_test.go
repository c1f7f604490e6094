package schedule

import "testing"

// anycast/skip-ring passes the conformance suite.
func TestSkipRing(t *testing.T) { conform(t, "anycast/skip-ring") }

package schedule

import "testing"

// barrier/hsb passes the conformance suite.
func TestHsb(t *testing.T) { conform(t, "barrier/hsb") }

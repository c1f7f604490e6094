package schedule

import "testing"

// barrier/dissemination passes the conformance suite.
func TestDissemination(t *testing.T) { conform(t, "barrier/dissemination") }

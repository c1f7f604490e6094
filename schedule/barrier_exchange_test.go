package schedule

import "testing"

// barrier/exchange passes the conformance suite.
func TestExchange(t *testing.T) { conform(t, "barrier/exchange") }

package schedule

import "testing"

// reduce/chain passes the conformance suite.
func TestReduceChain(t *testing.T) { conform(t, "reduce/chain") }

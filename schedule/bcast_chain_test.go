package schedule

import "testing"

// bcast/chain passes the conformance suite.
func TestChain(t *testing.T) { conform(t, "bcast/chain") }

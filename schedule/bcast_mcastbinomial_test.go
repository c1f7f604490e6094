package schedule

import "testing"

// bcast/mcast-binomial passes the conformance suite.
func TestMcastBinomial(t *testing.T) { conform(t, "bcast/mcast-binomial") }

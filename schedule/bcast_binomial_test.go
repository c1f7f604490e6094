package schedule

import "testing"

// bcast/binomial passes the conformance suite.
func TestBinomial(t *testing.T) { conform(t, "bcast/binomial") }

package schedule

import "testing"

// gather/binomial passes the conformance suite.
func TestGatherBinomial(t *testing.T) { conform(t, "gather/binomial") }

package schedule

import "testing"

// scatter/binomial passes the conformance suite.
func TestScatterBinomial(t *testing.T) { conform(t, "scatter/binomial") }

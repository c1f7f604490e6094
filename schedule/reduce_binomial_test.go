package schedule

import "testing"

// reduce/binomial passes the conformance suite.
func TestReduceBinomial(t *testing.T) { conform(t, "reduce/binomial") }

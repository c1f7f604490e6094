package schedule

import "testing"

// exscan/skip-123 passes the conformance suite.
func TestExscanSkip123(t *testing.T) { conform(t, "exscan/skip-123") }

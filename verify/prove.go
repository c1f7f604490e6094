package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// Prove returns the terms under which s folds if s passes all checks that apply. Otherwise the error
// is the failure of the first check, and tells how many others have failed.
func Prove(s *ir.Schedule) (Terms, error) {
	report, err := Run(s)
	if err != nil {
		return Terms{}, err
	}
	var failed []error
	for _, res := range report.Results {
		if res.Err != nil {
			failed = append(failed, res.Err)
		}
	}
	switch len(failed) {
	case 0:
		return report.Terms, nil
	case 1:
		return Terms{}, fmt.Errorf("%s does not verify: %w", s.Name(), failed[0])
	}
	return Terms{}, fmt.Errorf("%s does not verify: %w, and %d other checks fail", s.Name(), failed[0], len(failed)-1)
}

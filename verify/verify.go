package verify

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// Check is one property of schedules.
type Check struct {
	Name    string // such as "same-tree"
	Summary string // the property in one line
	scope   *scope
	prove   func(*subject) (note string, err error)
}

// Scope describes the schedules to which the check applies.
func (c *Check) Scope() string { return c.scope.text }

// Checks returns all checks in the order in which they are run.
func Checks() []Check {
	return []Check{
		wellformed, coverage, barrier, deadlock, once, typed, contributes, sameTree,
		rankOrder, position, inPlace, reuse, acked, retire, recovery,
	}
}

// Report is the result of [Run] for a schedule.
type Report struct {
	Header  ir.Header // of the schedule
	Results []Result  // in the order of Checks
	Cost    Cost      // zero if the schedule is not well-formed
	Terms   Terms     // zero if the schedule folds nothing, or if its folds are not proved
	// Period is not 0 if the proof of ranks 0 … Period-1 covers all ranks, whose programs are theirs,
	// moved on (see [RunLean]).
	Period int
	// FoldsApart says that ranks fold in different orders. The proof of rank 0 then covers everything
	// except the folds, which were examined at each rank.
	FoldsApart bool
	// MovedOn is not 0 if the proof is of another root, from which all ranks are moved on by this
	// number (see [Root.Moved]).
	MovedOn int
}

// How says in one line how the results were obtained.
func (r *Report) How() string {
	if r.MovedOn > 0 {
		root := (r.Header.Root - r.MovedOn + r.Header.Ranks) % r.Header.Ranks
		return fmt.Sprintf("%s %d was proved: each rank's program is that of the rank %d before, with all ranks moved on by %d",
			r.Header.RootWord(), root, r.MovedOn, r.MovedOn)
	}
	if r.Period == 0 {
		return "all ranks were examined, each by itself"
	}
	if r.Period > 1 {
		return fmt.Sprintf("ranks 0-%d were proved for all %d ranks: the program of each other rank is that of one of them, "+
			"with all ranks and blocks moved on by the same multiple of %d", r.Period-1, r.Header.Ranks, r.Period)
	}
	but := ""
	if r.FoldsApart {
		but = "; ranks fold in other orders, and the folds of each were examined"
	}
	return fmt.Sprintf("rank 0 was proved for all %d ranks: each rank's program is that of rank 0, "+
		"with all ranks and blocks moved on by the same number%s", r.Header.Ranks, but)
}

// Result is the outcome of one check.
type Result struct {
	Check   string // the name of the check
	Applies bool   // the check applies to this schedule and was run
	Note    string // more than yes or no: why the check applies, or why it does not
	// Err is nil if the property is proved. Otherwise it is a *[Failure] with the counterexample,
	// or the reason why the check could not decide.
	Err error
}

// Err returns nil if every check that applies holds, and otherwise the joined failures.
func (r *Report) Err() error {
	var errs []error
	for _, res := range r.Results {
		errs = append(errs, res.Err)
	}
	return errors.Join(errs...)
}

// Run checks s: the named checks, or all that apply. If a schedule is not well-formed, Run examines
// it no further and adds wellformed to the results, whether it was named or not. The error is about
// a name that no check has. Run does not panic for any s. It examines all programs. For a schedule
// that is too large to build, use [RunPrograms].
func Run(s *ir.Schedule, names ...string) (*Report, error) {
	return RunTelling(s, func(string) {}, names...)
}

// RunTelling is like Run and calls begin with the name of each check before the check runs. The
// checks of a million ranks take many seconds.
func RunTelling(s *ir.Schedule, begin func(check string), names ...string) (*Report, error) {
	checks, err := selected(names)
	if err != nil {
		return nil, err
	}
	report, _ := runChecks(s, checks, begin)
	return report, nil
}

// runChecks runs the checks. The subject is nil if s has no layout.
func runChecks(s *ir.Schedule, checks []Check, begin func(check string)) (*Report, *subject) {
	report := &Report{Header: s.Header}
	begin(wellformed.Name)
	sub, formErr := examine(s)
	if formErr != nil && checks[0].Name != wellformed.Name {
		checks = append([]Check{wellformed}, checks...)
	}
	for _, c := range checks {
		if c.Name != wellformed.Name {
			begin(c.Name)
		}
		report.Results = append(report.Results, c.result(sub, s, formErr))
	}
	if formErr == nil {
		report.Cost, report.Terms = costOf(sub, nil), termsOf(sub)
	}
	return report, sub
}

// examine prepares s for the checks. The error is the error of the check wellformed.
func examine(s *ir.Schedule) (*subject, error) {
	sub, err := newSubject(s)
	if err == nil {
		_, err = proveWellformed(sub)
		sub.wellformed = err == nil
	}
	return sub, named(wellformed.Name, withNames(s, err))
}

// result runs one check, given the result of wellformed.
func (c *Check) result(sub *subject, s *ir.Schedule, formErr error) Result {
	res := Result{Check: c.Name}
	why, applies := c.scope.of(s)
	switch {
	case c.Name == wellformed.Name:
		res.Applies, res.Err = true, formErr
	case !applies:
		res.Note = why
	case formErr != nil:
		res.Note = "not run: the schedule is not well-formed"
	default:
		res.Applies = true
		note, err := c.prove(sub)
		res.Note, res.Err = cmp.Or(note, why), named(c.Name, withNames(s, err))
	}
	return res
}

// named adds the name of the check to its failure.
func named(check string, err error) error {
	var f *Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		f.Check = check
		return f
	default:
		return fmt.Errorf("%s: %w", check, err)
	}
}

func selected(names []string) ([]Check, error) {
	all := Checks()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	wanted := make(map[string]bool)
	for _, c := range all {
		known = append(known, c.Name)
		wanted[c.Name] = false
	}
	for _, n := range names {
		if _, ok := wanted[n]; !ok {
			return nil, fmt.Errorf("verify: unknown check %q; there are %s", n, strings.Join(known, ", "))
		}
		wanted[n] = true
	}
	var checks []Check
	for _, c := range all {
		if wanted[c.Name] {
			checks = append(checks, c)
		}
	}
	return checks, nil
}

package cli

import (
	"errors"
	"iter"
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// jobs are the schedules that one verify proves: the schedule of a file, or the schedules of an
// algorithm for a range of ranks and for one root or all roots.
type jobs struct {
	file *ir.Schedule // nil: an algorithm

	name     string
	params   schedule.Params // without Ranks, and without Root if allRoots is set
	ranks    source.Ranks
	allRoots bool
}

// check returns an error if the parameters are wrong or a schedule is too large. It looks at both
// ends of the range of ranks alone: the number of ranks bounds roots and hosts, and sizes grow with
// it.
func (j *jobs) check() error {
	for _, j.params.Ranks = range slices.Compact([]int{j.ranks.Lo, j.ranks.Hi}) {
		spec, err := schedule.New(j.name, j.params)
		if _, refused := errors.AsType[*schedule.Refusal](err); refused && j.len() > 1 {
			continue
		} else if err != nil {
			return source.FlagError(err)
		}
		if _, err := source.New(j.name, j.params); err != nil && !isLean(spec) {
			return err
		}
	}
	return nil
}

// maxRead is the largest number of rules, or of actions, of the programs that verify reads without
// keeping them, as SizeAbout counts. A ring that folds has three rules for each
// pair of ranks; with 65,536 ranks they take about ten minutes.
const maxRead = 1 << 34

// isLean reports whether an algorithm can probably be proved without being built.
func isLean(s *schedule.Spec) bool {
	rules, actions := s.SizeAbout(maxRead)
	if max(rules, actions) > maxRead {
		return false
	}
	if most := max(rules, actions); !hasProgram(s, 0, maxProgram) && (most > source.MaxSize || !hasProgram(s, 0, source.MaxSize)) {
		return false // the first program is the largest of some algorithms, and is made whole
	}
	return verify.IsLean(s.Header(), func() func(rank int) ir.Program {
		program := s.Maker()
		return func(rank int) ir.Program {
			if !hasProgram(s, rank, maxProgram) {
				return ir.Program{Rank: -1} // none of a lean schedule
			}
			return program(rank)
		}
	})
}

// hasProgram reports whether rank's program has at most most rules, and at most as many actions.
func hasProgram(s *schedule.Spec, rank int, most int64) bool {
	rules, actions := s.SizeOf(rank, most)
	return max(rules, actions) <= most
}

// maxProgram is the largest number of rules, or of actions, of the programs of a lean schedule, but
// perhaps that of rank 0.
const maxProgram = 1 << 22

// specs yields the parameters of all schedules of an algorithm.
func (j *jobs) specs() iter.Seq[schedule.Params] {
	return func(yield func(schedule.Params) bool) {
		for ranks := j.ranks.Lo; ranks <= j.ranks.Hi; ranks++ {
			p := j.params
			p.Ranks = ranks
			last := p.Root
			if j.allRoots {
				last = ranks - 1
			}
			for ; p.Root <= last; p.Root++ {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// len returns the number of schedules.
func (j *jobs) len() int {
	n := j.ranks.Hi - j.ranks.Lo + 1
	switch {
	case j.file != nil:
		return 1
	case j.allRoots:
		return n * (j.ranks.Lo + j.ranks.Hi) / 2
	}
	return n
}

// all yields a function for each schedule, which proves it and calls begin before each check.
func (j *jobs) all(begin func(check string), checks []string) iter.Seq[func() (*verify.Report, error)] {
	return func(yield func(func() (*verify.Report, error)) bool) {
		if j.file != nil {
			yield(func() (*verify.Report, error) { return verify.RunTelling(j.file, begin, checks...) })
			return
		}
		if j.allRoots {
			j.eachRoot(checks, yield)
			return
		}
		for p := range j.specs() {
			if !yield(func() (*verify.Report, error) { return proveSpec(j.name, p, begin, checks) }) {
				return
			}
		}
	}
}

// maxRoot is the largest number of rules, or of actions, of a schedule that is kept for comparing it
// with those of other roots, or of schedules that are proved at the same time.
const maxRoot = 1 << 20

// eachRoot yields a function for the schedule of each root. Small schedules are proved ahead, one on
// each processor.
func (j *jobs) eachRoot(checks []string, yield func(func() (*verify.Report, error)) bool) {
	type outcome struct {
		report *verify.Report
		err    error
	}
	var r *roots
	var ahead []chan outcome
	next := func() bool {
		c := ahead[0]
		ahead = ahead[1:]
		return yield(func() (*verify.Report, error) { o := <-c; return o.report, o.err })
	}
	for p := range j.specs() {
		if p.Root == 0 {
			r = newRoots(j.name, p, checks)
		}
		of, c := r, make(chan outcome, 1)
		go func() {
			report, err := of.prove(p)
			c <- outcome{report, err}
		}()
		ahead = append(ahead, c)
		if most := goruntime.GOMAXPROCS(0); !r.small || len(ahead) >= most {
			if !next() {
				return
			}
		}
	}
	for len(ahead) > 0 && next() {
	}
}

// roots proves the schedules of an algorithm for all roots of a number of ranks.
type roots struct {
	name   string
	checks []string
	small  bool
	first  func() first // of root 0
}

// first is the outcome of the proof of root 0, and how it is used for other roots. root is nil if they
// are proved by themselves.
type first struct {
	report *verify.Report
	root   *verify.Root
	err    error
	// If the schedule of root n is that of root 0 with all ranks moved on, turns holds functions for
	// the roots 1 … n-1. A function proves its root, and returns the report of this root and of each
	// n-th root after it. A report is nil if that schedule has to be proved by itself.
	turns []func() ([]*verify.Report, error)
}

// newRoots returns the roots of the number of ranks of p, whose root is 0.
func newRoots(name string, p schedule.Params, checks []string) *roots {
	r := &roots{name: name, checks: checks}
	spec, err := schedule.New(name, p)
	if err == nil {
		rules, actions := spec.SizeAbout(maxRoot)
		r.small = max(rules, actions) <= maxRoot
	}
	r.first = sync.OnceValue(func() (f first) {
		if !r.small {
			f.report, f.err = proveSpec(name, p, func(string) {}, checks)
			return f
		}
		f.report, f.root, f.err = verify.RunRoot(spec.Schedule(), checks...)
		if f.root == nil {
			return f
		}
		for n := 1; n < p.Ranks; n++ {
			if p.Ranks%n == 0 && r.rotated(f.root, p, n) != nil {
				return r.turn(f, p, n)
			}
		}
		f.root = nil
		return f
	})
	return r
}

// turn fills in the turns of f for n roots.
func (r *roots) turn(f first, p schedule.Params, n int) first {
	f.turns = make([]func() ([]*verify.Report, error), n)
	for root := 1; root < n; root++ {
		of := p
		of.Root = root
		f.turns[root] = sync.OnceValues(func() ([]*verify.Report, error) {
			spec, err := schedule.New(r.name, of)
			if err != nil {
				return nil, source.FlagError(err)
			}
			report, from, err := verify.RunRoot(spec.Schedule(), r.checks...)
			if err != nil {
				return nil, err
			}
			all := []*verify.Report{report}
			for at := root + n; at < of.Ranks; at += n {
				all = append(all, r.rotated(from, of, at))
			}
			return all, nil
		})
	}
	return f
}

// rotated returns the report of a root if its schedule is that of from with all ranks moved on. from may
// be nil.
func (r *roots) rotated(from *verify.Root, p schedule.Params, root int) *verify.Report {
	p.Root = root
	spec, err := schedule.New(r.name, p)
	if err != nil || from == nil {
		return nil // proveSpec tells the error
	}
	return from.Moved(spec.Header(), spec.Maker)
}

func (r *roots) prove(p schedule.Params) (*verify.Report, error) {
	f := r.first()
	n := len(f.turns)
	switch {
	case p.Root == 0:
		return f.report, f.err
	case n > 0 && p.Root%n == 0:
		if report := r.rotated(f.root, p, p.Root); report != nil {
			return report, nil
		}
	case n > 0:
		all, err := f.turns[p.Root%n]()
		if err != nil {
			return nil, err
		}
		if report := all[p.Root/n]; report != nil {
			return report, nil
		}
	}
	return proveSpec(r.name, p, func(string) {}, r.checks)
}

// proveSpec proves an algorithm, without building the schedule if it can.
func proveSpec(name string, p schedule.Params, begin func(check string), checks []string) (*verify.Report, error) {
	spec, err := schedule.New(name, p)
	if err != nil {
		return nil, source.FlagError(err)
	}
	begin("what ranks and chunks have in common")
	if report, err := verify.RunLean(spec.Header(), spec.Maker, checks...); report != nil || err != nil {
		return report, err
	}
	if spec, err = source.New(name, p); err != nil { // now it must be built
		return nil, err
	}
	return verify.RunTelling(spec.Schedule(), begin, checks...)
}

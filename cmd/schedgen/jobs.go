package main

import (
	"iter"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// jobs are the schedules that one verify proves: a file's, or an algorithm's
// over a range of ranks and, maybe, all roots.
type jobs struct {
	file *ir.Schedule // nil: an algorithm

	name     string
	params   schedule.Params // Ranks is open, so is Root with allRoots
	ranks    rankRange
	allRoots bool
}

// check returns the error of a schedule that cannot be built. Ranks bound roots
// and hosts, and sizes grow with them, so the ends of the range speak for all.
func (j *jobs) check() error {
	p := j.params
	p.Ranks = j.ranks.lo
	if _, err := newSpec(j.name, p); err != nil {
		return err
	}
	p.Ranks = j.ranks.hi
	_, err := newSpec(j.name, p)
	return err
}

// specs yields the parameters of all schedules of an algorithm.
func (j *jobs) specs() iter.Seq[schedule.Params] {
	return func(yield func(schedule.Params) bool) {
		for ranks := j.ranks.lo; ranks <= j.ranks.hi; ranks++ {
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
	n := j.ranks.hi - j.ranks.lo + 1
	switch {
	case j.file != nil:
		return 1
	case j.allRoots:
		return n * (j.ranks.lo + j.ranks.hi) / 2
	}
	return n
}

// all yields functions that build the schedules, one at a time.
func (j *jobs) all() iter.Seq[func() (*ir.Schedule, error)] {
	return func(yield func(func() (*ir.Schedule, error)) bool) {
		if j.file != nil {
			yield(func() (*ir.Schedule, error) { return j.file, nil })
			return
		}
		for p := range j.specs() {
			build := func() (*ir.Schedule, error) {
				spec, err := schedule.New(j.name, p)
				if err != nil {
					return nil, flagError(err)
				}
				return spec.Schedule(), nil
			}
			if !yield(build) {
				return
			}
		}
	}
}

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

// check returns the error of the first schedule that cannot be built. Sizes
// grow with the number of ranks, so that of the last one speaks for all.
func (j *jobs) check() error {
	p := j.params
	for p.Ranks = j.ranks.lo; p.Ranks < j.ranks.hi; p.Ranks++ {
		if _, err := schedule.New(j.name, p); err != nil {
			return flagError(err)
		}
	}
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

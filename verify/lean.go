package verify

import (
	"cmp"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/ir"
)

// RunPrograms is [Run] for the schedule with header h and the programs that maker's functions make,
// such as Maker of a schedule.Spec. It proves the schedule by [RunLean] if that can, and otherwise
// builds it, in memory and time for all its programs.
//
// RunPrograms calls maker for each goroutine, and for each program that it keeps. The functions
// that maker returns may overwrite their previous program. They must return equal programs for
// equal ranks.
func RunPrograms(h ir.Header, maker func() func(rank int) ir.Program, names ...string) (*Report, error) {
	report, err := RunLean(h, maker, names...)
	if err != nil || report != nil {
		return report, err
	}
	s := &ir.Schedule{Header: h}
	for rank := range h.Ranks {
		s.Programs = append(s.Programs, maker()(rank))
	}
	return Run(s, names...)
}

// RunLean proves a schedule that is never in memory as a whole: one that rotates, so that
// the first ranks stand for all, perhaps without the folds; one in which many chunks move together, so
// that they are proved by intervals; or one in which chunks only move away from the root, so that the
// ranks are proved one after the other. The report is nil for any other schedule, and for one with a
// fault, which [Run] can then explain. The error is the same as Run's.
func RunLean(h ir.Header, maker func() func(rank int) ir.Program, names ...string) (*Report, error) {
	checks, err := selected(names)
	if err != nil {
		return nil, err
	}
	if report := proveRotation(h, maker, checks); report != nil {
		return report, nil
	}
	if report := proveIntervals(h, maker, checks); report != nil {
		return report, nil
	}
	return proveDownstream(h, maker, checks), nil
}

// IsLean reports whether [RunLean] can probably prove a schedule. It looks at the programs of a few
// ranks.
func IsLean(h ir.Header, maker func() func(rank int) ir.Program) bool {
	return mayRotate(h, maker) || mayRotateBare(&h, maker) != nil || hasIntervals(h, maker) || mayFlowDownstream(&h, maker)
}

// eachRank calls the functions that worker returns for the ranks from … to-1, on all processors, until
// one returns false. It reports whether none has.
func eachRank(from, to int, worker func() func(rank int) bool) bool {
	var next atomic.Int64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range min(goruntime.GOMAXPROCS(0), to-from) {
		workers.Go(func() {
			do := worker()
			for !failed.Load() {
				rank := from + int(next.Add(1)) - 1
				if rank >= to {
					return
				}
				if !do(rank) {
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return !failed.Load()
}

// report returns the report of a schedule without faults, or nil if it has one or if that is not
// known. v holds the terms, which are as they should be, or is nil if nothing is folded. o says why
// input and output may not share memory, and is nil if they may.
func (q *quotient) report(checks []Check, v *values, o *overlap) *Report {
	h := &q.s.Header
	report := &Report{Header: *h}
	notes := make(map[string]string)
	if v != nil {
		promise := promised[h.Name()]
		var m *made
		var moved *[2]int
		notes[rankOrder.Name], m = v.noteRankOrder()
		notes[position.Name], moved = v.notePosition(h)
		notes[inPlace.Name] = o.note()
		if m != nil && promise.rankOrder || moved != nil && promise.position || o != nil && promise.inPlace {
			return nil
		}
		report.Terms = v.terms(h, o == nil)
	}
	ahead, ok := q.ahead()
	notes[reuse.Name] = ahead.note()
	if !ok || !q.patient() {
		return nil
	}
	report.Results = leanResults(q.s, checks, notes)
	return report
}

// leanResults returns the results of checks that hold, with their notes by name.
func leanResults(s *ir.Schedule, checks []Check, notes map[string]string) (all []Result) {
	for _, c := range checks {
		res := Result{Check: c.Name}
		res.Note, res.Applies = c.scope.of(s)
		res.Note = cmp.Or(notes[c.Name], res.Note)
		all = append(all, res)
	}
	return all
}

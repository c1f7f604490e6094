package status

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime"
)

// The functions of this file combine the reports of a job to find the ranks that keep the others
// waiting. The reports are not from the same moment, so an operation counts as waiting only if it
// has been open for patience.

// patience is how long an operation may take before its ranks are said to wait, in nanoseconds.
const patience = core.Time(1e9)

// waiting returns the oldest operation that any rank is in, or nil if it has been open for less
// than patience.
func (g *group) waiting() (first *runtime.Operation) {
	for i := range g.states {
		if o := oldestOf(&g.states[i]); o != nil && (first == nil || o.Seq < first.Seq || o.Seq == first.Seq && o.Age > first.Age) {
			first = o
		}
	}
	if first == nil || first.Age < patience {
		return nil
	}
	return first
}

func oldestOf(s *runtime.State) *runtime.Operation {
	if len(s.Open) == 0 || s.Failure != "" {
		return nil
	}
	return &s.Open[0]
}

// in returns the state of operation number seq at the rank of s, or nil if it is not open there.
func in(s *runtime.State, seq uint64) *runtime.Operation {
	i := slices.IndexFunc(s.Open, func(o runtime.Operation) bool { return o.Seq == seq })
	if i < 0 || s.Failure != "" {
		return nil
	}
	return &s.Open[i]
}

// disagreement names two ranks that run different operations under the number of first, or returns
// "".
func (g *group) disagreement(first *runtime.Operation) string {
	var one *runtime.State
	for i := range g.states {
		s := &g.states[i]
		o := in(s, first.Seq)
		if o == nil {
			continue
		}
		if one == nil {
			one = s
			continue
		}
		if a := in(one, first.Seq); a.Name != o.Name || a.Root != o.Root || a.Bytes != o.Bytes || a.Chunks != o.Chunks {
			return fmt.Sprintf("operation %d is %s at rank %d, and %s at rank %d", first.Seq, call(a), one.Rank, call(o), s.Rank)
		}
	}
	return ""
}

// late names the ranks that have not called the operation that others are in. It returns "" if all
// have.
func (g *group) late(first *runtime.Operation) string {
	var late, out, inside []int
	for i := range g.states {
		switch s := &g.states[i]; {
		case in(s, first.Seq) != nil:
			inside = append(inside, s.Rank)
		case s.Begun < first.Seq && s.Failure == "":
			late = append(late, s.Rank)
			if s.Callers == 0 {
				out = append(out, s.Rank)
			}
		}
	}
	said := first.Absent
	for i := range g.states {
		if o := in(&g.states[i], first.Seq); o != nil && len(said) == 0 {
			said = o.Absent // possibly only another rank's state records what a rank has said
		}
	}
	switch {
	case len(late) > 0:
		idle := ""
		if len(out) == len(late) {
			idle = ", and no goroutine inside a call"
		}
		return fmt.Sprintf("%s not called operation %d, %s%s: %s in it for %s", has(late), first.Seq, call(first), idle, haveBeen(inside), span(first.Age))
	case len(said) > 0:
		return fmt.Sprintf("%s said not to have called operation %d, %s: %s in it for %s", has(said), first.Seq, call(first), haveBeen(inside), span(first.Age))
	}
	return ""
}

// inside describes what each rank waits for when all have called the operation. Ranks that wait for
// a rank outside the operation, or for an unknown rank, come first, because the delay began there.
func (g *group) inside(first *runtime.Operation) []string {
	ranks := make(map[int]bool)
	for i := range g.states {
		ranks[g.states[i].Rank] = in(&g.states[i], first.Seq) != nil
	}
	outside := func(rank int) bool { return !ranks[rank] }
	var near, far []string
	for i := range g.states {
		s := &g.states[i]
		o := in(s, first.Seq)
		if o == nil || Wants(o) == "" {
			continue
		}
		text := fmt.Sprintf("rank %d is in operation %d, %s, for %s: %s", s.Rank, o.Seq, call(o), span(o.Age), Wants(o))
		if slices.ContainsFunc(o.WaitsFor, outside) {
			near = append(near, text)
		} else {
			far = append(far, text)
		}
	}
	return capped(append(near, far...), "and %d ranks more are in it")
}

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/core"
)

// What the reports of a job say together: who keeps the others waiting. Reports are not of
// one moment. So an operation counts as waiting only when it has been open for patience.

// patience is how long an operation may take before anybody is said to wait.
const patience = core.Time(1e9)

// How many different reasons of failures are told, and of how many ranks what they lack, or
// why nothing is known.
const (
	maxFailures = 4
	maxInside   = 8
)

// Findings returns in words what holds the job up, the most telling first; nothing if
// nothing does.
func Findings(reports []Report) []string {
	var all []string
	for _, r := range reports {
		if r.Note != "" {
			all = append(all, fmt.Sprintf("rank %d: %s", r.Process, r.Note))
		}
	}
	all = capped(all, "and %d ranks more that have not answered")
	for _, g := range groupsOf(reports) {
		for _, f := range g.findings() {
			all = append(all, g.title+f)
		}
	}
	return all
}

// group is the states of one communicator.
type group struct {
	title  string // said before what is found of it; empty for the job's own
	states []runtime.State
}

// groupsOf sorts the states by communicator: those of one have the same number,
// first process and epoch. What a rank said that does not answer any more is too old to count.
func groupsOf(reports []Report) []group {
	type key struct {
		comm  uint8
		first int
		epoch uint32
	}
	at := make(map[key]int)
	var groups []group
	for _, r := range reports {
		if r.Note != "" {
			continue
		}
		for _, s := range r.States {
			k := key{s.Comm, s.First, s.Epoch}
			i, known := at[k]
			if !known {
				i = len(groups)
				at[k] = i
				groups = append(groups, group{})
				if derived(&s) {
					groups[i].title = fmt.Sprintf("communicator %d of process %d: ", s.Comm, s.First)
				}
			}
			groups[i].states = append(groups[i].states, s)
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.states, func(a, b runtime.State) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	return groups
}

// derived reports whether a communicator has been made from another one, so that its ranks
// may not be those of the job.
func derived(s *runtime.State) bool { return s.Comm > 0 || s.Rank != s.Process }

func (g *group) findings() []string {
	all := g.failures()
	all = append(all, g.silences()...)
	first := g.waiting()
	if first == nil {
		return all
	}
	if mixed := g.disagreement(first); mixed != "" {
		return append(all, mixed)
	}
	if late := g.late(first); late != "" {
		return append(all, late)
	}
	return append(all, g.inside(first)...)
}

// failures tells why ranks have failed, each reason once.
func (g *group) failures() []string {
	ranks := make(map[string][]int)
	var order []string
	for _, s := range g.states {
		if s.Failure == "" {
			continue
		}
		if ranks[s.Failure] == nil {
			order = append(order, s.Failure)
		}
		ranks[s.Failure] = append(ranks[s.Failure], s.Rank)
	}
	var all []string
	for i, why := range order {
		if i == maxFailures {
			return append(all, fmt.Sprintf("and %d other failures", len(order)-i))
		}
		all = append(all, fmt.Sprintf("%s failed: %s", ranksText(ranks[why]), why))
	}
	return all
}

// silences tells of ranks that give no sign of life to who watches them, and of those that
// take no connections.
func (g *group) silences() []string {
	var all []string
	for _, s := range g.states {
		if w := s.Watch; w != nil && w.Quiet > w.Limit/2 {
			all = append(all, fmt.Sprintf("rank %d has given rank %d no sign of life for %s; it is lost after %s", w.Rank, s.Rank, span(w.Quiet), span(w.Limit)))
		}
		for _, p := range s.Peers {
			if p.State == "suspected" {
				all = append(all, fmt.Sprintf("rank %d takes no connections of rank %d: %s", p.Rank, s.Rank, p.Cause))
			}
		}
	}
	return all
}

// waiting returns the oldest operation that any rank is in, nil if it has not waited for
// long.
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

// in returns the state of rank's operation number seq, nil if it is not open there.
func in(s *runtime.State, seq uint64) *runtime.Operation {
	i := slices.IndexFunc(s.Open, func(o runtime.Operation) bool { return o.Seq == seq })
	if i < 0 || s.Failure != "" {
		return nil
	}
	return &s.Open[i]
}

// disagreement tells of ranks that run different operations under one number.
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

// late tells of ranks that have not called what others are in: "" if all have.
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
			said = o.Absent // what a rank has said may stand in another one's state alone
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

// inside tells where ranks stand that have all come to the operation: first those that wait
// for a rank that is not in it, or of which nothing is known, for that is where it began.
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

// capped returns the first few of a list, and how many more there are.
func capped(all []string, rest string) []string {
	if more := len(all) - maxInside; more > 1 {
		all = append(all[:maxInside], fmt.Sprintf(rest, more))
	}
	return all
}

// Wants returns in words what an operation lacks: "" if nothing.
func Wants(o *runtime.Operation) string {
	var all []string
	add := func(format string, ranks []int) {
		if len(ranks) > 0 {
			all = append(all, fmt.Sprintf(format, ranksText(ranks)))
		}
	}
	if o.Delayed {
		all = append(all, "its root has not started, as Config.Delay says")
	}
	if m := &o.Missing; m.Chunks+m.Signals > 0 {
		all = append(all, "it lacks "+Lacks(m))
	}
	add("from %s", o.WaitsFor)
	if o.Unsent > 0 {
		all = append(all, fmt.Sprintf("%d frames have not left", o.Unsent))
	}
	add("they go to %s", o.SendsTo)
	add("puts wait until %s enter", o.Held.Postponed)
	add("puts wait for reports of %s", o.Held.Yielding)
	add("the multicast waits for reports of %s", o.Held.Window)
	return strings.Join(all, ", ")
}

// maxRuns is how many runs of slots are spelled out.
const maxRuns = 6

// Lacks returns the missing slots in words: "c3-c7, s0", and how many there are if they are
// not all named.
func Lacks(m *core.Missing) string {
	var names []string
	for _, r := range m.Runs[:min(len(m.Runs), maxRuns)] {
		names = append(names, r.String())
	}
	text := strings.Join(names, ", ")
	if len(m.Runs) > maxRuns {
		text += fmt.Sprintf(" …, %d chunks and %d signals in all", m.Chunks, m.Signals)
	}
	return text
}

// call returns an operation as it was called.
func call(o *runtime.Operation) string {
	text := o.Name
	if o.Root >= 0 {
		text += fmt.Sprintf(" from rank %d, %d bytes in %d chunks", o.Root, o.Bytes, o.Chunks)
	}
	return text
}

// span returns a time as people write it.
func span(t core.Time) string {
	d := time.Duration(t)
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// has and haveBeen return "rank 3 has" and "ranks 0-2 have been", and so on.
func has(ranks []int) string {
	if len(ranks) == 1 {
		return ranksText(ranks) + " has"
	}
	return ranksText(ranks) + " have"
}

func haveBeen(ranks []int) string { return has(ranks) + " been" }

// ranksText returns "rank 3", or "ranks 0-2, 5".
func ranksText(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + Numbers(ranks)
}

// Numbers returns numbers, which ascend, with runs drawn together: "0-2, 5".
func Numbers(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		switch {
		case last == i:
			parts = append(parts, fmt.Sprint(all[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

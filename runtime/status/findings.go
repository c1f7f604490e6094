package status

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime"
)

// Limits on the findings: how many distinct failure reasons are shown, and for how many ranks the
// missing slots, or the reason why nothing is known, is shown.
const (
	maxFailures = 4
	maxInside   = 8
)

// Findings describes in words what holds the job up, the most telling finding first. It returns nil
// if nothing holds the job up.
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

// group holds the states of the ranks of one communicator.
type group struct {
	title  string // prefix of each finding; empty for the communicator of the job
	states []runtime.State
}

// groupsOf groups the states by communicator. States belong to the same communicator if they have
// the same number, first process and epoch. The states of a rank that no longer answers are too
// old, and are left out.
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

// derived reports whether the communicator was made from another one, so that its ranks may differ
// from those of the job.
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

// failures returns the reasons why ranks have failed, each reason once.
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

// silences names the ranks that have shown no sign of life to the rank that watches them, and the
// ranks that accept no connections.
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

// capped returns the first maxInside items of all, followed by rest with the number of the others.
func capped(all []string, rest string) []string {
	if more := len(all) - maxInside; more > 1 {
		all = append(all[:maxInside], fmt.Sprintf(rest, more))
	}
	return all
}

package verify

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Many schedules with a root move with it: if the root is by further, all ranks are, and each rank
// runs the program of the rank in whose place it is, with all ranks in it moved on. So the schedule
// of another root is a copy of the first one under other names of ranks. Whatever the checks ask is
// about ranks as such, and has the same answer, with two exceptions: the order of the ranks in the
// trees, and the numbers of ranks in notes. These are found from the trees and the notes of the
// first root, moved on.
//
// That a schedule moves is seen in the programs of all ranks, and in what the collective gives each
// of them. No algorithm is trusted.
//
// In a skip ring of 2^k ranks only the origins half a turn apart move: no other two of up to 256
// origins have trees of one shape, in whatever order a rank puts. So no other names of the ranks
// save proofs there. A proof of anyreduce/skip-ring visits each rule about ten times, and no part of
// it takes a third of the time. Intervals are no faster: a chunk for each rank is an interval.

// Root is a proved schedule of one root, with which those of other roots are compared.
type Root struct {
	sub    *subject
	report *Report
	ahead  runAhead
}

// RunRoot is [Run], and returns a Root if all checks hold. The Root keeps s, which must not change.
func RunRoot(s *ir.Schedule, names ...string) (*Report, *Root, error) {
	checks, err := selected(names)
	if err != nil {
		return nil, nil, err
	}
	report, sub := runChecks(s, checks, func(string) {})
	if report.Err() != nil || !sub.wellformed || !anyRank(&s.Header) {
		return report, nil, nil
	}
	r := &Root{sub: sub, report: report}
	if v := sub.values(); v != nil && (report.Terms.Digest == "" || !report.Terms.InPlace || !report.Terms.Position || promised[s.Name()].rankOrder) {
		return report, nil, nil // trees may differ in more than the names of ranks
	}
	if r.ahead, err = sub.runAhead(); err != nil {
		return report, nil, nil // it is only not known; the check reuse has told it if it was asked
	}
	return report, r, nil
}

// anyRank reports whether the collective folds the contributions of all ranks, where it folds.
func anyRank(h *ir.Header) bool {
	for k := range h.Chunks {
		if n := h.FoldedRanks(k); n != 0 && n != h.Ranks {
			return false
		}
	}
	return true
}

// Moved returns the report of the schedule with header h and the programs that maker's functions make
// (see [RunPrograms]), which has the checks of the report of r. It returns nil unless that schedule is
// the one of r with all ranks moved on.
func (r *Root) Moved(h ir.Header, maker func() func(rank int) ir.Program) *Report {
	first := &r.sub.s.Header
	if h.Collective != first.Collective || h.Algorithm != first.Algorithm || h.Ranks != first.Ranks || h.Chunks != first.Chunks ||
		h.Recovers != first.Recovers || !slices.Equal(h.Params, first.Params) || h.Root < 0 || h.Root >= h.Ranks {
		return nil
	}
	by := (h.Root - first.Root + h.Ranks) % h.Ranks
	moves := eachRank(0, h.Ranks, func() func(rank int) bool {
		program, m := maker(), mover{ranks: int32(h.Ranks), by: int32(by), root: first.Root}
		return func(rank int) bool {
			to := int(m.to(int32(rank)))
			q := program(to)
			return first.Held(rank) == h.Held(to) && first.Wanted(rank) == h.Wanted(to) && m.same(&r.sub.s.Programs[rank], &q)
		}
	})
	if !moves {
		return nil
	}
	return r.movedReport(h, by)
}

func (r *Root) movedReport(h ir.Header, by int) *Report {
	report := *r.report
	report.Header, report.MovedOn, report.Results = h, by, slices.Clone(report.Results)
	notes := make(map[string]string)
	ahead := r.ahead
	for _, of := range []**[2]int{&ahead.flow, &ahead.apart} {
		if pair := *of; pair != nil {
			*of = &[2]int{(pair[0] + by) % h.Ranks, (pair[1] + by) % h.Ranks}
		}
	}
	notes[reuse.Name] = ahead.note()
	if v := r.sub.values(); v != nil {
		v = v.movedOn(int32(by))
		report.Terms = v.terms(&h, true)
		notes[rankOrder.Name], _ = v.noteRankOrder()
	}
	for i := range report.Results {
		if res := &report.Results[i]; res.Applies {
			res.Note = cmp.Or(notes[res.Check], res.Note)
		}
	}
	return &report
}

// movedOn returns the terms of the chunks if all ranks move on by by.
func (v *values) movedOn(by int32) *values {
	m := &values{forest: v.forest, first: make(map[int]made, len(v.first))}
	for _, x := range v.made {
		x.Rank, x.term.shift = int(v.mod(int32(x.Rank)+by)), v.mod(x.term.shift+by)
		m.made = append(m.made, x)
	}
	m.sort()
	return m
}

// mover compares programs with those of the ranks in whose place they are.
type mover struct {
	ranks, by int32
	root      int // before the move
	a, b      []int32
	acts      []ir.Action
}

// to returns the rank that takes the place of rank.
func (m *mover) to(rank int32) int32 {
	if rank += m.by; rank >= m.ranks {
		rank -= m.ranks
	}
	return rank
}

// same reports whether q is the program p, moved on. Slots keep their names.
func (m *mover) same(p, q *ir.Program) bool {
	if q.Rank != int(m.to(int32(p.Rank))) || q.Signals != p.Signals || q.Values != p.Values || len(q.Rules) != len(p.Rules) || !slices.Equal(p.Done, q.Done) {
		return false
	}
	for i := range p.Rules {
		r, s := &p.Rules[i], &q.Rules[i]
		if s.Unless != r.Unless || s.After != r.After || !slices.Equal(r.When, s.When) || !m.actions(r.Do, s.Do) {
			return false
		}
	}
	return p.Recovery.IsNone() && q.Recovery.IsNone() || m.recovery(p, q)
}

func (m *mover) actions(a, b []ir.Action) bool {
	return slices.EqualFunc(a, b, func(x, y ir.Action) bool {
		if x.Op == ir.Put {
			x.To = m.to(x.To)
		}
		return x == y
	})
}

// recovery compares how ranks recover. Lists that ascend begin elsewhere after the move.
func (m *mover) recovery(p, q *ir.Program) bool {
	if !slices.EqualFunc(p.Ask, q.Ask, func(a, b int32) bool { return m.to(a) == b }) || p.Reports != q.Reports || len(p.ReportFrom) != len(q.ReportFrom) {
		return false
	}
	reportTo := p.ReportTo
	if p.Reports && p.Rank != m.root {
		reportTo = m.to(reportTo)
	}
	m.a, m.b = m.a[:0], append(m.b[:0], q.ReportFrom...)
	for _, rank := range p.ReportFrom {
		m.a = append(m.a, m.to(rank))
	}
	slices.Sort(m.a)
	slices.Sort(m.b)
	m.acts = append(m.acts[:0], p.Twice...)
	for i := range m.acts {
		m.acts[i].To = m.to(m.acts[i].To)
	}
	slices.SortFunc(m.acts, func(a, b ir.Action) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Slot, b.Slot)) })
	return q.ReportTo == reportTo && slices.Equal(m.a, m.b) && slices.Equal(m.acts, q.Twice)
}

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// recovery is about the actions of ranks, besides their rules, when a multicast has not reached
// them (see ir.Recovery). Requests and answers may be lost, but only finitely many of them: a rank
// repeats its request to the last rank of its Ask. So that rank must have the chunk at some time.
// It has if it is the root, if plain puts bring the chunk whatever is lost, or if the last rank
// that it asks itself has the chunk at some time. A window moves on if every report for which some
// rank waits is sent.
//
// A put that yields (see ir.Program.Yields) is left out only if its chunks are there already, so
// every proof of plain puts covers it. For a short message such puts do not wait and ranks do not
// ask, so plain puts must bring it to all ranks. Puts yield if a plain rule of the root puts a
// chunk to a rank that reports to the root itself.
var recovery = Check{
	Name:    "recovery",
	Summary: "a rank that lacks a chunk of a lost multicast can ask a rank that has or will have it; every report that a rank waits for is sent, and reports climb to the root; puts that yield to the multicast bring everything without it; only puts of signals are sent twice",
	scope:   &recovering,
	prove:   proveRecovery,
}

// lostWorld is the world in which only plain puts arrive.
var lostWorld = fixpoint.Model{LoseMcast: true}

func proveRecovery(sub *subject) (string, error) {
	lost := sub.Run(lostWorld)
	if err := allMentioned(sub); err != nil {
		return "", err
	}
	for _, prove := range []func(*subject, *fixpoint.Result) error{allAsk, allReport, yieldsBring} {
		if err := prove(sub, lost); err != nil {
			return "", err
		}
	}
	return "", twiceArePut(sub)
}

// allMentioned checks, if the header claims more chunks than the schedule mentions slots, that no
// rank wants a chunk that the schedule does not mention. Recovery only brings chunks that rules
// bring as well.
func allMentioned(sub *subject) error {
	if sub.s.Chunks <= sub.layout.Slots() {
		return nil
	}
	for rank := range sub.s.Programs {
		lacks := sub.lacks(rank)
		for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
			if sub.layout.Slot(rank, c) < 0 {
				return fail([]int{rank}, []Place{place(rank, c)}, nil, "nothing brings %v to rank %d, so no rank could be asked for it", c, rank)
			}
		}
	}
	return nil
}

// allAsk checks that the path from a rank to the last rank of its Ask, to the last of that rank's
// Ask and so on, ends at a rank that has the chunk.
func allAsk(sub *subject, lost *fixpoint.Result) error {
	lastAsked := func(rank int) int {
		ask := sub.s.Programs[rank].Ask
		return int(ask[len(ask)-1])
	}
	seen := make([]int32, sub.s.Ranks)
	for k := range sub.s.Chunks {
		c := ir.Chunk(k)
		has := func(rank int) bool { return lost.Slot(rank, c) >= 0 }
		atEnd := func(rank int) bool { return has(rank) || len(sub.s.Programs[rank].Ask) == 0 }
		clear(seen)
		for rank := range sub.s.Programs {
			if wanted := sub.s.Wanted(rank); !wanted.Has(k) {
				continue
			}
			last, circle := follow(seen, rank, lastAsked, atEnd)
			switch {
			case circle != nil:
				return fail(circle, []Place{place(circle[0], c)}, stepsOf(circle, c),
					"ranks that lack %v after a lost multicast ask each other in a circle: %s", c, tellCircle(circle, "asks")).in(lostWorld)
			case atEnd(last) && !has(last):
				return fail([]int{last}, []Place{place(last, c)}, nil,
					"rank %d has nobody to ask for %v if the multicast is lost", last, c).in(lostWorld)
			}
		}
	}
	return nil
}

// circleOf returns ranks that form a circle under next, or nil if every path ends. A rank for which
// end is true leads nowhere. seen is scratch space with one entry a rank.
func circleOf(seen []int32, next func(rank int) int, end func(rank int) bool) []int {
	clear(seen)
	for start := range seen {
		if _, circle := follow(seen, start, next, end); circle != nil {
			return circle
		}
	}
	return nil
}

// follow follows next from a rank and marks the ranks on the path in seen. It returns the last
// rank, which is at an end or on an earlier path, or the circle in which the path ends.
func follow(seen []int32, start int, next func(rank int) int, end func(rank int) bool) (last int, circle []int) {
	rank := start
	for !end(rank) && seen[rank] == 0 {
		seen[rank] = int32(start + 1)
		rank = next(rank)
	}
	if end(rank) || seen[rank] != int32(start+1) {
		return rank, nil
	}
	circle = []int{rank}
	for at := next(rank); at != rank; at = next(at) {
		circle = append(circle, at)
	}
	return rank, circle
}

// stepsOf returns the steps of slot around a circle.
func stepsOf(circle []int, slot ir.Slot) []Step {
	steps := make([]Step, len(circle))
	for i, rank := range circle {
		steps[i] = Step{place(rank, slot), circle[(i+1)%len(circle)]}
	}
	return steps
}

// tellCircle describes a circle: "rank 1 asks rank 2 asks rank 1".
func tellCircle(circle []int, verb string) string {
	var parts []string
	for _, rank := range circle[:min(len(circle), maxHops)] {
		parts = append(parts, fmt.Sprintf("rank %d", rank))
	}
	if more := len(circle) - maxHops; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	parts = append(parts, fmt.Sprintf("rank %d", circle[0]))
	return strings.Join(parts, " "+verb+" ")
}

// allReport checks that both ends agree on every report, that reports climb to the root, and that
// every rank that lacks a chunk without the multicast reports.
func allReport(sub *subject, lost *fixpoint.Result) error {
	for rank := range sub.s.Programs {
		if err := agreedReports(sub, rank); err != nil {
			return err
		}
		if err := passedOn(sub, rank, lost); err != nil {
			return err
		}
	}
	above := func(rank int) int { return int(sub.s.Programs[rank].ReportTo) }
	top := func(rank int) bool { return !sub.s.Programs[rank].Reports }
	if circle := circleOf(make([]int32, sub.s.Ranks), above, top); circle != nil {
		return failReport(circle, "no report of these reaches the root: %s", tellCircle(circle, "reports to"))
	}
	return nil
}

// yieldsBring checks, if the root puts chunks to a rank that reports to it, that plain puts bring
// every chunk to every rank without the multicast.
func yieldsBring(sub *subject, lost *fixpoint.Result) error {
	if !sub.s.Programs[sub.s.Root].Yields() {
		return nil
	}
	for rank := range sub.s.Programs {
		for k := range sub.s.Wanted(rank).All() {
			if c := ir.Chunk(k); lost.Slot(rank, c) < 0 {
				return fail([]int{rank, sub.s.Root}, []Place{place(rank, c)}, nil,
					"rank %d needs the multicast for %v, but puts of root %d yield to it, and ranks do not ask for chunks that are put",
					rank, c, sub.s.Root).in(lostWorld)
			}
		}
	}
	return nil
}

// failReport returns a failure about what the first of the ranks reports about the multicast.
func failReport(ranks []int, format string, args ...any) error {
	return fail(ranks, []Place{place(ranks[0], ir.Chunk(0))}, nil, format, args...)
}

// agreedReports checks that both ends agree on the reports to rank and on the report of rank.
func agreedReports(sub *subject, rank int) error {
	p := &sub.s.Programs[rank]
	for _, from := range p.ReportFrom {
		switch q := &sub.s.Programs[from]; {
		case !q.Reports:
			return failReport([]int{rank, int(from)}, "rank %d waits for reports of rank %d, which reports to no rank", rank, from)
		case int(q.ReportTo) != rank:
			return failReport([]int{rank, int(from)}, "rank %d waits for reports of rank %d, which reports to rank %d", rank, from, q.ReportTo)
		}
	}
	if !p.Reports {
		return nil
	}
	if _, expected := slices.BinarySearch(sub.s.Programs[p.ReportTo].ReportFrom, int32(rank)); !expected {
		return failReport([]int{rank, int(p.ReportTo)}, "rank %d reports to rank %d, which does not expect it", rank, p.ReportTo)
	}
	return nil
}

// passedOn checks that a rank other than the root reports if it gets reports or needs the
// multicast.
func passedOn(sub *subject, rank int, lost *fixpoint.Result) error {
	switch p := &sub.s.Programs[rank]; {
	case rank == sub.s.Root && p.Reports:
		return failReport([]int{rank, int(p.ReportTo)}, "root %d reports to rank %d: all reports are for the root", rank, p.ReportTo)
	case rank == sub.s.Root || p.Reports:
		return nil
	case len(p.ReportFrom) > 0:
		return failReport([]int{rank, int(p.ReportFrom[0])}, "rank %d gets reports of rank %d but reports to no rank", rank, p.ReportFrom[0])
	}
	for k := range sub.s.Wanted(rank).All() {
		if c := ir.Chunk(k); lost.Slot(rank, c) < 0 {
			return fail([]int{rank}, []Place{place(rank, c)}, nil,
				"rank %d reports to no rank, but needs the multicast for %v: the root may overrun it", rank, c).in(lostWorld)
		}
	}
	return nil
}

// twiceArePut checks that a plain rule puts everything that is sent twice.
func twiceArePut(sub *subject) error {
	puts := newStamps(sub)
	for rank := range sub.s.Programs {
		p := &sub.s.Programs[rank]
		if len(p.Twice) == 0 {
			continue
		}
		puts.mark(rank, nil)
		for i := range p.Rules {
			if p.Rules[i].IsRepair() {
				continue
			}
			for _, a := range p.Rules[i].Do {
				if a.Op == ir.Put {
					puts.add(int(a.To), a.Sets())
				}
			}
		}
		for _, a := range p.Twice {
			if to := int(a.To); !puts.has(to, a.Slot) {
				return fail([]int{rank, to}, []Place{place(to, a.Slot)}, nil,
					"rank %d sends %v of rank %d twice, but none of its plain rules puts it", rank, a.Slot, to)
			}
		}
	}
	return nil
}

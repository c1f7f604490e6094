// Package numbering numbers the slots of a rank densely.
//
// Chunks are numbered over the whole operation, so an alltoall among 1,024 ranks has a million of
// them. One rank uses few of these, and tables by slot should be as short as the rank's own
// program. So tables are indexed by the numbers that [Slots] assigns.
package numbering

import (
	"slices"
	"sort"

	"github.com/schedgen/schedgen/ir"
)

// Slots numbers some slots of a rank. Enter is 0. The chunks, the signals and the partial results
// follow in this order, each ascending. Contributions have no numbers, because they are there from
// enter on and nothing waits for them. The zero value has only enter. Slots is immutable and may be
// shared.
//
// Most programs use chunks, signals and partial results from 0 on without gaps. Then Slots computes
// their numbers. Otherwise it searches, among arithmetic progressions if there are few of them. In
// an alltoall, for example, the blocks that a rank holds are one progression, and the blocks that
// it wants are another.
type Slots struct {
	chunks  int32
	signals int32
	values  int32
	odd     *odd // nil: all numbers are computed

	// By kind: the slots below end have computed numbers. Slot x has the number x - zero.
	end, zero [8]ir.Slot
}

// odd holds slots that have gaps.
type odd struct {
	runs []run     // progressions in ascending order
	list []ir.Slot // if runs is nil: the slots themselves, ascending, without enter
}

// run is the slots first, first+step … last. Their numbers start at at.
type run struct {
	first, last ir.Slot
	step        uint32
	at          int32
}

// kindShift is the lowest bit of a slot's kind: [ir.MaxIndex] is the largest index below it.
const kindShift = 29

// Prefix numbers enter and the given numbers of chunks, signals and partial results, each from 0
// on.
func Prefix(chunks, signals, values int) Slots {
	c0, s0, v0 := ir.Chunk(0), ir.Signal(0), ir.Value(0)
	return Slots{
		chunks: int32(chunks), signals: int32(signals), values: int32(values),
		end: [8]ir.Slot{
			ir.KindChunk: c0 + ir.Slot(chunks), ir.KindSignal: s0 + ir.Slot(signals), ir.KindValue: v0 + ir.Slot(values),
		},
		zero: [8]ir.Slot{
			ir.KindChunk: c0 - 1, ir.KindSignal: s0 - 1 - ir.Slot(chunks), ir.KindValue: v0 - 1 - ir.Slot(chunks) - ir.Slot(signals),
		},
	}
}

// Of numbers enter and the slots of named, which may have duplicates. It leaves out contributions.
// It sorts named.
func Of(named []ir.Slot) Slots {
	slices.Sort(named)
	named = slices.Compact(named)
	for len(named) > 0 && named[0] <= ir.Enter {
		named = named[1:]
	}
	from := func(first ir.Slot) int {
		return sort.Search(len(named), func(i int) bool { return named[i] >= first })
	}
	named = named[:from(ir.Input(0))]
	s0, v0 := from(ir.Signal(0)), from(ir.Value(0))
	if isPrefix(named[:s0]) && isPrefix(named[s0:v0]) && isPrefix(named[v0:]) {
		return Prefix(s0, v0-s0, len(named)-v0)
	}
	s := Slots{chunks: int32(s0), signals: int32(v0 - s0), values: int32(len(named) - v0), odd: new(odd)}
	if s.odd.runs = progressions(named, 1+len(named)/8); s.odd.runs == nil {
		s.odd.list = slices.Clone(named)
	}
	return s
}

// isPrefix reports whether the sorted slots, all of one kind, start at 0 and have no gaps.
func isPrefix(sorted []ir.Slot) bool {
	return len(sorted) == 0 || sorted[len(sorted)-1].Index() == len(sorted)-1
}

// progressions cuts sorted slots into arithmetic progressions. It returns nil if more than most are
// needed.
func progressions(sorted []ir.Slot, most int) []run {
	var runs []run
	for i := 0; i < len(sorted); {
		if len(runs) == most {
			return nil
		}
		r := run{first: sorted[i], last: sorted[i], step: 1, at: int32(1 + i)}
		if i++; i < len(sorted) {
			r.step = uint32(sorted[i] - r.first)
		}
		for ; i < len(sorted) && uint32(sorted[i]-r.last) == r.step; i++ {
			r.last = sorted[i]
		}
		runs = append(runs, r)
	}
	return runs
}

// Len returns the number of slots, including enter.
func (s *Slots) Len() int { return 1 + int(s.chunks) + int(s.signals) + int(s.values) }

// Counts returns the numbers of chunks, signals and partial results.
func (s *Slots) Counts() (chunks, signals, values int) {
	return int(s.chunks), int(s.signals), int(s.values)
}

// Index returns the number of x, or -1 if s does not contain it.
func (s *Slots) Index(x ir.Slot) int {
	if x < s.end[x>>kindShift] {
		return int(x - s.zero[x>>kindShift])
	}
	return s.search(x)
}

func (s *Slots) search(x ir.Slot) int {
	o := s.odd
	switch {
	case x == ir.Enter:
		return 0
	case o == nil:
		return -1
	case o.runs == nil:
		if i, found := slices.BinarySearch(o.list, x); found {
			return 1 + i
		}
		return -1
	}
	lo, hi := 0, len(o.runs) // the first run that ends at x or later
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); o.runs[mid].last < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(o.runs) || x < o.runs[lo].first {
		return -1
	}
	r := &o.runs[lo]
	d := uint32(x - r.first)
	if r.step == 1 {
		return int(r.at) + int(d)
	}
	if d%r.step != 0 {
		return -1
	}
	return int(r.at) + int(d/r.step)
}

// At returns the slot with number i, 0 ≤ i < Len.
func (s *Slots) At(i int) ir.Slot {
	switch {
	case i == 0:
		return ir.Enter
	case s.odd != nil:
		return s.odd.at(i)
	case i <= int(s.chunks):
		return ir.Chunk(i - 1)
	}
	if i -= 1 + int(s.chunks); i < int(s.signals) {
		return ir.Signal(i)
	}
	return ir.Value(i - int(s.signals))
}

func (o *odd) at(i int) ir.Slot {
	if o.runs == nil {
		return o.list[i-1]
	}
	k := sort.Search(len(o.runs), func(k int) bool { return int(o.runs[k].at) > i }) - 1
	r := &o.runs[k]
	return r.first + ir.Slot(r.step)*ir.Slot(i-int(r.at))
}

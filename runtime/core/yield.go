package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// yields is how puts of chunks give way to the multicast of the same chunks.
// Where a rank puts chunks to one that reports to it (bcast/mcast-chain), both
// would bring everything, and a link that is the limit would carry it twice. So a
// put of a long message waits until the other has told how much it has: all that it
// has come to have is not put. What it lacks it asks for. One that says nothing for
// a while, since it is late or hears no multicast, is put some of what has waited,
// after each further while twice as much, and what follows all that at once, until it
// does: if it was only kept from its core, little has been put in vain.
//
// A put that is left out would bring what is there: the same slots are set as the
// rules say, and nothing that is proved depends on how long anybody waits. A call
// returns when no put of it waits, so whoever asks first is never turned away.
// Short messages are put at once: a report would take as long.
type yields struct {
	on    bool
	step  int    // chunks between two reports
	least int    // chunks between two reports that are a while apart
	have  int    // the chunks below have come; all at the root
	heard int    // how far the multicast had come at the last report
	whole bool   // it has been told that all have come
	heirs []heir // whom this rank's puts of chunks give way to
}

// heir is a rank that is put chunks, and reports.
type heir struct {
	rank    int
	have    int      // it has the chunks below
	chunks  []uint64 // whose puts wait
	waits   int      // how many those are
	given   bool     // it has been silent for too long and put everything: nothing waits
	stirred bool     // it has told something since the last tick, or the operation has begun
	heard   bool     // it has told something since the last tick
	told    Time     // when it last did, at a tick; 0: not yet
	late    bool     // it was behind at the last tick
	moved   Time     // when it was last known to be at work
	turns   int      // how often it has been silent for too long, one time after the other
}

const (
	yieldBytes   = 256 << 10 // shorter messages are put at once, if receivers can take them in
	yieldReports = 8         // reports of a rank on a message, unless that is
	yieldStep    = 512 << 10 // too many bytes for one of them
	yieldLeast   = 16 << 10  // too few, however slow the link is: a report is to take a hundredth of it at most

	maxSilence   = 2  // doublings of the base timeout, for which a rank may be silent
	maxYieldTurn = 16 // doublings of what it is put then
)

// openYields prepares the puts of o.
func (rc *recovery) openYields(o *op) {
	y, r := &o.lost.yields, &o.plan.recovery
	*y = yields{heirs: y.heirs[:0]}
	if y.on = o.plan.yields && rc.overNetwork(o); !y.on {
		return
	}
	y.step = max(1, min(o.chunks/yieldReports, yieldStep*o.chunks/max(1, o.bytes())))
	y.least = min(y.step, o.chunksIn(yieldLeast))
	if o.root == rc.Rank {
		y.have = o.chunks
	}
	for _, rank := range r.ReportFrom {
		h := y.add()
		*h = heir{rank: int(rank), chunks: cleared(h.chunks, (o.chunks+63)/64), given: rc.silent[int(rank)], stirred: true}
		h.have = rc.known(o, h.rank)
	}
}

// overNetwork reports whether o is long, and multicasts go over a network. Within
// a host no link is to be spared, but long messages are: they overrun receivers.
func (rc *recovery) overNetwork(o *op) bool {
	if !rc.Caps.Multicast || rc.Caps.Room == 0 {
		return false
	}
	if o.bytes() >= yieldBytes && rc.Caps.Local < rc.Size {
		return true
	}
	return o.chunks*footprint(o.longest(), rc.Caps.Datagram) > rc.Caps.Room
}

// add returns the next heir, with the memory of an old one.
func (y *yields) add() *heir {
	n := len(y.heirs)
	if n == cap(y.heirs) {
		y.heirs = append(y.heirs, heir{})
	}
	y.heirs = y.heirs[:n+1]
	return &y.heirs[n]
}

// heir returns what is known of rank, nil if puts to it do not yield.
func (y *yields) heir(rank int) *heir {
	for i := range y.heirs {
		if y.heirs[i].rank == rank {
			return &y.heirs[i]
		}
	}
	return nil
}

// has returns below which chunk rank has all, as far as is known.
func (y *yields) has(rank int) int {
	if h := y.heir(rank); h != nil {
		return h.have
	}
	return 0
}

// waits reports whether puts wait.
func (y *yields) waits() bool {
	for i := range y.heirs {
		if y.heirs[i].waits > 0 {
			return true
		}
	}
	return false
}

// known returns what rank has told of o before this one has begun it. Who tells of
// an operation that takes the place of this one has ended it.
func (rc *recovery) known(o *op, rank int) int {
	switch r := rc.reports.of(rank, o.seq); {
	case r.seq > o.seq:
		return o.chunks
	case r.seq == o.seq && r.print == o.print:
		return min(r.have, o.chunks)
	}
	return 0
}

// learnEarly notes what is told of an operation that this rank has not begun.
func (rc *recovery) learnEarly(h *wire.Header) {
	if h.Seq <= rc.ops.seq {
		rc.ops.totals.Stale++
		return
	}
	rc.reports.note(h, func(r *report) { r.have = max(r.have, int(h.Arg)) })
}

// yield does with a put what yields says, and reports whether a is one that
// yields.
func (rc *recovery) yield(o *op, a ir.Action) bool {
	if a.Op != ir.Put || a.Slot.Kind() != ir.KindChunk {
		return false
	}
	h := o.lost.yields.heir(int(a.To))
	if h == nil {
		return false
	}
	switch k := a.Slot.Index(); {
	case k < h.have:
	case h.given:
		rc.putOnce(o, k, h.rank)
	default:
		h.chunks[k/64] |= 1 << (k % 64)
		h.waits++
	}
	return true
}

// learn takes in that rank has the chunks of o below have.
func (rc *recovery) learn(o *op, rank, have int) {
	h := o.lost.yields.heir(rank)
	if h == nil {
		return
	}
	h.stirred, h.heard, h.given, h.turns = true, true, false, 0
	if have < o.chunks {
		delete(rc.silent, rank) // what all have come by need not be the multicast
	}
	for have = min(have, o.chunks); h.have < have; h.have++ {
		h.forget(h.have)
	}
	rc.ops.resume()
}

// forget has the put of chunk k wait no longer, and reports whether it did.
func (h *heir) forget(k int) bool {
	waited := unmark(h.chunks, k)
	h.waits -= count(waited)
	return waited
}

// grown looks which chunks have come, and reports it when all have.
func (rc *recovery) grown(o *op) {
	y, r := &o.lost.yields, &o.plan.recovery
	for y.have < o.chunks && o.machine.Has(ir.Chunk(y.have)) {
		y.have++
	}
	if y.have < o.chunks || y.whole || !r.Reports {
		return
	}
	y.whole = true
	if rc.ops.seq <= rc.lossy {
		rc.tellLoosely(o, int(r.ReportTo))
	}
	rc.tellWhole(o, int(r.ReportTo))
}

// listen reports the chunks that have come each time that the multicast has come
// further by so many.
func (rc *recovery) listen(o *op, step int) (reported bool) {
	y, r := &o.lost.yields, &o.plan.recovery
	if top := o.lost.gaps.top; y.on && top >= y.heard+step && !y.whole && r.Reports {
		y.heard = top
		rc.tellLoosely(o, int(r.ReportTo))
		return true
	}
	return false
}

// listenSlowly does so where a link is so slow that who waits for a report would take this rank for a silent
// one.
func (rc *recovery) listenSlowly(o *op, now Time) {
	if g := &o.lost.gaps; now-g.told >= rc.Repair/2 && rc.listen(o, o.lost.yields.least) {
		g.told = now
	}
}

// tellLoosely tells rank to what has come here, as a datagram if that is possible:
// the next one makes up for its loss.
func (rc *recovery) tellLoosely(o *op, to int) {
	f := rc.fillWant(o, nil)
	if !rc.Caps.Direct {
		rc.put(to, f)
		return
	}
	rc.queued = true
	rc.net.Datagram(to, f)
}

// behind reports whether h lacks so much that it would have told, were it there.
func (o *op) behind(h *heir) bool {
	y := &o.lost.yields
	return h.waits > 0 && (y.have == o.chunks || y.have >= h.have+2*y.step)
}

// yieldPatience is how long h, which is behind, may be silent. A rank that is kept
// from its core is silent, too: what it is put then costs the link what was to be
// saved, but at first that is little.
// One that has told something of this operation asks for what it lacks.
func (rc *recovery) yieldPatience(h *heir) Time {
	if h.told > 0 {
		return maxBackoff * rc.Repair
	}
	return min(max(rc.Repair, rc.tells.late()), maxBackoff*rc.Repair) << min(h.turns, maxSilence)
}

// yieldsDue returns when a silent rank is given up.
func (rc *recovery) yieldsDue(o *op) Time {
	due := never
	for i := range o.lost.yields.heirs {
		if h := &o.lost.yields.heirs[i]; o.behind(h) {
			due = min(due, h.moved+rc.yieldPatience(h))
		}
	}
	return due
}

// checkYields puts some of what has waited to ranks that have been silent for too long.
// While frames are still leaving, or multicasts wait for those of earlier operations, nobody can
// have taken them in.
func (rc *recovery) checkYields(o *op, now Time) {
	for i := range o.lost.yields.heirs {
		h := &o.lost.yields.heirs[i]
		late := o.behind(h)
		rc.timeTells(h, now)
		if h.stirred || !h.late || !late || o.lost.window.behind || o.lost.window.leaving(o) || rc.lacksBefore(o, h.rank) {
			h.stirred, h.moved = false, now
		}
		if h.late = late; late && now >= h.moved+rc.yieldPatience(h) {
			h.moved = now
			rc.giveUp(o, h)
		}
	}
}

// lacksBefore reports whether puts of an operation before o wait for rank, which may not have begun o then.
func (rc *recovery) lacksBefore(o *op, rank int) bool {
	for seq := rc.ops.complete + 1; seq < o.seq; seq++ {
		if p := rc.ops.open(seq); p != nil {
			if h := p.lost.yields.heir(rank); h != nil && h.waits > 0 {
				return true
			}
		}
	}
	return false
}

// timeTells learns how long it takes from one word of h to the next.
func (rc *recovery) timeTells(h *heir, now Time) {
	if !h.heard {
		return
	}
	if h.told > 0 {
		rc.tells.took(now - h.told)
	}
	h.heard, h.told = false, now
}

// giveUp puts to h what has waited, or the first of it if that is much.
func (rc *recovery) giveUp(o *op, h *heir) {
	if rc.silent == nil {
		rc.silent = make(map[int]bool)
	}
	rc.silent[h.rank] = true
	left := o.lost.yields.step << min(h.turns, maxYieldTurn)
	h.turns++
	for k := h.have; h.waits > 0 && left > 0; k++ {
		if h.forget(k) {
			rc.putOnce(o, k, h.rank)
			left--
		}
	}
	h.given = h.waits == 0
	rc.ops.resume()
}

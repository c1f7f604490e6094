package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// yields makes puts of chunks give way to the multicast of the same chunks. Where a rank puts
// chunks to a rank that reports to it (bcast/mcast-chain), both would bring everything, and a slow
// link would carry it twice. So a put of a long message waits until the other rank has reported how
// much it has; chunks that it has by then are not put. It asks for chunks that it lacks. A rank
// that reports nothing for a while is late or hears no multicast. It is put some of the waiting
// chunks, twice as many after each further while, and all later ones at once, until it reports. If
// the rank was only kept from its core, few puts were useless.
//
// A put that is left out would bring what is there: the same slots are set as the rules say, and no
// proof depends on how long a put waits. A call returns only when none of its puts waits, so a
// request never comes too late. Short messages are put at once, since a report would take as long.
type yields struct {
	on    bool
	step  int    // chunks between two reports
	least int    // chunks between two reports that are a while apart
	have  int    // all chunks below this have arrived; the root has all
	heard int    // how far the multicast had come at the last report
	whole bool   // it has reported that all have arrived
	heirs []heir // ranks whose puts give way
}

// heir is a rank that gets chunks by put, and reports.
type heir struct {
	rank    int
	have    int      // it has all chunks below this
	chunks  []uint64 // chunks whose puts wait
	waits   int      // number of such chunks
	given   bool     // it has been silent for too long and got everything: nothing waits
	stirred bool     // it has reported since the last tick, or the operation has begun
	heard   bool     // it has reported since the last tick
	told    Time     // when it last reported, at a tick; 0: not yet
	late    bool     // it was behind at the last tick
	moved   Time     // when it was last known to be at work
	turns   int      // consecutive times that it has been silent for too long
}

const (
	yieldBytes   = 256 << 10 // shorter messages are put at once, if receivers have room for them
	yieldReports = 8         // reports of a rank on a message, within the limits below
	yieldStep    = 512 << 10 // greatest number of bytes between two reports
	yieldLeast   = 16 << 10  // least number, on a slow link: a report may cost a hundredth of it

	maxSilence   = 2  // doublings of the base timeout that a rank may be silent
	maxYieldTurn = 16 // doublings of what it is put then
)

// openYields prepares the yielding puts of o.
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

// overNetwork reports whether o is long, and multicasts go over a network. Within a host no link
// needs to be spared, but long messages do, since they overrun receivers.
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

// heir returns the state of rank, or nil if puts to it do not yield.
func (y *yields) heir(rank int) *heir {
	for i := range y.heirs {
		if y.heirs[i].rank == rank {
			return &y.heirs[i]
		}
	}
	return nil
}

// has returns the chunk below which rank has all, as far as known.
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

// known returns what rank has reported of o before this rank began it. A rank that has reported
// about a later operation in o's place has ended o.
func (rc *recovery) known(o *op, rank int) int {
	switch r := rc.reports.of(rank, o.seq); {
	case r.seq > o.seq:
		return o.chunks
	case r.seq == o.seq && r.print == o.print:
		return min(r.have, o.chunks)
	}
	return 0
}

// learnEarly records a report about an operation that this rank has not begun.
func (rc *recovery) learnEarly(h *wire.Header) {
	if h.Seq <= rc.ops.seq {
		rc.ops.totals.Stale++
		return
	}
	rc.reports.note(h, func(r *report) { r.have = max(r.have, int(h.Arg)) })
}

// yield makes a put wait, or drops it, as described at yields. It reports whether it has.
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

// learn records that rank has all chunks of o below have.
func (rc *recovery) learn(o *op, rank, have int) {
	h := o.lost.yields.heir(rank)
	if h == nil {
		return
	}
	h.stirred, h.heard, h.given, h.turns = true, true, false, 0
	if have < o.chunks {
		delete(rc.silent, rank) // what all ranks have need not have come by multicast
	}
	for have = min(have, o.chunks); h.have < have; h.have++ {
		h.forget(h.have)
	}
	rc.ops.resume()
}

// forget ends the wait of the put of chunk k, and reports whether it waited.
func (h *heir) forget(k int) bool {
	waited := unmark(h.chunks, k)
	h.waits -= count(waited)
	return waited
}

// grown updates which chunks have arrived, and reports when all have.
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

// listen reports the arrived chunks each time that the multicast has advanced by step chunks.
func (rc *recovery) listen(o *op, step int) (reported bool) {
	y, r := &o.lost.yields, &o.plan.recovery
	if top := o.lost.gaps.top; y.on && top >= y.heard+step && !y.whole && r.Reports {
		y.heard = top
		rc.tellLoosely(o, int(r.ReportTo))
		return true
	}
	return false
}

// listenSlowly does so on a slow link, where a rank that waits for a report would take this one for
// silent.
func (rc *recovery) listenSlowly(o *op, now Time) {
	if g := &o.lost.gaps; now-g.told >= rc.Repair/2 && rc.listen(o, o.lost.yields.least) {
		g.told = now
	}
}

// tellLoosely reports to rank to the chunks that have arrived here, by datagram if possible: the
// next report makes up for a lost one.
func (rc *recovery) tellLoosely(o *op, to int) {
	f := rc.fillWant(o, nil)
	if !rc.Caps.Direct {
		rc.put(to, f)
		return
	}
	rc.queued = true
	rc.net.Datagram(to, f)
}

// behind reports whether h lacks so much that it would have reported, were it there.
func (o *op) behind(h *heir) bool {
	y := &o.lost.yields
	return h.waits > 0 && (y.have == o.chunks || y.have >= h.have+2*y.step)
}

// yieldPatience is how long h, which is behind, may be silent. A rank that is kept from its core is
// silent, too. Puts to it then waste the link, but at first only a little. A rank that has reported
// in this operation asks for what it lacks.
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

// checkYields puts some of the waiting chunks to ranks that have been silent for too long. While
// frames are still leaving, or multicasts wait for those of earlier operations, no rank can have
// received them.
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

// lacksBefore reports whether puts of an operation before o wait for rank, which may then not have
// begun o.
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

// timeTells measures the time between two reports of h.
func (rc *recovery) timeTells(h *heir, now Time) {
	if !h.heard {
		return
	}
	if h.told > 0 {
		rc.tells.took(now - h.told)
	}
	h.heard, h.told = false, now
}

// giveUp puts the waiting chunks to h, or the first of them if there are many.
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

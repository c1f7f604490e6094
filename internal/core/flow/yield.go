package flow

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/ir"
)

// Yields makes puts of chunks give way to the multicast of the same chunks. Where a rank puts
// chunks to a rank that reports to it (bcast/mcast-chain), both would bring everything, and a slow
// link would carry it twice. So a put of a long message waits until the other rank has reported how
// much it has; chunks that it has by then are not put. The other rank asks for chunks that it
// lacks. A rank that reports nothing for a while is late or hears no multicast. This rank then puts
// some of the waiting chunks to it, twice as many after each further while, and all later chunks at
// once, until it reports. If the other rank's process merely did not run, only a few puts were
// useless.
//
// A put that is left out would bring a chunk that is there: the same slots are set as the rules
// say, and no proof depends on how long a put waits. A call returns only when none of its puts
// waits, so a request never comes too late. Short messages are put at once, since a report would
// take as long.
type Yields struct {
	on        bool
	chunks    int        // of the message
	reports   bool       // this rank reports to another rank
	step      int        // chunks between two reports
	least     int        // chunks between two reports that are a while apart
	have      int        // all chunks below this have arrived; the root has all
	heard     int        // how far the multicast had come at the last report
	whole     bool       // this rank has reported that all chunks have arrived
	receivers []receiver // ranks whose puts give way
}

// receiver is a rank that gets chunks by put, and reports.
type receiver struct {
	rank    int
	have    int         // it has all chunks below this
	waits   int         // number of puts that wait for its reports
	given   bool        // it has been silent for too long and got everything: nothing waits
	stirred bool        // it has reported since the last tick, or the operation has begun
	heard   bool        // it has reported since the last tick
	told    moment.Time // when it last reported, at a tick; 0: not yet
	late    bool        // it was behind at the last tick
	moved   moment.Time // when it was last known to be at work
	turns   int         // consecutive times that it has been silent for too long
}

const (
	yieldReports = 8         // reports of a rank on a message, within the limits below
	yieldStep    = 512 << 10 // greatest number of bytes between two reports
	yieldLeast   = 16 << 10  // least number, on a slow link: a report may cost a hundredth of these bytes

	maxSilence   = 2  // doublings of the base timeout that a rank may be silent
	maxYieldTurn = 16 // doublings of the chunks that it is put then
)

// OpenYields makes y the yielding puts of m, which begins.
func (p *Peers) OpenYields(y *Yields, m *Message) {
	*y = Yields{receivers: y.receivers[:0], chunks: m.Chunks}
	if y.on = m.Yields && p.cfg.overNetwork(m); !y.on {
		return
	}
	y.reports = m.Recovery.Reports
	y.step = max(1, min(m.Chunks/yieldReports, yieldStep*m.Chunks/max(1, m.Bytes)))
	y.least = min(y.step, max(1, yieldLeast*m.Chunks/max(1, m.Bytes)))
	if m.Root {
		y.have = m.Chunks
	}
	for _, rank := range m.Recovery.ReportFrom {
		to := int(rank)
		y.receivers = append(y.receivers, receiver{rank: to, have: p.known(m, to), given: p.silent[to], stirred: true})
	}
}

// On reports whether puts yield.
func (y *Yields) On() bool { return y.on }

// Have returns n if chunks 0 to n-1 have arrived here; 0 if puts do not yield.
func (y *Yields) Have() int { return y.have }

// receiver returns the state of rank, or nil if puts to it do not yield.
func (y *Yields) receiver(rank int) *receiver {
	for i := range y.receivers {
		if y.receivers[i].rank == rank {
			return &y.receivers[i]
		}
	}
	return nil
}

// has returns n if rank has chunks 0 to n-1, as far as known.
func (y *Yields) has(rank int) int {
	if h := y.receiver(rank); h != nil {
		return h.have
	}
	return 0
}

// Lacks reports whether puts wait for the report of rank.
func (y *Yields) Lacks(rank int) bool {
	h := y.receiver(rank)
	return h != nil && h.waits > 0
}

// Decision is what becomes of a put.
type Decision uint8

// The decisions.
const (
	Put     Decision = iota // it does not yield
	PutOnce                 // it goes now, unless the chunk has been put to the rank before
	Keep                    // it waits in the outbox, or is left out since the rank has the chunk
)

// Decide decides on put a of a chunk. box is the outbox of the operation.
func (y *Yields) Decide(box *Outbox, a ir.Action) Decision {
	h := y.receiver(int(a.To))
	switch {
	case h == nil:
		return Put
	case a.Slot.Index() < h.have:
	case h.given:
		return PutOnce
	default:
		box.Add(ByReport, a)
		h.waits++
	}
	return Keep
}

// Learn records that rank has chunks 0 to have-1. Puts of these chunks to it are left out. Learn
// reports whether puts to rank yield; then some may not wait any more.
func (p *Peers) Learn(y *Yields, box *Outbox, rank, have int) bool {
	h := y.receiver(rank)
	if h == nil {
		return false
	}
	h.stirred, h.heard, h.given, h.turns = true, true, false, 0
	if have < y.chunks {
		delete(p.silent, rank) // a rank that has all chunks may have got them by put
	}
	if have = min(have, y.chunks); have > h.have {
		h.have = have
		h.release(box, have)
	}
	return true
}

// release ends the waits of the puts of chunks before end to h.
func (h *receiver) release(box *Outbox, end int) {
	if h.waits > 0 {
		h.waits -= box.Release(ByReport, func(a ir.Action) bool { return int(a.To) == h.rank && a.Slot.Index() < end })
	}
}

// Grow records that chunks 0 to have-1 have arrived here. It reports, once, that all chunks have
// arrived, if this rank must report that.
func (y *Yields) Grow(have int) (whole bool) {
	y.have = have
	if y.have < y.chunks || y.whole || !y.reports {
		return false
	}
	y.whole = true
	return true
}

// ShouldReport records that the multicast has come as far as chunk top. It reports whether this
// rank must report its chunks now: each time that the multicast has advanced by a step. On a slow
// link a rank that waits for a report would take this rank for silent. So a short step is enough if
// slow is set: there was no report for a while.
func (y *Yields) ShouldReport(top int, slow bool) bool {
	step := y.step
	if slow {
		step = y.least
	}
	if !y.on || top < y.heard+step || y.whole || !y.reports {
		return false
	}
	y.heard = top
	return true
}

// behind reports whether h lacks so much that a rank at work would have reported.
func (y *Yields) behind(h *receiver) bool {
	return h.waits > 0 && (y.have == y.chunks || y.have >= h.have+2*y.step)
}

// Receivers returns the number of ranks to which puts yield.
func (y *Yields) Receivers() int { return len(y.receivers) }

// Receiver returns the rank of receiver i, from 0.
func (y *Yields) Receiver(i int) (rank int) { return y.receivers[i].rank }

// patience is how long h, which is behind, may be silent. A rank whose process does not run is
// silent, too. Puts to it then waste the link, but at first only a little. A rank that has reported
// in this operation asks for what it lacks.
func (p *Peers) patience(h *receiver) moment.Time {
	longest := moment.Longest(p.cfg.Repair)
	if h.told > 0 {
		return longest
	}
	return min(max(p.cfg.Repair, p.tells.Late()), longest) << min(h.turns, maxSilence)
}

// Timers visits the timers of ranks that are behind: the rank, when its timer began, and how long it
// takes.
func (p *Peers) Timers(y *Yields, visit func(rank int, began *moment.Time, span moment.Time)) {
	for i := range y.receivers {
		if h := &y.receivers[i]; y.behind(h) {
			visit(h.rank, &h.moved, p.patience(h))
		}
	}
}

// Tick gives up receiver i of y if it has been silent for too long. It returns the waiting chunks
// to put to it, valid until the next call. busy says that the rank cannot have received everything
// that was sent, or may not have begun the operation.
func (p *Peers) Tick(y *Yields, box *Outbox, i int, now moment.Time, busy bool) (chunks []int) {
	h := &y.receivers[i]
	late := y.behind(h)
	if h.heard {
		if h.told > 0 {
			p.tells.Took(now - h.told)
		}
		h.heard, h.told = false, now
	}
	if h.stirred || !h.late || !late || busy {
		h.stirred, h.moved = false, now
	}
	if h.late = late; late && now >= h.moved+p.patience(h) {
		h.moved = now
		return p.giveUp(y, box, h)
	}
	return nil
}

// giveUp returns the waiting chunks of h, or the first of them if there are many.
func (p *Peers) giveUp(y *Yields, box *Outbox, h *receiver) []int {
	if p.silent == nil {
		p.silent = make(map[int]bool)
	}
	p.silent[h.rank] = true
	most := y.step << min(h.turns, maxYieldTurn)
	h.turns++
	p.chunks = p.chunks[:0]
	for _, a := range box.All(ByReport) {
		if int(a.To) == h.rank {
			p.chunks = append(p.chunks, a.Slot.Index())
		}
	}
	slices.Sort(p.chunks)
	p.chunks = p.chunks[:min(most, len(p.chunks))]
	h.release(box, p.chunks[len(p.chunks)-1]+1)
	h.given = h.waits == 0
	return p.chunks
}

// Normalize makes Yields equal if they differ only in durations. No tick reaches later.
func (y *Yields) Normalize(later moment.Time) {
	for i := range y.receivers {
		h := &y.receivers[i]
		h.stirred, h.late, h.moved, h.turns = false, true, later, 0
		h.heard, h.told = false, 0
	}
	if !y.on {
		*y = Yields{chunks: y.chunks}
	}
}

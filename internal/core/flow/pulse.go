package flow

import "github.com/schedgen/schedgen/internal/core/internal/moment"

// Pulse says when an operation last moved. An operation that has not moved for long asks its
// neighbour, the next rank that has not left, whether it runs the same operation. If ranks
// disagree, some pair of neighbours does, so a hang becomes an error. A dead neighbour is found
// too.
type Pulse struct {
	stirred bool        // a slot has been set since moved was written
	moved   moment.Time // when a slot was last set, or the last probe was sent
	probes  int         // probes sent since a slot was last set

	since moment.Time // when a tick first found the operation open
	still moment.Time // when a tick last found that a slot was set, while this was the oldest operation
}

// Begin begins an operation.
func (p *Pulse) Begin() { *p = Pulse{stirred: true} }

// Stir records that a slot has been set.
func (p *Pulse) Stir() { p.stirred = true }

// Look records that the operation is open.
func (p *Pulse) Look(now moment.Time) {
	if p.since == 0 {
		p.since = now
	}
}

// Since returns when Look was first called in this operation, or 0.
func (p *Pulse) Since() moment.Time { return p.since }

// Inspect returns how long the operation has been open, and how long ago a slot was last set; 0
// means unknown.
func (p *Pulse) Inspect(now moment.Time) (age, quiet moment.Time) {
	if p.since > 0 {
		age = now - p.since
	}
	if p.still > 0 && !p.stirred {
		quiet = now - p.still
	}
	return age, quiet
}

// maxProbeShift limits the growing intervals between probes.
const maxProbeShift = 4

// Timer returns the timer of the next probe: when it began, and how long it takes. stall is how long
// the first probe takes.
func (p *Pulse) Timer(stall moment.Time) (began *moment.Time, span moment.Time) {
	return &p.moved, stall << min(p.probes, maxProbeShift)
}

// Tick reports whether a probe is due. A stall of 0 means never.
func (p *Pulse) Tick(now, stall moment.Time) bool {
	if p.stirred {
		p.stirred, p.moved, p.probes, p.still = false, now, 0, now
	}
	if _, span := p.Timer(stall); stall == 0 || now < p.moved+span {
		return false
	}
	p.probes++
	p.moved = now
	return true
}

// Probes returns how many probes have been due since a slot was last set.
func (p *Pulse) Probes() int { return p.probes }

// Reach returns how many of size ranks may pass the last probe on. Most probes are for the
// neighbour alone, since slow links cause many probes although nothing is wrong.
func (p *Pulse) Reach(size int) uint32 {
	if p.probes < 2 || p.probes&(p.probes-1) != 0 {
		return 0
	}
	return uint32(max(0, size-2))
}

// Normalize makes pulses equal if they differ only in durations. No tick reaches later.
func (p *Pulse) Normalize(later moment.Time) { *p = Pulse{moved: later} }

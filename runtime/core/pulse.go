package core

// pulse records when an operation last moved. An operation that has not moved for long asks its
// neighbour, the next rank that has not left, whether it runs the same. If ranks disagree, some
// pair of neighbours does, so a hang becomes an error. A dead neighbour is found too.
type pulse struct {
	stirred bool // a slot has been set since moved was written
	moved   Time // when a slot was last set, or the last probe was sent
	probes  int  // probes sent since a slot was last set

	since Time // when a tick first found the operation open
	still Time // when a tick last found that a slot was set, while this was the oldest operation
}

// look records that the operation is open.
func (p *pulse) look(now Time) {
	if p.since == 0 {
		p.since = now
	}
}

// inspect returns how long the operation has been open, and how long ago a slot was last set; 0
// means unknown.
func (p *pulse) inspect(now Time) (age, quiet Time) {
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

// due returns when the next probe is due. A stall of 0 means never.
func (p *pulse) due(stall Time) Time {
	if stall == 0 {
		return never
	}
	return p.moved + stall<<min(p.probes, maxProbeShift)
}

// tick reports whether a probe is due.
func (p *pulse) tick(now, stall Time) bool {
	if p.stirred {
		p.stirred, p.moved, p.probes, p.still = false, now, 0, now
	}
	if now < p.due(stall) {
		return false
	}
	p.probes++
	p.moved = now
	return true
}

// reach returns how many of size ranks may pass the last probe on. Most probes are for the
// neighbour alone, since slow links cause many probes although nothing is wrong.
func (p *pulse) reach(size int) uint32 {
	if p.probes < 2 || p.probes&(p.probes-1) != 0 {
		return 0
	}
	return uint32(max(0, size-2))
}

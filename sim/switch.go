package sim

// saturate returns how much longer a message takes because everything that crosses the switch
// shares its capacity, in the order of the sends (paper 004, section 3, last paragraph). That is
// the time by which the switch ends after the sender's interface, which needs interfaceDone. A
// multicast crosses once.
func (e *engine) saturate(now, interfaceDone Time, bytes int) Time {
	if e.c.Switch == 0 {
		return 0
	}
	e.full = min(max(e.full, now)+e.c.Switch.timeOf(bytes), maxSum+1) // later than any time of a run
	return max(0, e.full-now-interfaceDone)
}

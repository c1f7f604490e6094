package sim

// saturate returns how much longer a message takes because all that crosses the
// switch shares what it can pass on, in the order of the sends (paper 004, section
// 3, last paragraph): as much as the switch ends after the sender's interface, which
// is done in a time. A multicast crosses once.
func (e *engine) saturate(now, interfaceDone Time, bytes int) Time {
	if e.c.Switch == 0 {
		return 0
	}
	e.full = min(max(e.full, now)+e.c.Switch.of(bytes), maxSum+1) // which is no time of a run
	return max(0, e.full-now-interfaceDone)
}

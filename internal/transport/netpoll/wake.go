//go:build unix

package netpoll

import "time"

// Wake ends a running Wait or, if there is none, the next one.
func (p *Poller) Wake() {
	if p.wake() {
		p.kick()
	}
}

// millis rounds up, so that a short wait does not spin.
func millis(d time.Duration) int {
	if d < 0 {
		return -1
	}
	return int(min((d+time.Millisecond-1)/time.Millisecond, 1<<30))
}

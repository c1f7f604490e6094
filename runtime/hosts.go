package runtime

import "github.com/schedgen/schedgen/schedule/selection"

// ground returns the description of c that rules ask about. spread says that multicasts are
// worthwhile. Caps.Local alone may differ between ranks, but all agree on whether it counts them all.
func (c *Comm) ground(spread bool) *selection.Ground {
	return &selection.Ground{
		Ranks: c.size, OneHost: c.caps.Local == c.size, Host: c.caps.Host,
		Multicast: c.caps.Multicast && spread, RDMA: c.caps.RDMA, Lends: c.window.shelves(), Pace: c.caps.Pace,
	}
}

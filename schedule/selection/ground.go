package selection

import "github.com/schedgen/schedgen/runtime/wire"

// Ground describes a communicator: where its ranks are, and how they reach each other. It is the
// same at all of its ranks, so that all of them choose the same algorithms.
type Ground struct {
	Ranks   int
	OneHost bool // all ranks share one host
	// Host is the host of each rank, by rank. Only the equality of hosts matters. It is nil if the
	// hosts are unknown, and may be nil with OneHost.
	Host      []int
	Multicast bool // multicasts reach the other ranks, and are worthwhile
	RDMA      bool // as in [Case]
	// Lends says that the ranks share memory, and copy long chunks directly from the sender's buffer.
	// It counts only on one host.
	Lends bool
	Pace  *wire.Pace // as in [Case]
}

// Case returns the case of operations on this ground. The caller adds the collective, the number of
// bytes, and what it demands of a fold.
func (g *Ground) Case() Case {
	c := Case{Ranks: g.Ranks, Multicast: g.Multicast, RDMA: g.RDMA}
	hosts := Blocks(g.Host)
	switch {
	case g.OneHost:
		if c.Place, c.Memory = OneHost, g.Lends; g.Lends {
			c.Pace = g.Pace
			c.Rings = g.Ranks > 1 && g.Pace.Casts(g.Ranks)
		}
	case len(g.Host) > 0 && hosts == len(g.Host):
		c.Place = OneEach
	case hosts > 1:
		c.Hosts = hosts
	}
	return c
}

// Blocks returns the number of hosts if ranks lie on them as Params.Hosts of package schedule
// assumes: in contiguous blocks, as even as possible, with rank r on host ⌊r·hosts/ranks⌋.
// Otherwise it returns 0. host is indexed by rank; only the equality of hosts matters.
func Blocks(host []int) int {
	hosts := 0
	for r := range host {
		if r == 0 || host[r] != host[r-1] {
			hosts++
		}
	}
	seen := make(map[int]int, hosts)
	for r, h := range host {
		block := r * hosts / len(host)
		if first, known := seen[h]; known && first != block {
			return 0
		}
		seen[h] = block
	}
	if len(seen) != hosts {
		return 0
	}
	return hosts
}

package runtime

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule/selection"
)

// ground says where the ranks of a communicator are. It does not change.
type ground struct {
	spread bool // multicasts are worthwhile
	place  selection.Place
}

// hostsAbove returns the number of hosts for algorithms that run between masters. It returns 0 if
// such algorithms gain nothing: on one host, or with one rank on each host.
func hostsAbove(caps wire.Caps, size int) int {
	if caps.Hosts > 1 && caps.Hosts < size {
		return caps.Hosts
	}
	return 0
}

// placeOf returns where size ranks are, as far as all ranks agree. They agree on whether all share
// one host, and on the host of each rank; Caps.Local alone may differ between ranks.
func placeOf(caps wire.Caps, size int) selection.Place {
	switch {
	case caps.Local == size:
		return selection.OneHost
	case len(caps.Host) == size && distinct(caps.Host):
		return selection.OneEach
	}
	return selection.Anywhere
}

func distinct(hosts []int) bool {
	hosts = slices.Clone(hosts)
	slices.Sort(hosts)
	return len(slices.Compact(hosts)) == len(hosts)
}

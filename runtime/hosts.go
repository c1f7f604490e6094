package runtime

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule/selection"
)

// ground is what is known of where the ranks of a communicator are. It does not change.
type ground struct {
	spread bool // multicasts are worth it
	place  selection.Place
}

// hostsAbove returns the hosts for which algorithms run between masters; 0 if
// there is nothing to be had from that: one host, or one rank on each.
func hostsAbove(caps wire.Caps, size int) int {
	if caps.Hosts > 1 && caps.Hosts < size {
		return caps.Hosts
	}
	return 0
}

// placeOf returns where size ranks are, as far as all of them know: whether they are all on one
// host, and on which each is, they agree on; how many share a host is each one's own.
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

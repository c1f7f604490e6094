package runtime

import "github.com/schedgen/schedgen/runtime/wire"

// hostsAbove returns the hosts for which algorithms run between masters; 0 if
// there is nothing to be had from that: one host, or one rank on each.
func hostsAbove(caps wire.Caps, size int) int {
	if caps.Hosts > 1 && caps.Hosts < size {
		return caps.Hosts
	}
	return 0
}

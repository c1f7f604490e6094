//go:build linux

package main

import "fmt"

// The network: v<i>, a port of the bridge, is the other end of host i's eth0.

// bridgeCommands make the bridge. Its snooping is off: with no querier it
// would forget who has joined a group.
func bridgeCommands(o *options) []string {
	c := []string{
		"ip link set lo up",
		"ip link add br0 type bridge stp_state 0 mcast_snooping 0",
		"ip link set br0 up",
	}
	if o.loss > 0 {
		c = append(c, "nft -f - <"+lossRules(o.loss))
	}
	return c
}

// lossRules drop frames on their way to a port, when they have been copied
// for every receiver: losses are independent.
func lossRules(loss float64) string {
	const of = 1_000_000
	return fmt.Sprintf("table bridge loss { chain forward { type filter hook forward priority 0; numgen random mod %d < %d counter drop; }; }\n",
		of, int(loss*of))
}

func portName(i int) string { return fmt.Sprintf("v%d", i) }

// linkCommands make host i's link and give one end to the process in its
// namespace.
func linkCommands(o *options, i, pid int) []string {
	port := portName(i)
	c := []string{
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", port, pid),
		fmt.Sprintf("ip link set %s master br0 up", port),
	}
	return append(c, shape(o, port)...)
}

// hostCommands set host i's end up.
func hostCommands(o *options, i int) []string {
	c := []string{
		"ip link set lo up",
		fmt.Sprintf("ip address add 10.77.0.%d/24 dev eth0", i+1),
		"ip link set eth0 up",
	}
	return append(c, shape(o, "eth0")...)
}

// shape has a link's end send at its rate.
func shape(o *options, dev string) []string {
	if o.rate == "" {
		return nil
	}
	return []string{fmt.Sprintf("tc qdisc add dev %s root tbf rate %s burst %s limit %s", dev, o.rate, o.burst, o.queue)}
}

//go:build linux

// Package netns makes a network of made-up hosts: network namespaces behind one
// bridge, each with a link of a chosen rate and, if asked, loss. Functions return
// what to execute in which namespace; who makes the namespaces, and for how long
// they live, is the caller's.
package netns

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Link is what shapes both ends of a host's link, in words of tc. With an empty
// Rate it is not shaped.
type Link struct {
	Rate  string
	Queue string // bytes that wait; what comes beyond that is lost
	Burst string // bytes that pass at once
}

// Port is the bridge's end of the link of host i, from 0. The other is eth0.
func Port(i int) string { return fmt.Sprintf("v%d", i) }

// Address is the address of host i on eth0.
func Address(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

// MaxHosts is how many hosts have an address.
const MaxHosts = 250

// BridgeCommands make the bridge, which drops frames to each host with a
// probability, those of TCP too. Its snooping is off: with no querier it would
// forget who has joined a group.
func BridgeCommands(loss float64) []string {
	c := []string{
		"ip link set lo up",
		"ip link add br0 type bridge stp_state 0 mcast_snooping 0",
		"ip link set br0 up",
	}
	if loss > 0 {
		c = append(c, "nft -f - <"+lossRules(loss))
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

// PortCommands make host i's link, in the bridge's namespace, and give one end to
// the namespace of the process, or thread, pid.
func PortCommands(l Link, i, pid int) []string {
	port := Port(i)
	c := []string{
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", port, pid),
		fmt.Sprintf("ip link set %s master br0 up", port),
	}
	return append(c, shape(l, port)...)
}

// HostCommands set host i's end up, in its namespace, where there are n hosts.
func HostCommands(l Link, i, n int) []string {
	c := []string{
		"ip link set lo up",
		fmt.Sprintf("ip link set eth0 address %s", hardware(i)),
		fmt.Sprintf("ip address add %s/24 dev eth0", Address(i)),
		"ip link set eth0 up",
		"ip -batch - <" + neighbours(i, n),
	}
	return append(c, shape(l, "eth0")...)
}

// hardware is the address of host i's card.
func hardware(i int) string { return fmt.Sprintf("02:00:0a:4d:00:%02x", i+1) }

// neighbours say which card each other host of n has. To ask for it, as hosts do that have just
// begun, takes a second where the question is lost; and the system remembers 1,024 answers over all
// namespaces, of which 40 hosts have more.
func neighbours(i, n int) string {
	var b strings.Builder
	for other := range n {
		if other != i {
			fmt.Fprintf(&b, "neighbour add %s lladdr %s dev eth0 nud permanent\n", Address(other), hardware(other))
		}
	}
	return b.String()
}

// shape has a link's end send at its rate.
func shape(l Link, dev string) []string {
	if l.Rate == "" {
		return nil
	}
	return []string{fmt.Sprintf("tc qdisc add dev %s root tbf rate %s burst %s limit %s", dev, l.Rate, l.Burst, l.Queue)}
}

// Execute executes commands one after the other; a text behind < is their input.
func Execute(commands []string) error {
	for _, c := range commands {
		line, input, _ := strings.Cut(c, "<")
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdin = strings.NewReader(input)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	return nil
}

// Missing says which of the programs that commands call are not installed.
func Missing(loss bool) error {
	need := []string{"ip", "tc"}
	if loss {
		need = append(need, "nft")
	}
	var errs []error
	for _, name := range need {
		_, err := exec.LookPath(name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

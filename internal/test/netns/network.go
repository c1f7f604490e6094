//go:build linux

// Package netns makes networks of simulated hosts from network namespaces. The hosts are behind one
// bridge, each with a link of a chosen rate and loss, or they are the ranks of a [Lab]. The functions
// of the package return the commands to execute in each namespace. The caller makes the namespaces
// and ends them.
package netns

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Link holds the parameters of both ends of a host's link, in the syntax of tc. With an empty Rate
// the link is unlimited.
type Link struct {
	Rate  string
	Queue string // bytes that may wait; further bytes are lost
	Burst string // bytes that pass at once
}

// Port returns the name of the bridge's end of the link of host i, from 0. The other end is eth0.
func Port(i int) string { return fmt.Sprintf("v%d", i) }

// Address returns the address of host i.
func Address(i int) string { return fmt.Sprintf("10.77.%d.%d", i/MaxHosts, i%MaxHosts+1) }

// MaxHosts is the largest number of hosts, except for hosts of JoinCommands.
const MaxHosts = 250

// BridgeCommands returns the commands that make the bridge. The bridge drops frames to each host,
// including TCP's, with the given probability. Its multicast snooping is off, because without a
// querier it would forget the members of multicast groups.
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

// lossRules returns rules that drop frames on their way to a port, after frames have been copied
// for every receiver. So losses are independent.
func lossRules(loss float64) string {
	const of = 1_000_000
	return fmt.Sprintf("table bridge loss { chain forward { type filter hook forward priority 0; numgen random mod %d < %d counter drop; }; }\n",
		of, int(loss*of))
}

// PortCommands returns the commands, for the bridge's namespace, that make the link of host i and
// move one end to the namespace of the process or thread pid.
func PortCommands(l Link, i, pid int) []string {
	port := Port(i)
	c := []string{
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", port, pid),
		fmt.Sprintf("ip link set %s master br0 up", port),
	}
	return append(c, shape(l, port)...)
}

// HostCommands returns the commands, for the namespace of host i of n, that set up its end of the
// link.
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

// JoinCommands returns the commands, for the namespace of host i, that make an unlimited link to the
// bridge in another namespace, which a file stands for. The hosts ask for each other's Ethernet
// addresses.
func JoinCommands(i int, bridge string) []string {
	return []string{
		"ip link set lo up",
		fmt.Sprintf("ip link add eth0 type veth peer name %s netns %s", Port(i), bridge),
		fmt.Sprintf("ip address add %s/16 dev eth0", Address(i)),
		"ip link set eth0 up",
		fmt.Sprintf("nsenter --net=%s ip link set %s master br0 up", bridge, Port(i)),
	}
}

// hardware returns the Ethernet address of host i.
func hardware(i int) string { return fmt.Sprintf("02:00:0a:4d:00:%02x", i+1) }

// neighbours returns commands that tell host i the Ethernet addresses of all other hosts of n.
// Asking for them would take a second if the question is lost, and the system stores only 1,024
// answers for all namespaces, which is too few for 40 hosts.
func neighbours(i, n int) string {
	var b strings.Builder
	for other := range n {
		if other != i {
			fmt.Fprintf(&b, "neighbour add %s lladdr %s dev eth0 nud permanent\n", Address(other), hardware(other))
		}
	}
	return b.String()
}

// shape returns the commands that make an end of a link send at its rate.
func shape(l Link, dev string) []string {
	if l.Rate == "" {
		return nil
	}
	return []string{fmt.Sprintf("tc qdisc add dev %s root tbf rate %s burst %s limit %s", dev, l.Rate, l.Burst, l.Queue)}
}

// Execute runs commands one after the other. The text after < in a command is its input.
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

// Missing returns an error that lists the programs of commands that are not installed. loss says
// that packets are to be lost.
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

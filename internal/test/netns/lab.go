//go:build linux

package netns

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/network"
)

// Lab is a given network whose nodes are network namespaces. A veth pair stands for each link, and
// each of its ends sends at the rate of an arc. Ranks have the same addresses as hosts behind a
// bridge. Links have no addresses: the next node of each route is named by its Ethernet address.
type Lab struct {
	net    *network.Network
	link   Link // queue and burst of each end of a link
	mtu    int
	router *network.Router
	wires  []wire
}

// wire is a veth pair. Its first end is at node a, and its second end at node b.
type wire struct{ a, b int }

// MaxNodes is the largest number of nodes of a Lab.
const MaxNodes = 1000

// NewLab returns a lab for a network. Its links have the queue and the burst of link, and carry
// packets of at most mtu bytes. It returns an error if the lab would have too many nodes, or if no
// way leads from a rank to another one.
func NewLab(n *network.Network, link Link, mtu int) (*Lab, error) {
	switch {
	case len(n.Ranks) > MaxHosts:
		return nil, fmt.Errorf("%d ranks: namespaces stand for at most %d", len(n.Ranks), MaxHosts)
	case n.Nodes() > MaxNodes:
		return nil, fmt.Errorf("%d nodes: namespaces stand for at most %d", n.Nodes(), MaxNodes)
	}
	l := &Lab{net: n, link: link, mtu: mtu, router: network.NewRouter(n)}
	for _, a := range n.Arcs {
		if a.From < a.To || n.Find(a.To, a.From) < 0 {
			l.wires = append(l.wires, wire{a.From, a.To})
		}
	}
	for from := range n.Ranks {
		for to := range n.Ranks {
			if _, err := l.router.Route(nil, from, to); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// Nodes returns the number of nodes. Node i is rank i, for all ranks.
func (l *Lab) Nodes() int { return l.net.Nodes() }

// Ranks returns the number of ranks.
func (l *Lab) Ranks() int { return len(l.net.Ranks) }

// NameOf returns the name of a node.
func (l *Lab) NameOf(node int) string { return l.net.NameOf(node) }

// end returns the name of an end of a wire: 0 or 1.
func end(wire, which int) string { return fmt.Sprintf("w%d%c", wire, 'a'+which) }

// hardwareOf returns the Ethernet address of an end of a wire.
func hardwareOf(wire, which int) string {
	return fmt.Sprintf("02:01:%02x:%02x:%02x:%02x", wire>>16&0xff, wire>>8&0xff, wire&0xff, which)
}

// gateway is the address that every node gives to its neighbours. It says only that a packet goes
// to the other end of a wire.
const gateway = "169.254.0.1"

// WireCommands returns the commands that make the links between the namespaces of processes. pids
// has the processes by node.
func (l *Lab) WireCommands(pids []int) []string {
	var b strings.Builder
	for i, w := range l.wires {
		fmt.Fprintf(&b, "link add %s address %s netns %d type veth peer name %s address %s netns %d\n",
			end(i, 0), hardwareOf(i, 0), pids[w.a], end(i, 1), hardwareOf(i, 1), pids[w.b])
	}
	return batch("ip", &b)
}

// batch returns the command that executes lines of ip or tc, or nothing if there are none.
func batch(program string, lines *strings.Builder) []string {
	if lines.Len() == 0 {
		return nil
	}
	return []string{program + " -batch - <" + lines.String()}
}

// port is an end of a wire, as its node sees it.
type port struct {
	device, other string // name, and the Ethernet address of the other end
	to            int    // node there
}

// portsOf returns the ends of wires at a node.
func (l *Lab) portsOf(node int) (ports []port) {
	for i, w := range l.wires {
		if w.a == node {
			ports = append(ports, port{end(i, 0), hardwareOf(i, 1), w.b})
		}
		if w.b == node {
			ports = append(ports, port{end(i, 1), hardwareOf(i, 0), w.a})
		}
	}
	return ports
}

// Devices returns the names of the network interfaces of a node, except lo.
func (l *Lab) Devices(node int) (names []string) {
	for _, p := range l.portsOf(node) {
		names = append(names, p.device)
	}
	return names
}

// firstTable is the number of the routing table of a network's first own route. Linux has numbers
// below it for other tables.
const firstTable = 1000

// NodeCommands returns the commands, for the namespace of a node, that set up its ends of wires, its
// address and its routes.
func (l *Lab) NodeCommands(node int) []string {
	var ip, tc strings.Builder
	fmt.Fprintln(&ip, "link set lo up")
	source := ""
	if l.net.IsRank(node) {
		fmt.Fprintf(&ip, "address add %s/32 dev lo\n", Address(node))
		source = " src " + Address(node)
	}
	via := make(map[int]string) // by neighbour: the way to it, in the syntax of ip route
	for _, p := range l.portsOf(node) {
		fmt.Fprintf(&ip, "link set %s mtu %d up\n", p.device, l.mtu)
		fmt.Fprintf(&ip, "neighbour add %s lladdr %s dev %s nud permanent\n", gateway, p.other, p.device)
		via[p.to] = fmt.Sprintf("via %s dev %s onlink%s", gateway, p.device, source)
		if arc := l.net.Find(node, p.to); arc >= 0 {
			tc.WriteString(l.shapeOf(&l.net.Arcs[arc], p.device))
		}
	}
	for to := range l.net.Ranks {
		if arc := l.router.Next(node, to); to != node && arc >= 0 {
			fmt.Fprintf(&ip, "route add %s/32 %s\n", Address(to), via[l.net.Arcs[arc].To])
		}
	}
	for i, r := range l.net.Routes {
		for j, v := range r[:len(r)-1] {
			from, to := r[0], r[len(r)-1]
			if v != node || l.net.Arcs[l.router.Next(node, to)].To == r[j+1] {
				continue
			}
			table := firstTable + i
			fmt.Fprintf(&ip, "route add %s/32 %s table %d\n", Address(to), via[r[j+1]], table)
			fmt.Fprintf(&ip, "rule add from %s to %s lookup %d pref %d\n", Address(from), Address(to), table, table)
		}
	}
	return append(batch("ip", &ip), batch("tc", &tc)...)
}

// delayed is the number of packets that may be under way on an arc with a delay.
const delayed = 100_000

// shapeOf returns lines of tc that make an end of a wire send as an arc does. The rate comes behind
// the delay, so that only bytes that wait for the rate count as the queue.
func (l *Lab) shapeOf(a *network.Arc, device string) string {
	rate := fmt.Sprintf("tbf rate %dbit burst %s limit %s\n", a.Rate, l.link.Burst, l.link.Queue)
	if a.Delay == 0 {
		return fmt.Sprintf("qdisc add dev %s root %s", device, rate)
	}
	return fmt.Sprintf("qdisc add dev %s root handle 1: netem delay %dns limit %d\nqdisc add dev %s parent 1:1 handle 2: %s",
		device, a.Delay, delayed, device, rate)
}

// Forwards makes the namespace of this process forward packets, wherever they come from. TCP does not
// remember earlier connections there, and IPv6, which would send packets by itself, is off.
func Forwards() error {
	const dir = "/proc/sys/net/"
	set := map[string]string{
		"ipv4/ip_forward": "1", "ipv4/tcp_no_metrics_save": "1",
		"ipv4/conf/*/rp_filter": "0", "ipv4/conf/*/send_redirects": "0", "ipv6/conf/*/disable_ipv6": "1",
	}
	for pattern, value := range set {
		files, err := filepath.Glob(dir + pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := os.WriteFile(file, []byte(value), 0); err != nil {
				return fmt.Errorf("set up the namespace: %w", err)
			}
		}
	}
	return nil
}

package crew

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// network is a network of simulated hosts: each is a network namespace, and a bridge in another
// namespace connects them. The namespaces have no names, so they end with the processes in them.
type network struct {
	size   int // number of ranks
	hosts  int
	made   int      // hosts made so far
	bridge *os.File // namespace of the bridge
}

// newNetwork makes the bridge. It moves the current thread, to which the goroutine must be locked,
// to another namespace for good.
func newNetwork(ranks, hosts int) (*network, error) {
	n := &network{size: ranks, hosts: hosts}
	if err := unshare(); err != nil {
		return nil, err
	}
	f, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("--netns: %w", err)
	}
	n.bridge = f
	// Snooping is off: without a querier the bridge would forget the members of multicast groups.
	if err := ip("link add br0 type bridge stp_state 0 mcast_snooping 0", "link set br0 up"); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return n, nil
}

func (n *network) close() error {
	if n == nil {
		return nil
	}
	return n.bridge.Close()
}

// enter moves the current thread, and the processes that it starts, to the host of a rank. It must
// be called for the ranks in order.
func (n *network) enter(rank int) error {
	if n == nil || rank*n.hosts/n.size < n.made {
		return nil
	}
	if err := unshare(); err != nil {
		return err
	}
	n.made++
	bridge, port := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.bridge.Fd()), fmt.Sprintf("v%d", n.made)
	if err := ip("link set lo up",
		fmt.Sprintf("link add eth0 type veth peer name %s netns %s", port, bridge),
		fmt.Sprintf("address add 10.77.%d.%d/16 dev eth0", n.made/250, n.made%250+1), "link set eth0 up"); err != nil {
		return err
	}
	return command("nsenter", "--net="+bridge, "ip", "link", "set", port, "master", "br0", "up")
}

// HostsCoordinator is the address where the ranks of such a network meet, on the first host.
const HostsCoordinator = "10.77.0.2:7777"

func unshare() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		return fmt.Errorf("--netns: make a network namespace: %w", err)
	}
	return nil
}

func ip(lines ...string) error {
	for _, line := range lines {
		if err := command("ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

func command(name string, args ...string) error {
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("--netns: %s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return nil
}

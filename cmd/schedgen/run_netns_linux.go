package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// network is hosts that are made up: network namespaces behind a bridge, which
// is in another one. None has a name: they end with the processes in them.
type network struct {
	size   int // ranks
	hosts  int
	made   int
	bridge *os.File // its namespace
}

// newNetwork makes the bridge. The thread, which must be the goroutine's own,
// leaves the namespace it was in for good.
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
	// Snooping is off: with no querier it would forget who has joined a group.
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

// enter puts the thread, and what it starts, on the host of a rank. Ranks come
// in order.
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

// madeUpCoordinator is where the ranks of such a network meet: the first host.
const madeUpCoordinator = "10.77.0.2:7777"

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

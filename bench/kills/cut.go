//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/netns"
)

// With --cut each rank is on its own host, a network namespace at a bridge. The network is cut in
// two: the hosts of one part move to another bridge. Each part must name all ranks of the other,
// and continue.

// insideNetwork is set in the environment of the program when it runs in its own network namespace.
const insideNetwork = "KILLS_NETWORK"

// coordinatorOfHosts is the address where ranks on separate hosts meet, at the first host.
var coordinatorOfHosts = net.JoinHostPort(netns.Address(0), "7777")

// enterNetwork runs the program again in a network namespace, and returns its error.
func enterNetwork(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), insideNetwork+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// makeBridges makes the bridge of all hosts, and the bridge for the hosts that are cut off.
func makeBridges() error {
	return netns.Execute(append(netns.BridgeCommands(0), "ip link add br1 type bridge stp_state 0 mcast_snooping 0", "ip link set br1 up"))
}

// makeHost makes the host of a rank whose process runs already. No other host may send to it
// before.
func makeHost(rank, ranks, pid int) error {
	commands := netns.PortCommands(netns.Link{}, rank, pid)
	for _, c := range netns.HostCommands(netns.Link{}, rank, ranks) {
		commands = append(commands, fmt.Sprintf("nsenter --target %d --net %s", pid, c))
	}
	return netns.Execute(commands)
}

// move moves the hosts of ranks to a bridge.
func move(ranks []int, bridge string) error {
	for _, rank := range ranks {
		if err := netns.Execute([]string{fmt.Sprintf("ip link set %s master %s", netns.Port(rank), bridge)}); err != nil {
			return err
		}
	}
	return nil
}

// runCut starts the ranks, cuts the network, and collects the reports of both parts.
func runCut(ctx context.Context, o *options, transport, work string, random *rand.Rand) (parts []*outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := start(ctx, o, transport, work)
	defer func() {
		cancel()
		waitForEnd(members)
		for rank := range members {
			_ = netns.Execute([]string{"ip link delete " + netns.Port(rank)}) // it may have gone with the host
		}
	}()
	if err != nil {
		return nil, err
	}
	order := random.Perm(o.ranks)
	sides := [][]int{order[:o.atOnce], order[o.atOnce:]}
	slices.Sort(sides[0])
	slices.Sort(sides[1])
	time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment
	at := time.Now()
	if err := move(sides[0], "br1"); err != nil {
		return nil, err
	}
	late := time.AfterFunc(o.patience, cancel) // ends all that hang
	defer late.Stop()
	for i, side := range sides {
		part := &outcome{killed: sides[1-i], at: at}
		for _, rank := range side {
			t, err := members[rank].readTestament(rank)
			if err != nil {
				return nil, err
			}
			part.survivors = append(part.survivors, t)
		}
		parts = append(parts, part)
	}
	return parts, errors.Join(ctx.Err(), move(sides[0], "br0"))
}

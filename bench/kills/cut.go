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

	"github.com/schedgen/schedgen/bench/internal/netns"
)

// With --cut each rank is on a host of its own, a network namespace at a bridge, and the network is cut in
// two: the hosts of one part go to another bridge. Both parts have to name all of the other, and to go on.

// insideNetwork is set in the environment of the program that has a network namespace of its own.
const insideNetwork = "KILLS_NETWORK"

// coordinatorOfHosts is where ranks on hosts of their own meet: at the first one.
var coordinatorOfHosts = net.JoinHostPort(netns.Address(0), "7777")

// enterNetwork runs the program again in a network namespace, and returns how that has ended.
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

// makeBridges makes the network of all hosts, and what takes those of a part.
func makeBridges() error {
	return netns.Execute(append(netns.BridgeCommands(0), "ip link add br1 type bridge stp_state 0 mcast_snooping 0", "ip link set br1 up"))
}

// makeHost makes the host of a rank, of which a process is there already. No other host may send anything to it before.
func makeHost(rank, ranks, pid int) error {
	commands := netns.PortCommands(netns.Link{}, rank, pid)
	for _, c := range netns.HostCommands(netns.Link{}, rank, ranks) {
		commands = append(commands, fmt.Sprintf("nsenter --target %d --net %s", pid, c))
	}
	return netns.Execute(commands)
}

// move has the hosts of ranks be at a bridge.
func move(ranks []int, bridge string) error {
	for _, rank := range ranks {
		if err := netns.Execute([]string{fmt.Sprintf("ip link set %s master %s", netns.Port(rank), bridge)}); err != nil {
			return err
		}
	}
	return nil
}

// runCut starts the ranks, cuts the network, and hears both parts.
func runCut(ctx context.Context, o *options, transport, work string, random *rand.Rand) (parts []*outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := start(ctx, o, transport, work)
	defer func() {
		cancel()
		for rank, m := range members {
			_ = m.in.Close()
			_ = m.cmd.Wait()                                                  // it was killed, or has said what there is to say
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
	time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment of what they do
	at := time.Now()
	if err := move(sides[0], "br1"); err != nil {
		return nil, err
	}
	late := time.AfterFunc(o.patience, cancel) // ends all that hang
	defer late.Stop()
	for i, side := range sides {
		part := &outcome{killed: sides[1-i], at: at}
		for _, rank := range side {
			t, err := members[rank].hear(rank)
			if err != nil {
				return nil, err
			}
			part.survivors = append(part.survivors, t)
		}
		parts = append(parts, part)
	}
	return parts, errors.Join(ctx.Err(), move(sides[0], "br0"))
}

//go:build linux

package kills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/netns"
)

// With --cut each rank is on its own host, a network namespace at a bridge. The network is cut in
// two: the hosts of one part move to another bridge. Each part must name all ranks of the other,
// and continue.

// insideNetwork is set in the environment of the program when it runs in its own network namespace.
const insideNetwork = "KILLS_NETWORK"

// coordinatorOfHosts is the address where ranks on separate hosts meet, at the first host.
var coordinatorOfHosts = net.JoinHostPort(netns.Address(0), "7777")

// enterNetwork runs the command line args again in a network namespace.
func enterNetwork(ctx context.Context, std terminal.Stdio, args []string) error {
	self, err := program.Self(ctx, args[0], args[1:]...)
	if err != nil {
		return err
	}
	self.Env = append(os.Environ(), insideNetwork+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	self.Stdout, self.Stderr = std.Out, std.Err
	return terminal.Ended(self.Run())
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
func runCut(ctx context.Context, v *Verb, transport, work string, random *rand.Rand) (parts []*outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := start(ctx, v, transport, work)
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
	order := random.Perm(v.Ranks)
	sides := [][]int{order[:v.AtOnce], order[v.AtOnce:]}
	slices.Sort(sides[0])
	slices.Sort(sides[1])
	time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment
	at := time.Now()
	if err := move(sides[0], "br1"); err != nil {
		return nil, err
	}
	late := time.AfterFunc(v.Limit, cancel) // ends all that hang
	defer late.Stop()
	for i, side := range sides {
		part := &outcome{killed: sides[1-i], at: at}
		for _, rank := range side {
			t, err := members[rank].readReport(rank)
			if err != nil {
				return nil, err
			}
			part.survivors = append(part.survivors, t)
		}
		parts = append(parts, part)
	}
	return parts, errors.Join(ctx.Err(), move(sides[0], "br0"))
}

//go:build linux

// Package netns is the verb netns of schedlab.
package netns

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/netns"
	"github.com/schedgen/schedgen/network"
)

// Verb runs a command on simulated hosts.
type Verb struct {
	Hosts      *int        `placeholder:"N" help:"Number of hosts, 1 to 250; default 4."`
	Rate       string      `default:"100mbit" placeholder:"RATE" help:"Rate of both ends of each link, in the syntax of tc; empty: unlimited; default 100mbit."`
	Queue      string      `default:"128kb" placeholder:"SIZE" help:"Queue of each end of a link, in the syntax of tc; further bytes are lost; default 128kb."`
	Burst      string      `default:"8kb" placeholder:"SIZE" help:"Burst of each end of a link, in the syntax of tc; default 8kb."`
	Loss       units.Share `placeholder:"SHARE" help:"Share of the frames to each host that are lost, such as 1% or 0.01."`
	RTOMin     int         `name:"rto-min" placeholder:"N" help:"Smallest retransmission timeout of TCP in microseconds; default the system's, 200000."`
	Congestion string      `placeholder:"NAME" help:"TCP's congestion control, such as reno; default the system's."`
	MPI        bool        `name:"mpi" help:"The command is mpirun: run it on host 0 alone; it starts ranks on all hosts."`
	MTU        int         `name:"mtu" default:"1500" help:"Bytes of the longest packet on links of --network, 1280 to 65535; the burst must be longer."`
	Network    string      `placeholder:"FILE" complete:"file" help:"File with a network, whose ranks are the hosts in place of those behind a bridge."`
	Command    []string    `arg:"" help:"Command that runs on each host; it follows --."`

	hosts int
	link  netns.Link
	lab   *netns.Lab // the given network; nil: hosts are behind a bridge
}

// Help is the long help text.
func (Verb) Help() string {
	return `Runs a command on simulated hosts: network namespaces behind one bridge, each with a link of a chosen
rate and loss, or the ranks of a given network. It needs root (or a system that lets users make
namespaces), ip, tc and, for losses, nft.

Host i, from 0, has the address 10.77.0.i+1 on eth0. The command finds i and the number of hosts in
SCHEDGEN_RANK and SCHEDGEN_SIZE. Both ends of each link are shaped with tbf and have their offloads
off. The bridge loses frames, including TCP's, independently for each receiver. The namespaces have no
names and end with the processes.

With --mpi the command is mpirun of Open MPI or MPICH. It runs on host 0 alone and starts ranks on all
hosts, by their addresses. Environment variables make both MPIs start their daemons by this program,
in place of ssh, and use eth0.

With --network the hosts are the ranks of a network in a file, see schedgen network. A namespace
stands for each node, and a veth pair for each link. Both ends of the pair send at the rates and with
the delays of the link's arcs; delays need the kernel's qdisc netem. Packets take the network's own
routes. Rank i has the address 10.77.0.i+1 on lo, which only unicast reaches. The command runs at
ranks alone, and hosts have the names of their ranks.

The exit code is that of the first command that fails, or 2.

Examples:

  schedlab netns --hosts 15 --rate 100mbit --loss 1% -- \
    schedgen rank bcast --coordinator 10.77.0.1:7777 --transport mcast \
    --interface eth0 --size 512KiB --algorithm bcast/mcast-acktree
  schedlab netns --network three-sites.net -- \
    schedgen rank allgather --coordinator 10.77.0.1:7777 --size 512KiB
  schedlab netns --hosts 4 --mpi -- \
    schedgen mpi --engine go --interface eth0 -- \
    mpirun.openmpi --oversubscribe -n 4 \
    --host 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 ./program
  schedlab netns --hosts 2 --mpi -- \
    mpirun.mpich -n 2 -hosts 10.77.0.1,10.77.0.2 ./program`
}

// check returns an error for values that make no sense, and reads the network of --network.
func (v *Verb) check() error {
	v.hosts = 4
	if v.Hosts != nil {
		v.hosts = *v.Hosts
	}
	v.link = netns.Link{Rate: v.Rate, Queue: v.Queue, Burst: v.Burst}
	if v.Network != "" {
		if err := v.readNetwork(); err != nil {
			return err
		}
	}
	switch {
	case v.hosts < 1 || v.hosts > netns.MaxHosts:
		return fmt.Errorf("--hosts=%d: must be in 1..%d", v.hosts, netns.MaxHosts)
	case v.MTU < 1280 || v.MTU > 65535:
		return fmt.Errorf("--mtu=%d: must be in 1280..65535", v.MTU)
	}
	return nil
}

// readNetwork reads the network of --network, which has its own hosts.
func (v *Verb) readNetwork() error {
	for _, flag := range []struct {
		name  string
		given bool
	}{{"hosts", v.Hosts != nil}, {"loss", v.Loss != 0}, {"mpi", v.MPI}} {
		if flag.given {
			return fmt.Errorf("--%s: not with --network", flag.name)
		}
	}
	in, err := os.Open(v.Network)
	if err != nil {
		return err
	}
	defer in.Close() // read only: nothing to lose
	n, err := network.Parse(in)
	if err != nil {
		return fmt.Errorf("%s: %w", v.Network, err)
	}
	if v.lab, err = netns.NewLab(n, v.link, v.MTU); err != nil {
		return fmt.Errorf("%s: %w", v.Network, err)
	}
	v.hosts = v.lab.Ranks()
	return nil
}

// The program runs in three stages: as started by the user, in a namespace for the bridge, and in
// each host's namespace. The switches of a given network are hosts without a command. With --mpi,
// mpirun starts it in place of ssh.
const (
	bridgeVerb = "netns-bridge"
	hostVerb   = "netns-host"
	agentVerb  = "netns-agent"
)

// Run starts the program again in its own network namespace.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio, k *kong.Context) error {
	if err := v.check(); err != nil {
		return err
	}
	cmd, err := stage(ctx, std, bridgeVerb, k.Args[1:], nil)
	if err != nil {
		return err
	}
	if os.Getuid() != 0 {
		root := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = root(os.Getuid()), root(os.Getgid())
	}
	return terminal.Ended(cmd.Run())
}

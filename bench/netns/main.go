//go:build linux

// Command netns runs a command on simulated hosts: network namespaces behind one bridge, each with
// a link of a chosen rate and loss, or the ranks of a given network. It needs root (or a system
// that lets users make namespaces), ip, tc and, for losses, nft.
//
//	go build -o /tmp/schedgen ./cmd/schedgen
//	go run ./bench/netns --hosts 15 --rate 100mbit --loss 0.01 -- \
//	    /tmp/schedgen rank bcast --coordinator 10.77.0.1:7777 --transport mcast --interface eth0 --size 512KiB --algorithm bcast/mcast-acktree
//
// Host i, from 0, has the address 10.77.0.i+1 on eth0. The command finds i and the number of hosts
// in SCHEDGEN_RANK and SCHEDGEN_SIZE. Both ends of each link are shaped with tbf and have their
// offloads off. The bridge loses frames, including TCP's, independently for each receiver. The
// namespaces have no names and end with the processes.
//
// With --mpi the command is mpirun of Open MPI or MPICH. It runs on host 0 alone and starts ranks
// on all hosts, by their addresses:
//
//	go build -o /tmp/netns ./bench/netns
//	/tmp/netns --hosts 4 --mpi -- /tmp/schedgen mpi --engine go --interface eth0 -- \
//	    mpirun.openmpi --oversubscribe -n 8 --host 10.77.0.1:2,10.77.0.2:2,10.77.0.3:2,10.77.0.4:2 ./program
//	/tmp/netns --hosts 4 --mpi -- mpirun.mpich -n 4 -hosts 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 ./program
//
// Environment variables make both MPIs start their daemons by this program, in place of ssh, and
// use eth0.
//
// With --network the hosts are the ranks of a network in a file (see package network):
//
//	go run ./bench/netns --network bench/links/testdata/three-sites.net -- \
//	    /tmp/schedgen rank allgather --coordinator 10.77.0.1:7777 --transport tcp --size 512KiB
//
// A namespace stands for each node, and a veth pair for each link. Both ends of the pair send at
// the rates and with the delays of the link's arcs; delays need the kernel's qdisc netem. Packets
// take the network's own routes. Rank i has the address 10.77.0.i+1 on lo, which only unicast
// reaches. The command runs at ranks alone, and hosts have the names of their ranks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/schedgen/schedgen/internal/netns"
	"github.com/schedgen/schedgen/network"
)

// options are the values of the flags.
type options struct {
	hosts   int
	link    netns.Link
	loss    float64
	rtoMin  int        // microseconds; 0: the system's default
	control string     // TCP's congestion control; "": the system's default
	mpi     bool       // the command is mpirun
	lab     *netns.Lab // the given network; nil: hosts are behind a bridge
	command []string
}

func parse(args []string) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("netns", flag.ContinueOnError)
	f.IntVar(&o.hosts, "hosts", 4, "number of hosts, 1 to 250")
	f.StringVar(&o.link.Rate, "rate", "100mbit", "rate of both ends of each link, in the syntax of tc; empty: unlimited")
	f.StringVar(&o.link.Queue, "queue", "128kb", "queue of each end of a link, in the syntax of tc; further bytes are lost")
	f.StringVar(&o.link.Burst, "burst", "8kb", "burst of each end of a link, in the syntax of tc")
	f.Float64Var(&o.loss, "loss", 0, "probability with which the bridge drops a frame to a host")
	f.IntVar(&o.rtoMin, "rto-min", 0, "smallest retransmission timeout of TCP in microseconds; 0: the system's default, 200000")
	f.StringVar(&o.control, "congestion", "", "TCP's congestion control, such as reno; empty: the system's default")
	f.BoolVar(&o.mpi, "mpi", false, "the command is mpirun: run it on host 0 alone; it starts ranks on all hosts")
	mtu := f.Int("mtu", 1500, "bytes of the longest packet on links of --network, 1280 to 65535; the burst must be longer")
	file := f.String("network", "", "`file` with a network, whose ranks are the hosts in place of those behind a bridge")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = f.Args()
	if *file != "" {
		if err := o.readNetwork(*file, *mtu, f); err != nil {
			return nil, err
		}
	}
	switch {
	case o.hosts < 1 || o.hosts > netns.MaxHosts:
		return nil, fmt.Errorf("--hosts=%d: must be in 1..%d", o.hosts, netns.MaxHosts)
	case *mtu < 1280 || *mtu > 65535:
		return nil, fmt.Errorf("--mtu=%d: must be in 1280..65535", *mtu)
	case !(o.loss >= 0 && o.loss <= 1):
		return nil, fmt.Errorf("--loss=%v: must be a probability, 0 to 1", o.loss)
	case len(o.command) == 0:
		return nil, errors.New("a command is needed, behind --")
	}
	return o, nil
}

// readNetwork reads the network of --network. It refuses the flags of f that the network replaces.
func (o *options) readNetwork(name string, mtu int, f *flag.FlagSet) error {
	var err error
	f.Visit(func(g *flag.Flag) {
		if slices.Contains([]string{"hosts", "rate", "loss", "mpi"}, g.Name) {
			err = fmt.Errorf("--%s: not with --network", g.Name)
		}
	})
	if err != nil {
		return err
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close() // read only: nothing to lose
	n, err := network.Parse(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if o.lab, err = netns.NewLab(n, o.link, mtu); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.hosts = o.lab.Ranks()
	return nil
}

// The program runs in three stages: as started by the user, in a namespace for the bridge, and in each
// host's namespace. The switches of a given network are hosts without a command. With --mpi, mpirun starts it in place of ssh.
const stageVar = "SCHEDGEN_NETNS_STAGE"

func main() {
	var err error
	switch os.Getenv(stageVar) {
	case "":
		err = outside(os.Args[1:])
	case "bridge":
		err = bridge(os.Args[1:])
	case "host":
		err = host(os.Args[1:])
	case "agent":
		err = agent(os.Args[1:])
	}
	if err == nil {
		return
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode()) // it has printed why
	}
	fmt.Fprintln(os.Stderr, "netns:", err)
	os.Exit(2)
}

// outside starts the program again in its own network namespace.
func outside(args []string) error {
	if _, err := parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := stage(ctx, "bridge", args, nil)
	if os.Getuid() != 0 {
		root := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = root(os.Getuid()), root(os.Getgid())
	}
	return cmd.Run()
}

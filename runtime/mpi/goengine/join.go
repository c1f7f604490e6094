//go:build cgo

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/launch"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/mpi"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// patience is how long ranks take to meet at most: all of them are there and call join.
const patience = 30 * time.Second

// join makes a communicator of ranks that meet where rank 0, which has a listener, waits.
func join(rank, size int, where, network string, l net.Listener, meanwhile func()) (*runtime.Comm, error) {
	key, encrypt, err := launch.Key(os.Getenv)
	if err != nil {
		return nil, err
	}
	coordinator, job, _ := strings.Cut(where, " ")
	cfg := tcp.Config{Rank: rank, Size: size, Job: job, Key: key, Encrypt: encrypt, Coordinator: coordinator, Listener: l}
	late := fmt.Errorf("the ranks have not met within %v: %w", patience, context.DeadlineExceeded)
	ctx, stop := clock.WithTimeoutCause(context.Background(), clock.System{}, patience, late)
	defer stop()
	transport, err := connect(ctx, cfg, network)
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d: %w", rank, size, err)
	}
	return runtime.Join(ctx, runtime.Config{
		Transport: transport,
		Silence:   -1, // a rank that is stopped is not lost: what dies is the MPI's to notice
		Meanwhile: meanwhile,
	})
}

// connect makes the transport: shared memory within a host and TCP between hosts, or what SCHEDGEN_TRANSPORT says.
func connect(ctx context.Context, cfg tcp.Config, network string) (wire.Transport, error) {
	switch name := os.Getenv("SCHEDGEN_TRANSPORT"); name {
	case "tcp":
		return tcp.Join(ctx, cfg)
	case "", "auto", "hybrid":
		h := hybrid.Config{TCP: cfg}
		if network != "" {
			h.Mcast = &mcast.Config{Interface: network}
		}
		return hybrid.Join(ctx, h)
	default:
		return nil, fmt.Errorf("SCHEDGEN_TRANSPORT is %q, want auto, hybrid or tcp", name)
	}
}

// addressesOf returns the addresses by which other hosts may reach this one: those of one network interface, or of all.
func addressesOf(network string) ([]string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, i := range interfaces {
		if network != "" && i.Name != network || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 && i.Name != network {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.Name, err)
		}
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() {
				all = append(all, ip.IP.String())
			}
		}
	}
	if len(all) == 0 && network != "" {
		return nil, fmt.Errorf("there is no network interface %s that is up and has an address", network)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("this host has no address by which others reach it")
	}
	return all, nil
}

// names are those of the collectives whose blocks all have the same length.
var names = [...]string{
	mpi.Barrier: "barrier", mpi.Bcast: "bcast", mpi.Reduce: "reduce", mpi.Allreduce: "allreduce", mpi.ReduceScatter: "reduce-scatter",
	mpi.Scan: "scan", mpi.Exscan: "exscan", mpi.Allgather: "allgather", mpi.Gather: "gather", mpi.Scatter: "scatter", mpi.Alltoall: "alltoall",
}

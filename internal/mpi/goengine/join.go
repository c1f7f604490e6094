//go:build cgo

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/launch"
	"github.com/schedgen/schedgen/internal/transport"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/schedule/selection"
)

// patience is how long ranks may take to meet. All ranks call join at about the same time.
const patience = 30 * time.Second

// errStopped says that joining was given up because another rank could not join.
var errStopped = errors.New("another rank could not join")

// member is a rank that joins.
type member struct {
	rank, size     int
	where, network string       // where rank 0 listens, and the network interface of this host
	listener       net.Listener // of rank 0
	rules          *selection.Rules
	collectives    bool // the program's collectives come here, and may be left to the MPI
	meanwhile      func()
	message        int // the greatest rootless message in bytes; 0: the default
}

// joinUnless joins, but gives up with errStopped when stop returns true. It calls stop on the
// caller's own thread, because MPI may not be called on another. If joining takes longer than
// notice, it reports what it waits for.
func joinUnless(stop func() bool, m member) (*runtime.Comm, error) {
	type outcome struct {
		comm *runtime.Comm
		err  error
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var here atomic.Bool // calls wait now, instead of the goroutine that joins
	joined, meanwhile := make(chan outcome, 1), m.meanwhile
	m.meanwhile = func() {
		if here.Load() {
			meanwhile()
		}
	}
	go func() {
		comm, err := m.join(ctx)
		joined <- outcome{comm, err}
	}()
	ask, late := make(chan struct{}, 1), make(chan struct{}, 1)
	again := clock.System{}.AfterFunc(askAgain, func() { ask <- struct{}{} })
	defer again.Stop()
	defer clock.System{}.AfterFunc(notice, func() { late <- struct{}{} }).Stop()
	for {
		select {
		case o := <-joined:
			here.Store(true)
			if o.err != nil && errors.Is(context.Cause(ctx), errStopped) {
				o.err = errStopped
			}
			return o.comm, o.err
		case <-late:
			complain(fmt.Errorf("rank %d of %d waits for other ranks to join engine go", m.rank, m.size))
		case <-ask:
			if stop() {
				cancel(errStopped)
			}
			again.Reset(askAgain)
		}
	}
}

const (
	askAgain = 2 * time.Millisecond
	notice   = 2 * time.Second
)

// join creates a communicator of ranks that meet where rank 0 listens.
func (m member) join(ctx context.Context) (*runtime.Comm, error) {
	name, err := launch.Transport(os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d: %w", m.rank, m.size, err)
	}
	key, encrypt, err := launch.Key(os.Getenv)
	if err != nil {
		return nil, err
	}
	var delay runtime.DelayPolicy
	if err := delay.UnmarshalText([]byte(cmp.Or(os.Getenv("SCHEDGEN_MPI_DELAY"), "none"))); err != nil {
		return nil, fmt.Errorf("rank %d of %d: SCHEDGEN_MPI_DELAY: %w", m.rank, m.size, err)
	}
	coordinator, job, _ := strings.Cut(m.where, " ")
	cfg := tcp.Config{Rank: m.rank, Size: m.size, Job: job, Key: key, Encrypt: encrypt, Coordinator: coordinator, Listener: m.listener}
	late := fmt.Errorf("the ranks have not met within %v: %w", patience, context.DeadlineExceeded)
	ctx, stop := clock.WithTimeoutCause(ctx, clock.System{}, patience, late)
	defer stop()
	to := transport.Config{TCP: cfg, Verbs: verbs.Config{Device: os.Getenv("SCHEDGEN_DEVICE")}, Memory: true}
	if m.network != "" {
		to.Mcast = &mcast.Config{Interface: m.network}
	}
	t, err := transport.Open(ctx, name, to)
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d: %w", m.rank, m.size, err)
	}
	learn := ""
	if m.collectives {
		learn = learnsTo()
	}
	return runtime.Join(ctx, runtime.Config{
		Transport:  t,
		Rules:      m.rules,
		Learn:      learn,
		MPI:        m.collectives,
		Delay:      delay,
		Silence:    -1, // a stopped rank is not lost: the MPI detects dead ranks
		Meanwhile:  m.meanwhile,
		MaxMessage: m.message,
	})
}

// learnsTo returns the file of SCHEDGEN_LEARN for the first communicator that this process joins, which
// is mostly that of all ranks. Further ones learn, but keep nothing.
func learnsTo() string {
	file := os.Getenv("SCHEDGEN_LEARN")
	if file == "" || !keeps.Swap(true) {
		return file
	}
	return os.DevNull
}

// keeps says that a communicator writes the file of SCHEDGEN_LEARN.
var keeps atomic.Bool

// rulesOf returns the rules in a file, or the built-in ones if it has no name.
func rulesOf(file string) (*selection.Rules, error) {
	if file == "" || file == selection.BuiltIn {
		return selection.Builtin(), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, selection.MaxFile+1)) // Parse refuses longer ones
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	rules, err := selection.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rules, nil
}

// addressesOf returns the addresses of one network interface, or of all, by which other hosts may
// reach this one.
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

//go:build linux

package cast

import (
	"fmt"
	goruntime "runtime"
	"strconv"
	"syscall"

	"github.com/schedgen/schedgen/internal/test/netns"
)

// host is a thread in its own network namespace. The processes that it starts are in the namespace,
// too.
type host struct {
	work   chan func()
	thread int
}

func newHost() (*host, error) {
	h := &host{work: make(chan func())}
	made := make(chan error)
	go func() {
		goruntime.LockOSThread() // for ever: nothing else may run in this namespace
		err := syscall.Unshare(syscall.CLONE_NEWNET)
		h.thread = syscall.Gettid()
		made <- err
		if err != nil {
			return
		}
		for f := range h.work {
			f()
		}
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	return h, nil
}

// within calls a function in the host's namespace.
func (h *host) within(f func() error) error {
	result := make(chan error, 1)
	h.work <- func() { result <- f() }
	return <-result
}

// newNetwork makes the hosts of a cell. Host 0 is the sender.
func newNetwork(c cell) ([]*host, error) {
	if err := netns.Execute(netns.BridgeCommands(float64(c.PerMille) / 1000)); err != nil {
		return nil, err
	}
	hosts := make([]*host, c.Hosts+1)
	for i := range hosts {
		h, err := newHost()
		if err == nil {
			err = h.connect(i, len(hosts), linkOf(c.rateOf(i)))
		}
		if err != nil {
			return nil, fmt.Errorf("host %d: %w", i, err)
		}
		hosts[i] = h
	}
	return hosts, nil
}

// connect makes the link of the host, which has number i of n.
func (h *host) connect(i, n int, l netns.Link) error {
	if err := netns.Execute(netns.PortCommands(l, i, h.thread)); err != nil {
		return err
	}
	if err := netns.OffloadsOff(netns.Port(i)); err != nil {
		return err
	}
	return h.within(func() error {
		if err := netns.Execute(netns.HostCommands(l, i, n)); err != nil {
			return err
		}
		return netns.OffloadsOff("eth0")
	})
}

// linkOf returns the parameters of a link of a rate. Its queue has 128 KiB, as a small switch has
// for each port. Its burst is the traffic of a millisecond, and at least 32 KiB: timers fill the
// system's token bucket, and they are late when cores are busy.
func linkOf(rate int64) netns.Link {
	if rate == 0 {
		return netns.Link{}
	}
	return netns.Link{Rate: fmt.Sprintf("%dbit", rate), Queue: "128kb", Burst: strconv.FormatInt(max(32<<10, rate/8/1000), 10)}
}

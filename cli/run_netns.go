package cli

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/runtime/mcast"
)

// madeUp returns the number of hosts to simulate by network namespaces, or 0.
func (f *runFlags) madeUp() int {
	if f.Netns == nil {
		return 0
	}
	return *f.Netns
}

// fitsMadeUp checks the flags of simulated hosts.
func (f *runFlags) fitsMadeUp() error {
	if f.Netns == nil {
		return nil
	}
	ranks, err := f.ranks()
	switch {
	case err != nil:
		return err
	case *f.Netns < 1 || *f.Netns > ranks:
		return fmt.Errorf("--netns=%d: must be in 1..%d, the number of ranks", *f.Netns, ranks)
	case f.memory():
		return fmt.Errorf("--netns: %s does not reach other hosts", f.Transport)
	case f.Coordinator != "" || f.Interface != "" || f.IPv6:
		return errors.New("--netns: not with --coordinator, --interface or --ipv6: the simulated hosts have their own addresses and interfaces")
	}
	return nil
}

// The network interface of simulated hosts.
const (
	madeUpInterface = "eth0"
	madeUpDatagram  = 1424 // payload of a datagram in bytes
)

// madeUpLink completes the link between simulated hosts, on which multicast works.
func (f *runFlags) madeUpLink(l crew.Link) (crew.Link, int, error) {
	l.Coordinator = crew.HostsCoordinator
	switch {
	case f.Transport == overTCP, f.Transport == overHybrid && f.Loss == nil:
		return l, 0, nil
	case f.Transport != overMcast:
		l.Transport = overHybrid
	}
	l.Interface = madeUpInterface
	if len(l.Key) > 0 {
		return l, madeUpDatagram - mcast.SealBytes, nil
	}
	return l, madeUpDatagram, nil
}

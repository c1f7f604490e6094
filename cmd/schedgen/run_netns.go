package main

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/mcast"
)

// madeUp returns how many hosts are to be made up.
func (f *runFlags) madeUp() int {
	if f.Netns == nil {
		return 0
	}
	return *f.Netns
}

// fitsMadeUp checks the flags of hosts that are made up.
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
		return errors.New("--netns: goes without --coordinator, --interface and --ipv6: they are those of the hosts that it makes up")
	}
	return nil
}

// What the hosts have that are made up.
const (
	madeUpInterface = "eth0"
	madeUpDatagram  = 1424 // payload bytes
)

// madeUpLink completes the link between hosts that are made up: multicast works
// there.
func (f *runFlags) madeUpLink(l link) (link, int, error) {
	l.Coordinator = madeUpCoordinator
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

package main

import (
	"context"
	"errors"

	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

// fitsVerbs checks the flags that concern the transport verbs.
func (f *runFlags) fitsVerbs() error {
	switch {
	case f.Transport != overVerbs && f.Device != "":
		return errors.New("--device: is for --transport=verbs")
	case f.Transport != overVerbs:
		return nil
	case f.Interface != "":
		return errors.New("--interface: transport verbs takes --device instead")
	case f.Netns != nil:
		return errors.New("--netns: simulated hosts have no RDMA device")
	}
	return nil
}

// openVerbs connects a rank with the others.
func (l *link) openVerbs(ctx context.Context, puts tcp.Config) (*verbs.Transport, error) {
	return verbs.Join(ctx, verbs.Config{TCP: puts, Device: l.Device, Loss: l.Loss, Seed: l.Seed})
}

// tryVerbs tests the port with a single rank. It returns the number of bytes of a message that fit
// into a datagram, or 0 if the device does not multicast. The error for a missing port does not
// mention ranks.
func (l *link) tryVerbs(ctx context.Context) (datagram int, err error) {
	if err := verbs.Check(verbs.Config{Device: l.Device}); err != nil {
		return 0, err
	}
	t, err := l.openVerbs(ctx, tcp.Config{Size: 1, Key: l.Key, Encrypt: l.Encrypt})
	if err != nil {
		return 0, err
	}
	return t.Caps().Datagram, t.Close(true, 0)
}

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
		return errors.New("--interface: verbs multicasts on a --device")
	case f.Netns != nil:
		return errors.New("--netns: hosts that are made up have no RDMA device")
	}
	return nil
}

// openVerbs connects a rank with the others.
func (l *link) openVerbs(ctx context.Context, puts tcp.Config) (*verbs.Transport, error) {
	return verbs.Join(ctx, verbs.Config{TCP: puts, Device: l.Device, Loss: l.Loss, Seed: l.Seed})
}

// tryVerbs has one rank alone open the port, and returns the bytes of a message that fit
// into a datagram. That there is no port it says without a word of ranks.
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

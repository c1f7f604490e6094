package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	_, _, err := devicePort(f.Device)
	return err
}

// devicePort splits NAME or NAME:PORT.
func devicePort(text string) (name string, port int, err error) {
	name, number, found := strings.Cut(text, ":")
	if found {
		if port, err = strconv.Atoi(number); err != nil || port < 1 {
			return "", 0, fmt.Errorf("--device=%s: must be NAME or NAME:PORT, such as mlx5_0:1", text)
		}
	}
	return name, port, nil
}

// verbs adds to how the ranks meet by which port they send.
func (l *link) verbs(puts tcp.Config) (verbs.Config, error) {
	name, port, err := devicePort(l.Device)
	return verbs.Config{TCP: puts, Device: name, Port: port, Loss: l.Loss, Seed: l.Seed}, err
}

// openVerbs connects a rank with the others.
func (l *link) openVerbs(ctx context.Context, puts tcp.Config) (*verbs.Transport, error) {
	cfg, err := l.verbs(puts)
	if err != nil {
		return nil, err
	}
	return verbs.Join(ctx, cfg)
}

// tryVerbs has one rank alone open the port, and returns the bytes of a message that fit
// into a datagram.
func (l *link) tryVerbs(ctx context.Context) (datagram int, err error) {
	t, err := l.openVerbs(ctx, tcp.Config{Size: 1, Key: l.Key, Encrypt: l.Encrypt})
	if err != nil {
		return 0, err
	}
	return t.Caps().Datagram, t.Close(true, 0)
}

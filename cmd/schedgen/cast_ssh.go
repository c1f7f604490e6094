package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"strings"

	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/runtime/lobby"
)

// keyLen is the length of a key that is drawn for one cast, in bytes.
const keyLen = 32

// overSSH sends to hosts on which it starts receivers.
func (c *castCmd) overSSH(ctx context.Context, hosts []string, p *castPlan, std stdio) (err error) {
	program, err := remote.Self("schedgen", []string{"guest"}, releaseLine())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, program.Close()) }()
	if c.DryRun {
		return c.rehearse(ctx, hosts, program, p, std)
	}
	key, err := c.drawn(std.Getenv)
	if err != nil {
		return err
	}
	own, err := ownAddresses()
	if err != nil {
		return failed(err)
	}
	l, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	here := l.Addr().(*net.TCPAddr).AddrPort()
	start := &castStart{
		program: program, ssh: c.SSH, strict: c.Strict, order: castOrder{Key: key.Key, To: c.To, Exec: c.Exec, Resume: c.Resume},
		at: castAddresses{netip.AddrPortFrom(here.Addr().Unmap(), here.Port()), own},
	}
	out, err := c.lead(ctx, l, key, hosts, start, p, std)
	if out == nil {
		return failed(err)
	}
	return out.finish(ctx, std, c.JSON, err)
}

// lead starts the receivers, sends, and returns how it has ended at all of them, nil if ctx has ended before it began.
func (c *castCmd) lead(outer context.Context, l *net.TCPListener, key secret, hosts []string, start *castStart, p *castPlan, std stdio) (*castOutcome, error) {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	crew := startCrew(ctx, stop, hosts, start, newCastLines(std, c.JSON))
	out, err := c.serve(ctx, l, key, crew.guests(), p, std)
	nobody := errors.Is(err, lobby.ErrNobody)
	switch {
	case nobody:
		stop(errLate)
	case out == nil:
		stop(err)
	}
	crew.end()
	switch {
	case out == nil && outer.Err() != nil:
		return nil, err
	case out == nil:
		out = newCastOutcome(p, "", 0, 0, nil)
	}
	if nobody {
		err = nil // each host says why
	}
	crew.complete(out)
	return out, err
}

// drawn is the key that is given, else one for this cast alone.
func (c *castCmd) drawn(getenv func(string) string) (secret, error) {
	key, err := c.secret(getenv)
	if err == nil && len(key.Key) == 0 {
		key = secret{Key: make([]byte, keyLen), Encrypt: true}
		rand.Read(key.Key) // never fails
	}
	return key, err
}

// releaseLine is what the program says of its version if that says what it is made of, else "".
func releaseLine() string {
	line := versionLine(buildInfo())
	for _, word := range []string{"(devel)", "modified", "dirty"} {
		if strings.Contains(line, word) {
			return ""
		}
	}
	return line
}

package cast

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/meet/lobby"
)

// keyLen is the length of a random key for one cast, in bytes.
const keyLen = 32

// HostOptions say how To starts receivers on hosts, and how it sends to them.
type HostOptions struct {
	Options
	Programs *remote.Programs // programs that run on the hosts and call [Guest]
	SSH      remote.Config    // how hosts are reached; To sets Said
	To       string           // directory for files; a relative path starts at the home directory
	Exec     string           // shell command that reads a stream from its standard input, in directory To
	Delete   int              // greatest number of entries that a host deletes, if the origin deletes
	Then     string           // shell command that runs in directory To of a host once the host has all files
	// Call is the TCP port of receivers that stand on the hosts ([Stand]). If it is "", ssh starts
	// the receivers. Receivers that stand have their own directory and commands, and must have the
	// same key.
	Call string
}

// To starts receivers on hosts by ssh, and sends the payload to them. The receivers connect to l,
// which To leaves open. If o has no key, To draws a random one. The result is nil if To fails
// before it starts receivers, or if ctx ends before the cast begins. If no receiver comes, the
// error is nil. A result with an error means that the cast ended early. The failure of a receiver
// is not an error; the result holds its reason.
func To(ctx context.Context, l *net.TCPListener, hosts []string, p *Payload, o HostOptions) (*Result, error) {
	if len(o.Key) == 0 {
		if o.Call != "" {
			return nil, errNoKey
		}
		o.Key = make([]byte, keyLen)
		rand.Read(o.Key) // never fails
	}
	own, err := ownAddresses()
	if err != nil {
		return nil, err
	}
	here := l.Addr().(*net.TCPAddr).AddrPort()
	start := &launch{
		programs: o.Programs, ssh: o.SSH, strict: o.Strict, call: o.Call,
		order: order{Key: o.Key, To: o.To, Exec: o.Exec, Then: o.Then, Resume: o.Resume, Accept: p.accept(), Delete: o.Delete, Compare: o.Compare},
		at:    addresses{netip.AddrPortFrom(here.Addr().Unmap(), here.Port()), own},
	}
	return lead(ctx, l, hosts, start, p, &o.Options)
}

// lead starts the receivers and sends. The result is nil if ctx ends before the cast begins.
func lead(outer context.Context, l *net.TCPListener, hosts []string, start *launch, p *Payload, o *Options) (*Result, error) {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	events := newEvents(o.Events)
	crew := startCrew(ctx, stop, hosts, start, events)
	out, err := serve(ctx, l, crew.awaited(), p, o, events)
	nobody := errors.Is(err, lobby.ErrNobody)
	switch {
	case nobody:
		stop(errLate)
	case out == nil:
		stop(err)
	}
	late, over := context.WithCancel(context.WithoutCancel(ctx))
	var turning sync.WaitGroup
	turning.Go(func() { turnAway(late, l, o.lobby()) })
	crew.awaitEnd(out.done())
	over()
	turning.Wait()
	switch {
	case out == nil && outer.Err() != nil:
		return nil, err
	case out == nil:
		out = newResult(p, "", 0, 0, nil)
		out.began = time.Now()
	}
	if nobody {
		err = nil // each host says why
	}
	crew.complete(out)
	out.Setup, out.Total = crew.setup(out.began), time.Since(crew.began).Seconds()
	if err != nil {
		out.Error = err.Error()
	}
	return out, err
}

// turnAway tells receivers that come to l after the cast that it is over, until ctx ends. Such a
// receiver was parted from the sender and would wait for a place, while the sender waits for its
// end.
func turnAway(ctx context.Context, l *net.TCPListener, c lobby.Config) {
	for ctx.Err() == nil {
		in, err := lobby.Open(l, c)
		if err != nil {
			return
		}
		here, come := context.WithCancel(ctx)
		_, _ = in.Host(here, lobby.Reception{Want: lobby.NewCount(MaxReceivers), Came: func(int) { come() }})
		gone := here.Err() == nil // l accepts no more
		come()
		in.Close(wordsOver)
		if gone {
			return
		}
	}
}

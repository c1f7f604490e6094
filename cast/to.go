package cast

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/runtime/lobby"
)

// keyLen is the length of a key that is drawn for one cast, in bytes.
const keyLen = 32

// HostOptions say how To starts receivers on hosts, and how it sends to them.
type HostOptions struct {
	Options
	Programs *remote.Programs // what runs on the hosts; see [Guest] for what it does
	SSH      remote.Config    // how hosts are reached; Said is not used
	To       string           // directory for files; a relative one is below the home
	Exec     string           // shell command that reads a stream from its standard input, in directory To
	Delete   int              // with an origin that deletes: entries that a host deletes at most
	Then     string           // shell command that runs in directory To of a host as soon as that has all files
	// Call is the TCP port of receivers that stand on the hosts ([Stand]) and are called; "" starts
	// receivers by ssh. Called receivers have a directory, commands and the key of their own.
	Call string
}

// To sends the payload to hosts, on which it starts receivers by ssh. It listens for them at l,
// which it leaves open. If o has no key, To draws one. A nil result says that the cast has not
// begun; a result with an error, that it has ended early. A receiver that fails is an error in
// neither case: the result has its reason.
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

// lead starts the receivers and sends. The result is nil if ctx has ended before it began.
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
	crew.end(out.done())
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

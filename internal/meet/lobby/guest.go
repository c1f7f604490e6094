package lobby

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/ir"
)

// pauseFraction is the fraction of its waiting time so far after which a guest looks again for the
// host.
const pauseFraction = 20

// errSilent says that the process at the host's address has said nothing.
var errSilent = errors.New("the process there accepts connections, but has not answered")

// errOther says that the process at the host's address is not a host.
var errOther = errors.New("another program answers there")

// Seat is a guest's place, with the connection by which the host knows that the guest lives.
type Seat struct {
	Place
	// Here is the address of this host from which it has reached the lobby.
	Here net.Addr
	conn net.Conn
	talk net.Conn
}

// Met tells the host that this guest has met the others, and hangs up. If the host cannot be told,
// it has ended its meeting.
func (s *Seat) Met() {
	s.conn.SetDeadline(time.Now().Add(contact.FarewellTime))
	_, _ = s.talk.Write([]byte{met})
	s.conn.Close()
}

// Leave hangs up. If the guest has not met the others, it counts as gone.
func (s *Seat) Leave() { s.conn.Close() }

// Enter enters the lobby at "host:port" as g, and returns the guest's place. It waits for the host
// and for the place, until ctx ends. The caller then joins the other ranks, calls Met if it has
// joined, and always calls Leave.
func Enter(ctx context.Context, addr string, g Guest, c Config) (*Seat, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	s, err := enter(ctx, addr, &g, &c)
	if err != nil {
		return nil, wrap(err)
	}
	return s, nil
}

func enter(ctx context.Context, addr string, g *Guest, c *Config) (*Seat, error) {
	credentials, err := contact.NewCredentials(c.Key, c.Encrypt)
	if err != nil {
		return nil, err
	}
	switch {
	case len(g.Name) > MaxName:
		return nil, fmt.Errorf("a name of %d bytes, at most %d are allowed", len(g.Name), MaxName)
	case len(g.Word) > MaxWord:
		return nil, fmt.Errorf("a word of %d bytes, at most %d are allowed", len(g.Word), MaxWord)
	}
	news := c.News
	if news == nil {
		news = func(error) {}
	}
	system := clock.OrSystem(c.Clock)
	network := &contact.TCP{Clock: system, Resolver: net.DefaultResolver, Limit: contact.DialLimit}
	for began := system.Now(); ; {
		seat, err := enterOnce(ctx, network, &credentials, addr, g, news)
		if err != nil && ctx.Err() == nil {
			news(err)
		}
		if err == nil || errors.As(err, new(*Refusal)) || contact.IsFinal(err) {
			return seat, err
		}
		past := system.Now().Sub(began)
		if c.Patience > 0 && (past > c.Patience || errors.Is(err, syscall.ECONNREFUSED)) {
			return nil, fmt.Errorf("no place at %s: %w", addr, err)
		}
		pause := min(max(past/pauseFraction, contact.FirstPause), contact.LastPause)
		if late := clock.Sleep(ctx, system, pause); late != nil {
			return nil, fmt.Errorf("no place at %s: %w (%w)", addr, late, err)
		}
	}
}

// Refusal is the error of a host that gives no place.
type Refusal struct{ why string }

func (e *Refusal) Error() string { return "the host says: " + e.why }

// enterOnce makes one attempt to enter. It tells news when something accepts the connection, and
// when the host has let this guest in.
func enterOnce(ctx context.Context, network *contact.TCP, credentials *contact.Credentials, addr string, g *Guest, news func(error)) (seat *Seat, err error) {
	conn, err := network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	contact.WatchOver(conn)
	news(errSilent)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(contact.LongAgo) })
	defer stop()
	talk, err := credentials.Introduce(conn, "the host")
	if errors.As(err, new(*contact.LengthError)) {
		return nil, errOther
	}
	if err != nil {
		return nil, err
	}
	if _, err := talk.Write(appendGuest(nil, g)); err != nil {
		return nil, fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	p, err := readPlace(bufio.NewReader(talk), talk, func() { news(nil) })
	if err != nil {
		return nil, err
	}
	return &Seat{*p, conn.LocalAddr(), conn, talk}, nil
}

// readPlace waits for the host's answer, and confirms each probe before it on w. It calls letIn
// when the host has let this guest in.
func readPlace(r *bufio.Reader, w io.Writer, letIn func()) (*Place, error) {
	for {
		rank, size, err := readAnswerHead(r)
		switch {
		case err != nil:
			return nil, err
		case rank == welcome:
			letIn()
		case rank == noRank:
			err = takeProbe(r, w, size)
		case size > ir.MaxRanks || rank < 1 || rank >= size:
			return nil, &contact.FinalError{Err: fmt.Errorf("the host says rank %d of %d", rank, size)}
		default:
			return readPlaceTexts(r, &Place{Rank: int(rank), Size: int(size)})
		}
		if err != nil {
			return nil, err
		}
	}
}

// takeProbe reads a probe of n bytes and confirms it.
func takeProbe(r *bufio.Reader, w io.Writer, n uint32) error {
	if n > maxProbe {
		return &contact.FinalError{Err: fmt.Errorf("the host sends a probe of %d bytes", n)}
	}
	if _, err := r.Discard(int(n)); err != nil {
		return fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	if _, err := w.Write([]byte{heard}); err != nil {
		return fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	return nil
}

package meet

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
)

// patience is the fraction of its waiting time so far after which a guest looks again for the host.
const patience = 20

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
	s.conn.SetDeadline(time.Now().Add(farewellTime))
	_, _ = s.talk.Write([]byte{met})
	s.conn.Close()
}

// Leave hangs up. If the guest has not met the others, it counts as gone.
func (s *Seat) Leave() { s.conn.Close() }

// Enter enters the lobby at "host:port" as g, and waits for a place, until ctx ends. The host may
// come later than the guest, unless c.Patience says otherwise. The caller must leave the seat.
func (c *Admission) Enter(ctx context.Context, addr string, g Guest) (*Seat, error) {
	m, err := seal.ModeOf(c.Key, c.Encrypt)
	if err != nil {
		return nil, err
	}
	switch {
	case len(g.Name) > MaxName:
		return nil, fmt.Errorf("a name of %d bytes, at most %d are allowed", len(g.Name), MaxName)
	case len(g.Word) > MaxWord:
		return nil, fmt.Errorf("a word of %d bytes, at most %d are allowed", len(g.Word), MaxWord)
	}
	cfg := Config{Key: c.Key, Encrypt: c.Encrypt, Clock: clock.OrSystem(c.Clock), mode: m}
	network := &tcpNetwork{clock: cfg.Clock, resolver: net.DefaultResolver, limit: dialLimit}
	for began := cfg.Clock.Now(); ; {
		seat, err := c.enterOnce(ctx, &cfg, network, addr, &g)
		if err != nil && ctx.Err() == nil {
			c.tell(err)
		}
		if err == nil || errors.As(err, new(*Refusal)) || errors.As(err, new(*brokenError)) || hopeless(err) {
			return seat, err
		}
		past := cfg.Clock.Now().Sub(began)
		if c.Patience > 0 && (past > c.Patience || errors.Is(err, syscall.ECONNREFUSED)) {
			return nil, fmt.Errorf("no place at %s: %w", addr, err)
		}
		pause := past / patience
		if late := clock.Sleep(ctx, cfg.Clock, min(max(pause, firstPause), lastPause)); late != nil {
			return nil, fmt.Errorf("no place at %s: %w (%w)", addr, late, err)
		}
	}
}

// Refusal is the error of a host that gives no place.
type Refusal struct{ why string }

func (e *Refusal) Error() string { return "the host says: " + e.why }

func (c *Admission) enterOnce(ctx context.Context, cfg *Config, network Network, addr string, g *Guest) (seat *Seat, err error) {
	conn, err := network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	watchOver(conn)
	c.tell(errSilent)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	defer stop()
	talk, err := introduced(cfg, conn, "the host")
	if errors.As(err, new(*lengthError)) {
		return nil, errOther
	}
	if err != nil {
		return nil, err
	}
	b := appendBytes(appendBytes(binary.BigEndian.AppendUint32(nil, noRank), g.Name), g.Word)
	if _, err := talk.Write(b); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	p, err := readPlace(bufio.NewReader(talk), talk, func() { c.tell(nil) })
	if err != nil {
		return nil, err
	}
	return &Seat{*p, conn.LocalAddr(), conn, talk}, nil
}

// readPlace waits for the host's answer, and confirms each probe before it on w. It calls letIn
// when the host has let this guest in.
func readPlace(r *bufio.Reader, w io.Writer, letIn func()) (*Place, error) {
	for {
		rank, size, err := readAnswer(r)
		switch {
		case err != nil:
			return nil, err
		case rank == welcome:
			letIn()
		case rank == noRank:
			err = takeProbe(r, w, size)
		case size > ir.MaxRanks || rank < 1 || rank >= size:
			return nil, &brokenError{fmt.Errorf("the host says rank %d of %d", rank, size)}
		default:
			return readRest(r, &Place{Rank: int(rank), Size: int(size)})
		}
		if err != nil {
			return nil, err
		}
	}
}

// readAnswer reads the head of a place or a probe.
func readAnswer(r io.Reader) (rank, size uint32, err error) {
	why, err := readStatus(r)
	if errors.As(err, new(*lengthError)) {
		return 0, 0, errOther
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errUnheard, err)
	}
	if why != "" {
		return 0, 0, &Refusal{why}
	}
	rank, err = readUint32(r)
	if err == nil {
		size, err = readUint32(r)
	}
	if err != nil {
		return 0, 0, &brokenError{fmt.Errorf("read the place: %w", err)}
	}
	return rank, size, nil
}

// takeProbe reads a probe of n bytes and confirms it.
func takeProbe(r *bufio.Reader, w io.Writer, n uint32) error {
	if n > maxProbe {
		return &brokenError{fmt.Errorf("the host sends a probe of %d bytes", n)}
	}
	if _, err := r.Discard(int(n)); err != nil {
		return fmt.Errorf("%w: %w", errUnheard, err)
	}
	if _, err := w.Write([]byte{heard}); err != nil {
		return fmt.Errorf("%w: %w", errUnheard, err)
	}
	return nil
}

// readRest reads the texts of a place.
func readRest(r io.Reader, p *Place) (*Place, error) {
	job, err := readBytes(r, MaxJob)
	var note []byte
	if err == nil {
		note, err = readBytes(r, maxText)
	}
	if err != nil {
		return nil, &brokenError{fmt.Errorf("read the place: %w", err)}
	}
	p.Job, p.Note = string(job), string(note)
	return p, nil
}

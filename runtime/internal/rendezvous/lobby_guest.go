package rendezvous

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
)

// Seat is a guest's place, and the connection by which the host knows that it lives.
type Seat struct {
	Place
	// Here is the address of this host by which it has reached the lobby.
	Here net.Addr
	conn net.Conn
	talk net.Conn
}

// Met tells the host that this guest has met the others, and hangs up. If the host does not hear it, it has
// ended its meeting.
func (s *Seat) Met() {
	s.conn.SetDeadline(time.Now().Add(farewellTime))
	_, _ = s.talk.Write([]byte{met})
	s.conn.Close()
}

// Leave hangs up: unless it has met the others, the guest is gone.
func (s *Seat) Leave() { s.conn.Close() }

// Enter comes to the lobby at "host:port" as g, and waits until it is given a place or ctx ends. The host may come
// later than the guest. The caller leaves the seat.
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
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		seat, err := enterOnce(ctx, &cfg, network, addr, &g)
		if err == nil || errors.As(err, new(*Refusal)) || errors.As(err, new(*brokenError)) || hopeless(err) {
			return seat, err
		}
		if late := clock.Sleep(ctx, cfg.Clock, pause); late != nil {
			return nil, fmt.Errorf("no place at %s: %w (%w)", addr, late, err)
		}
	}
}

// Refusal is what a host says that gives no place.
type Refusal struct{ why string }

func (e *Refusal) Error() string { return "the host says: " + e.why }

func enterOnce(ctx context.Context, cfg *Config, network Network, addr string, g *Guest) (seat *Seat, err error) {
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
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	defer stop()
	talk, err := introduced(cfg, conn, "the host")
	if err != nil {
		return nil, err
	}
	b := appendBytes(appendBytes(binary.BigEndian.AppendUint32(nil, noRank), g.Name), g.Word)
	if _, err := talk.Write(b); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	p, err := readPlace(bufio.NewReader(talk))
	if err != nil {
		return nil, err
	}
	return &Seat{*p, conn.LocalAddr(), conn, talk}, nil
}

// readPlace waits for the host's answer.
func readPlace(r *bufio.Reader) (*Place, error) {
	why, err := readStatus(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	if why != "" {
		return nil, &Refusal{why}
	}
	rank, err := readUint32(r)
	var size uint32
	if err == nil {
		size, err = readUint32(r)
	}
	var job, note []byte
	if err == nil {
		job, err = readBytes(r, MaxJob)
	}
	if err == nil {
		note, err = readBytes(r, maxText)
	}
	switch {
	case err != nil:
		return nil, &brokenError{fmt.Errorf("read the place: %w", err)}
	case size > ir.MaxRanks || rank < 1 || rank >= size:
		return nil, &brokenError{fmt.Errorf("the host says rank %d of %d", rank, size)}
	}
	return &Place{int(rank), int(size), string(job), string(note)}, nil
}

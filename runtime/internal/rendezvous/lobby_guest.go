package rendezvous

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
)

// Enter comes to the lobby at "host:port" as g, and waits until it is given a place or ctx ends. The host may come
// later than the guest.
func (c *Lobby) Enter(ctx context.Context, addr string, g Guest) (*Place, error) {
	m, err := seal.ModeOf(c.Key, c.Encrypt)
	if err != nil {
		return nil, err
	}
	if n := max(len(g.Name), len(g.Word)); n > MaxName {
		return nil, fmt.Errorf("a name or a word of %d bytes, at most %d are allowed", n, MaxName)
	}
	cfg := Config{Key: c.Key, Encrypt: c.Encrypt, Clock: clock.OrSystem(c.Clock), mode: m}
	network := &tcpNetwork{clock: cfg.Clock, resolver: net.DefaultResolver, limit: dialLimit}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		p, err := enterOnce(ctx, &cfg, network, addr, &g)
		if err == nil || errors.As(err, new(*refusal)) || errors.As(err, new(*brokenError)) || hopeless(err) {
			return p, err
		}
		if late := clock.Sleep(ctx, cfg.Clock, pause); late != nil {
			return nil, fmt.Errorf("no place at %s: %w (%w)", addr, late, err)
		}
	}
}

// refusal is what a host says that lets nobody in.
type refusal struct{ why string }

func (e *refusal) Error() string { return "the host says: " + e.why }

func enterOnce(ctx context.Context, cfg *Config, network Network, addr string, g *Guest) (*Place, error) {
	conn, err := network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
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
	return readPlace(bufio.NewReader(talk))
}

// readPlace waits for the host's answer.
func readPlace(r *bufio.Reader) (*Place, error) {
	why, err := readStatus(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	if why != "" {
		return nil, &refusal{why}
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

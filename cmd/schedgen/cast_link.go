package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/lobby"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// castLink says how the hosts of a cast reach each other.
type castLink struct {
	Transport string `default:"auto" enum:"auto,mcast,tcp" placeholder:"NAME" help:"How receivers are reached: auto, the default, mcast or tcp, see above."`
	Interface string `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts; default the one of --listen's address."`
}

// castKey is the flag that keeps strangers out of a cast.
type castKey struct {
	KeyFile string `placeholder:"FILE" complete:"file" help:"File with the key of the cast, the same at all hosts; default SCHEDGEN_KEY_FILE."`
}

// secret is the key, with which all is encrypted.
func (k *castKey) secret(getenv func(string) string) (secret, error) {
	s, err := (&keyFlags{KeyFile: k.KeyFile}).secret(getenv)
	s.Encrypt = len(s.Key) > 0
	return s, err
}

func (s *secret) lobby() lobby.Config { return lobby.Config{Key: s.Key, Encrypt: s.Encrypt} }

// wayOf says how a transport broadcasts.
func wayOf(transport string) string {
	if transport == overMcast {
		return "multicast"
	}
	return "chain"
}

// check checks the flags of the link.
func (l *castLink) check() (err error) {
	if l.Interface == "" {
		return nil
	}
	if l.Transport == overTCP {
		return errors.New("--interface: tcp multicasts on none")
	}
	l.Interface, err = interfaceName(l.Interface)
	return err
}

// multicasts returns why this host cannot multicast where others reach it at an address, nil if it can.
func (l *castLink) multicasts(ctx context.Context, address string, key secret) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	_, err = await(ctx, func() (int, error) {
		t, err := mcast.Join(ctx, mcast.Config{TCP: tcp.Config{Size: 1, Coordinator: net.JoinHostPort(host, "0"), Key: key.Key, Encrypt: key.Encrypt}, Interface: l.Interface, Heard: heardTime})
		if err != nil {
			return 0, err
		}
		return 0, t.Close(true, 0)
	})
	return err
}

// servedAt is where receivers that are started on their hosts find the sender.
const servedAt = ":7717"

// listen opens where receivers come.
func (c *castCmd) listen(ctx context.Context) (*net.TCPListener, error) {
	var lc net.ListenConfig
	at := c.Listen
	if at == "" {
		at = servedAt
		if !c.Serve {
			at = ":0"
		}
	}
	l, err := lc.Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("--listen=%s: %w", at, err)
	}
	return l.(*net.TCPListener), nil
}

// heardTime is within what every host hears a multicast of the sender, where multicast works.
const heardTime = time.Second

// collectTime is how long datagrams may collect at a host that waits: a piece takes longer on any link up to 8 Gbit/s.
const collectTime = time.Millisecond

// castAlgorithms are those of the broadcasts, by transport. With bcast/mcast-chain no piece would wait for a
// multicast that comes late, but where packets are lost what is put along the chain then holds up the rest.
var castAlgorithms = map[string]string{overTCP: "bcast/chain", overMcast: "bcast/mcast-acktree"}

// castSpins are polls in vain before a host sleeps: the core has hashes to compute, and what TCP brings is worth a waking. By multicast a few, in
// which it yields the core: where hosts share cores, datagrams for all of them come meanwhile.
var castSpins = map[string]int{overTCP: -1, overMcast: 32}

// join connects a host that has a place with the others, as the sender has noted. l says where it multicasts.
func (l *castLink) join(ctx context.Context, note castNote, p *lobby.Place, key secret, cfg tcp.Config) (*runtime.Comm, error) {
	cfg.Rank, cfg.Size, cfg.Job, cfg.Key, cfg.Encrypt = p.Rank, p.Size, p.Job, key.Key, key.Encrypt
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, &lateError{fmt.Sprintf("not connected after %v", meeting)})
	defer cancel()
	var t wire.Transport
	var err error
	switch note.Transport {
	case overTCP:
		t, err = opened(tcp.Join(ctx, cfg))
	case overMcast:
		t, err = opened(mcast.Join(ctx, mcast.Config{TCP: cfg, Interface: l.Interface, Heard: heardTime, Collect: collectTime}))
	default:
		err = fmt.Errorf("no transport %q", note.Transport)
	}
	if err != nil {
		return nil, err
	}
	return runtime.Join(ctx, runtime.Config{
		Transport: t, Algorithms: runtime.Algorithms{"bcast": {Name: castAlgorithms[note.Transport]}}, Silence: note.Silence,
		Waiting: runtime.Waiting{Spin: castSpins[note.Transport]},
	})
}

// hostName is what this host is called in the sender's report.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unnamed"
	}
	return cmp.Or(name[:min(len(name), lobby.MaxName)], "unnamed")
}

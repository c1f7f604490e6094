package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/schedgen/schedgen/cast"
)

// castLink holds the flags that say how the hosts of a cast reach each other.
type castLink struct {
	Transport string `default:"auto" enum:"auto,mcast,tcp" placeholder:"NAME" help:"How the data reach the receivers: auto, the default, mcast or tcp; see above."`
	Interface string `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts; default the interface of the address of --listen."`
	TTL       int    `name:"ttl" placeholder:"N" help:"Routers that multicasts may pass, plus 1; default 1, the local network."`
	Group     string `placeholder:"ADDRESS:PORT" help:"Group of multicasts, such as 239.1.2.3:5000; default a random group for each round."`

	group netip.AddrPort
}

// castKey is the flag that keeps strangers out of a cast.
type castKey struct {
	KeyFile string `placeholder:"FILE" complete:"file" help:"File with the key of the cast, the same at all hosts; default SCHEDGEN_KEY_FILE."`
}

// key returns the key that encrypts all traffic, or nil if there is none.
func (k *castKey) key(getenv func(string) string) ([]byte, error) {
	s, err := (&keyFlags{KeyFile: k.KeyFile}).secret(getenv)
	return s.Key, err
}

// check checks the flags of the link.
func (l *castLink) check() (err error) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"--interface", l.Interface != ""}, {"--ttl", l.TTL != 0}, {"--group", l.Group != ""}} {
		if f.set && l.Transport == cast.Chain {
			return fmt.Errorf("%s: the transport tcp does not multicast", f.name)
		}
	}
	if l.TTL < 0 || l.TTL > 255 {
		return fmt.Errorf("--ttl=%d: must be in 1..255", l.TTL)
	}
	if l.Group != "" {
		if l.group, err = netip.ParseAddrPort(l.Group); err != nil || !l.group.Addr().IsMulticast() || l.group.Port() == 0 {
			return fmt.Errorf("--group=%s: must be the address of a multicast group and a port, such as 239.1.2.3:5000", l.Group)
		}
	}
	if l.Interface != "" {
		l.Interface, err = interfaceName(l.Interface)
	}
	return err
}

// link returns the cast's link.
func (l *castLink) link(key []byte) cast.Link {
	return cast.Link{Transport: l.Transport, Interface: l.Interface, Hops: l.TTL, Group: l.group, Key: key}
}

// servedAt is the default address at which the sender waits for receivers that are started by hand.
const servedAt = ":7717"

// listen listens for receivers.
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

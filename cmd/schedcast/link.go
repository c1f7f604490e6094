package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// linkFlags are the flags that say how the hosts of a cast reach each other.
type linkFlags struct {
	Transport, Interface, Group string
	TTL                         int

	group netip.AddrPort // Group
}

func (l *linkFlags) add(v *verb) {
	l.Transport = cast.Auto
	v.add(text(&l.Transport), syntax.Value{Name: "transport", Placeholder: "NAME", Help: "How the data reach the receivers: auto, the default, mcast (UDP multicast) or tcp (a chain of the receivers).", Enum: []string{cast.Auto, cast.Multicast, cast.Chain}})
	v.add(text(&l.Interface), syntax.Value{Name: "interface", Placeholder: "NAME", Help: "Network interface of multicasts; default the interface of the address of --listen.", Complete: "interface", Expert: true})
	v.add(whole(&l.TTL), syntax.Value{Name: "ttl", Placeholder: "N", Help: "Routers that multicasts may pass, plus 1; default 1, the local network.", Expert: true})
	v.add(text(&l.Group), syntax.Value{Name: "group", Placeholder: "ADDRESS:PORT", Help: "Group of multicasts, such as 239.1.2.3:5000; default a random group for each round.", Expert: true})
}

// transports are the values of --transport.
var transports = [][2]string{
	{cast.Auto, "mcast if it works at all of several hosts, else tcp"},
	{cast.Multicast, "UDP multicast; lost parts come by TCP"},
	{cast.Chain, "TCP, along a chain of the hosts"},
}

// keyFlag is the flag that keeps strangers out of a cast.
type keyFlag struct{ KeyFile string }

func (k *keyFlag) add(v *verb) {
	v.add(text(&k.KeyFile), syntax.Value{Name: "key-file", Placeholder: "FILE", Help: "File with the key of the cast, the same at all hosts; default SCHEDGEN_KEY_FILE.", Complete: "file"})
}

// key returns the key that encrypts all traffic, or nil if there is none.
func (k *keyFlag) key(getenv func(string) string) ([]byte, error) {
	const variable = "SCHEDGEN_KEY_FILE"
	path, source := k.KeyFile, "--key-file"
	if path == "" {
		path, source = getenv(variable), variable
	}
	switch {
	case path == "" && getenv("SCHEDGEN_ENCRYPT") == "1":
		return nil, errors.New("SCHEDGEN_ENCRYPT is 1, but there is no " + variable)
	case path == "":
		return nil, nil
	}
	key, err := tcp.ReadKey(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return key, nil
}

// check checks the flags of the link.
func (l *linkFlags) check() (err error) {
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
		err = checkInterface(l.Interface)
	}
	return err
}

// checkInterface returns an error unless this host has the interface.
func checkInterface(name string) error {
	if _, err := net.InterfaceByName(name); err == nil {
		return nil
	}
	var names []string
	for _, each := range complete.Interfaces(complete.Place{}) {
		names = append(names, each.Text)
	}
	return fmt.Errorf("--interface=%s: no such interface; this host has %s", name, strings.Join(names, ", "))
}

// link returns the cast's link.
func (l *linkFlags) link(key []byte) cast.Link {
	return cast.Link{Transport: l.Transport, Interface: l.Interface, Hops: l.TTL, Group: l.group, Key: key}
}

// servedAt is the default address at which the sender waits for receivers that are started by hand.
const servedAt = ":7717"

// listen listens for receivers.
func (c *sendCmd) listen(ctx context.Context) (*net.TCPListener, error) {
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

package rendezvous

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// isLoopback reports whether addr is "host:port" of the loopback interface.
func isLoopback(addr string) bool {
	ip, err := netip.ParseAddr(hostIn(addr))
	return err == nil && ip.Unmap().IsLoopback()
}

// hostIn returns the host of "host:port".
func hostIn(addr string) string {
	host, _, _ := net.SplitHostPort(addr) // no host is in what is no address
	return host
}

// isName reports whether host is a name, and not that of the loopback interface.
func isName(host string) bool {
	return addressesIn(host) == nil && host != "" && host != "localhost"
}

// oneSide refuses addresses of which some are of the loopback interface and others not:
// the latter's hosts could not reach the former. Rank 0's may have no host: it waits
// at door.
func oneSide(addrs []string, door net.Addr) error {
	near, far := -1, -1
	for rank, addr := range addrs {
		switch {
		case isLoopback(addr):
			near = rank
		case hostIn(addr) != "":
			far = rank
		}
	}
	if near < 0 || far < 0 {
		return nil
	}
	return fmt.Errorf("rank %d is at %s, which rank %d at %s cannot reach: does the name of rank 0's host, which waits at %v, stand for the loopback interface there?",
		near, addrs[near], far, addrs[far], door)
}

// hostOf returns the host part of an address, with its zone; empty if that is
// the wildcard.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || ip != nil && ip.IsUnspecified() {
		return ""
	}
	return host
}

// fillHost puts the host of a into addr if that has none.
func fillHost(addr string, a net.Addr) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = hostOf(a)
	}
	return net.JoinHostPort(host, port), nil
}

// listenAt accepts connections at host and a port of the system's choice.
func listenAt(ctx context.Context, n Network, host string) (l net.Listener, addr string, err error) {
	if l, err = n.Listen(ctx, net.JoinHostPort(host, "0")); err == nil {
		if addr, err = publicAddr(l); err == nil {
			return l, addr, nil
		}
		l.Close()
	}
	return nil, "", fmt.Errorf("accept connections: %w", err)
}

// publicAddr is what others are told of l; its host is empty if that is the wildcard.
func publicAddr(l net.Listener) (string, error) {
	_, port, err := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(hostOf(l.Addr()), port), err
}

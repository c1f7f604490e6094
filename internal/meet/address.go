package meet

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// isLoopback reports whether addr is "host:port" with a loopback address.
func isLoopback(addr string) bool {
	ip, err := netip.ParseAddr(hostIn(addr))
	return err == nil && ip.Unmap().IsLoopback()
}

// hostIn returns the host of "host:port".
func hostIn(addr string) string {
	host, _, _ := net.SplitHostPort(addr) // an invalid address has no host
	return host
}

// portIn returns the port of "host:port".
func portIn(addr string) string {
	_, port, _ := net.SplitHostPort(addr) // an invalid address has no port
	return port
}

// isName reports whether host is a name other than localhost.
func isName(host string) bool {
	return contact.AddressesIn(host) == nil && host != "" && host != "localhost"
}

// oneSide returns an error if some addresses are loopback addresses and others are not, since the
// other hosts could not reach the former. Rank 0's may have no host: rank 0 waits at door.
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
	return fmt.Errorf("rank %d is at %s, which rank %d at %s cannot reach: the name of rank 0's host, where rank 0 waits at %v, may stand for the loopback interface there",
		near, addrs[near], far, addrs[far], door)
}

// hostOf returns the host of an address, with its zone, or "" if that is the wildcard.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || ip != nil && ip.IsUnspecified() {
		return ""
	}
	return host
}

// fillHost adds the host of a to addr if addr has none.
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

// publicAddr returns the address of l for others; its host is "" if that is the wildcard.
func publicAddr(l net.Listener) (string, error) {
	_, port, err := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(hostOf(l.Addr()), port), err
}

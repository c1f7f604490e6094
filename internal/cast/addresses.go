package cast

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// maxAddresses is the greatest number of addresses at which a receiver tries to reach the sender.
const maxAddresses = 16

// addresses are the addresses at which hosts may reach the sender.
type addresses struct {
	listener netip.AddrPort
	own      []netip.Addr // of this host's interfaces
}

// direct returns the sender's address as a host sees it, and reports whether it is the sender's
// own. If it is not, a jump host or a translation of addresses is between the two.
func (c *addresses) direct(seen string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(seen)
	a = a.Unmap()
	return a, err == nil && (a.IsLoopback() || slices.Contains(c.own, a))
}

// list returns the addresses at which a host may reach the sender, in the order in which the host
// tries them. seen is the sender's address as the host sees it.
func (c *addresses) list(seen string) []string {
	if !c.listener.Addr().IsUnspecified() {
		return []string{c.listener.String()}
	}
	from, direct := c.direct(seen)
	var all []netip.Addr
	if direct {
		all = append(all, from)
	}
	six := from.Is6() // the family that works is tried first
	for _, family := range []bool{six, !six} {
		for _, a := range c.own {
			if a.Is6() == family && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	if from.IsValid() && from.Zone() == "" && !direct {
		all = append(all, from) // ports may be forwarded there
	}
	if c.listener.Addr().Is4() {
		all = slices.DeleteFunc(all, netip.Addr.Is6)
	}
	var list []string
	for _, a := range all[:min(len(all), maxAddresses)] {
		list = append(list, netip.AddrPortFrom(a, c.listener.Port()).String())
	}
	return list
}

// ownAddresses returns the addresses of this host's interfaces.
func ownAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of this host: %w", err)
	}
	var own []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own, nil
}

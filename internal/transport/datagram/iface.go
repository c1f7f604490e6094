package datagram

import (
	"fmt"
	"net"
	"net/netip"
)

// endpoint is the interface for multicasts, and this rank's address there.
type endpoint struct {
	ifi    *net.Interface
	family int
	addr   netip.Addr
}

// chooseEndpoint finds the interface. coordinator is the address where ranks meet.
func chooseEndpoint(cfg *Config, coordinator string) (*endpoint, error) {
	ifi, err := chooseInterface(cfg, coordinator)
	if err != nil {
		return nil, err
	}
	if ifi.Flags&net.FlagUp == 0 {
		return nil, fmt.Errorf("interface %s is down", ifi.Name)
	}
	addrs, err := ifi.Addrs()
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", ifi.Name, err)
	}
	families := []int{cfg.Family}
	if cfg.Family == 0 {
		families = []int{4, 6}
	}
	for _, family := range families {
		if addr, ok := pickAddr(addrs, family); ok {
			return &endpoint{ifi, family, addr}, nil
		}
	}
	return nil, fmt.Errorf("interface %s has no %s", ifi.Name, familyNames[cfg.Family])
}

var familyNames = map[int]string{0: "address", 4: "IPv4 address", 6: "IPv6 address"}

// pickAddr returns the first address of the family, and a link-local one only if there is no other.
func pickAddr(addrs []net.Addr, family int) (best netip.Addr, ok bool) {
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().Is4() != (family == 4) {
			continue
		}
		if !ok || best.IsLinkLocalUnicast() && !p.Addr().IsLinkLocalUnicast() {
			best, ok = p.Addr(), true
		}
	}
	return best, ok
}

func chooseInterface(cfg *Config, coordinator string) (*net.Interface, error) {
	if cfg.Interface != "" {
		ifi, err := net.InterfaceByName(cfg.Interface)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", cfg.Interface, err)
		}
		return ifi, nil
	}
	addr, err := ownAddr(cfg.TCP.Bind, coordinator)
	if err != nil {
		return nil, fmt.Errorf("choose an interface (name one to avoid this): %w", err)
	}
	return holder(addr)
}

// ownAddr returns the address at which this rank is reached: the address that it binds to, or the
// address from which it reaches the coordinator.
func ownAddr(bind, coordinator string) (netip.Addr, error) {
	if bind != "" {
		a, err := net.ResolveUDPAddr("udp", net.JoinHostPort(bind, "0"))
		if err != nil {
			return netip.Addr{}, err
		}
		return a.AddrPort().Addr().Unmap(), nil
	}
	// Connecting a datagram socket sends nothing; it only consults the routing table.
	conn, err := net.Dial("udp", coordinator)
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// holder returns the interface with addr. All loopback addresses belong to the loopback interface.
func holder(addr netip.Addr) (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	for i := range all {
		if addr.IsLoopback() && all[i].Flags&net.FlagLoopback != 0 {
			return &all[i], nil
		}
		addrs, err := all[i].Addrs()
		if err != nil {
			continue // it may have disappeared since
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr.WithZone("") {
				return &all[i], nil
			}
		}
	}
	return nil, fmt.Errorf("no interface has the address %v (name one)", addr)
}

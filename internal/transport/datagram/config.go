package datagram

import (
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Config is the configuration of package mcast; see there.
type Config struct {
	// TCP is the transport for puts. Its Blob must leave room for this transport's card. Its
	// Prepare runs after this transport's.
	TCP stream.Config

	Interface string
	Family    int
	MTU       int
	Hops      int
	Group     netip.AddrPort // of rank 0; the zero value: a random one
	Heard     time.Duration
	Collect   time.Duration
	Groups    int
	Loss      float64
	Seed      uint64
}

func (c *Config) check() error {
	switch {
	case len(c.TCP.Blob) > meet.MaxBlob-cardLen:
		return fmt.Errorf("TCP.Blob has %d bytes, at most %d are allowed", len(c.TCP.Blob), meet.MaxBlob-cardLen)
	case c.Family != 0 && c.Family != 4 && c.Family != 6:
		return fmt.Errorf("family %d is neither 4 nor 6", c.Family)
	case c.MTU < 0 || c.MTU > 1<<16:
		return fmt.Errorf("MTU %d is not in 0 … %d", c.MTU, 1<<16)
	case c.Hops < 0 || c.Hops > 255:
		return fmt.Errorf("%d hops are not in 0 … 255", c.Hops)
	case c.Group.IsValid() && (!c.Group.Addr().IsMulticast() || c.Group.Port() == 0):
		return fmt.Errorf("group %v is not a multicast address and a port", c.Group)
	case c.Heard < 0:
		return fmt.Errorf("negative Heard: %v", c.Heard)
	case c.Collect < 0:
		return fmt.Errorf("negative Collect: %v", c.Collect)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("loss %v is not a probability", c.Loss)
	}
	return nil
}

// Lengths of the headers before a payload.
const (
	udpLen   = 8
	ipv4Len  = 20
	ipv6Len  = 40
	maxIPv4  = 65535 // greatest length of a packet
	minBytes = 64    // smaller payloads do not pay for their header
)

// payloadFor returns how many bytes of a chunk fit into a datagram that fits into one packet, with
// over bytes besides its payload.
func payloadFor(mtu, family, over int) (int, error) {
	n := min(mtu, maxIPv4) - ipv4Len - udpLen - over
	if family == 6 {
		n = min(mtu, maxIPv4) - ipv6Len - udpLen - over
	}
	if n < minBytes {
		return 0, fmt.Errorf("an MTU of %d leaves %d bytes for a payload, at least %d are needed", mtu, n, minBytes)
	}
	return n, nil
}

// chooseGroup returns the configured group, or else a random one.
func chooseGroup(c *Config, family int) (netip.AddrPort, error) {
	switch {
	case !c.Group.IsValid():
		return drawGroup(randomOf(c), family)
	case c.Group.Addr().Is4() != (family == 4):
		return netip.AddrPort{}, fmt.Errorf("group %v: the ranks multicast over IPv%d", c.Group, family)
	}
	return c.Group, nil
}

// drawGroup draws a random multicast group: 14 random bytes in IPv6 (paper 000, section 3.1), and
// in IPv4 24 bits, plus 14 bits of the port. Ports are below the ports that systems choose
// themselves.
func drawGroup(random io.Reader, family int) (netip.AddrPort, error) {
	var name wire.GroupName
	if _, err := io.ReadFull(random, name[:]); err != nil {
		return netip.AddrPort{}, fmt.Errorf("draw the multicast group: %w", err)
	}
	return groupOf(name, family), nil
}

// groupOf returns the group of a name.
func groupOf(name wire.GroupName, family int) netip.AddrPort {
	port := 1<<14 | (uint16(name[0])<<8|uint16(name[1]))&(1<<14-1)
	if family == 4 {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{239, name[2], name[3], name[4]}), port)
	}
	at := [16]byte{0xFF, 0x15}
	copy(at[2:], name[2:])
	return netip.AddrPortFrom(netip.AddrFrom16(at), port)
}

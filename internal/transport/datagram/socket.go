package datagram

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/seal"
)

// bufferBytes is the requested size of a socket's buffer: bursts arrive while the process computes.
const bufferBytes = 8 << 20

// A rank has three sockets. It multicasts from the first; its address proves to the others that a
// datagram is this rank's. It receives multicasts by the second. Datagrams to one rank leave and
// arrive by the third.

// openSender opens the socket for sending multicasts from at.addr, at a port of the system's
// choice.
func openSender(at *endpoint, hops int) (fd int, from netip.AddrPort, err error) {
	return openOwn(at, func(fd int) error {
		tellOverruns(fd, at.family)
		return setSender(fd, at, hops)
	})
}

// openDirect opens the socket for datagrams to one rank. It does not report overruns, or ranks that
// have gone, since it would have to read such reports.
func openDirect(at *endpoint, hops int) (fd int, from netip.AddrPort, err error) {
	return openOwn(at, func(fd int) error {
		setReceiveBuffer(fd)
		return options(fd, func(c net.PacketConn) error {
			if at.family == 4 {
				return ipv4.NewPacketConn(c).SetTTL(hops)
			}
			return ipv6.NewPacketConn(c).SetHopLimit(hops)
		})
	})
}

// openOwn opens a socket at at.addr; set prepares it for sending.
func openOwn(at *endpoint, set func(fd int) error) (fd int, from netip.AddrPort, err error) {
	fd, err = openSocket(at.family)
	if err != nil {
		return -1, from, err
	}
	err = func() error {
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(at.addr, 0), at.ifi)); err != nil {
			return os.NewSyscallError("bind", err)
		}
		sa, err := unix.Getsockname(fd)
		if err != nil {
			return os.NewSyscallError("getsockname", err)
		}
		from = addrPort(sa)
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBytes) // if this fails, the system's own size must do
		return set(fd)
	}()
	if err != nil {
		unix.Close(fd)
		return -1, from, fmt.Errorf("open a sending socket at %v on interface %s: %w", at.addr, at.ifi.Name, err)
	}
	return fd, from, nil
}

// setSender lets the other ranks on this host get a copy.
func setSender(fd int, at *endpoint, hops int) error {
	return options(fd, func(c net.PacketConn) error {
		if at.family == 4 {
			p := ipv4.NewPacketConn(c)
			return errors.Join(p.SetMulticastInterface(at.ifi), p.SetMulticastTTL(hops), p.SetMulticastLoopback(true))
		}
		p := ipv6.NewPacketConn(c)
		return errors.Join(p.SetMulticastInterface(at.ifi), p.SetMulticastHopLimit(hops), p.SetMulticastLoopback(true))
	})
}

// openReceiver opens the socket that receives datagrams to group. It is bound to the group, so that
// datagrams of other groups do not arrive.
func openReceiver(at *endpoint, group netip.AddrPort) (fd int, err error) {
	fd, err = openSocket(at.family)
	if err != nil {
		return -1, err
	}
	err = func() error {
		if err := shareAddress(fd); err != nil {
			return err
		}
		if err := unix.Bind(fd, sockaddr(group, at.ifi)); err != nil {
			return os.NewSyscallError("bind", err)
		}
		setReceiveBuffer(fd)
		onlyOwnGroups(fd, at.family)
		return options(fd, func(c net.PacketConn) error {
			g := &net.UDPAddr{IP: group.Addr().AsSlice()}
			if at.family == 4 {
				return ipv4.NewPacketConn(c).JoinGroup(at.ifi, g)
			}
			return ipv6.NewPacketConn(c).JoinGroup(at.ifi, g)
		})
	}()
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("join group %v on interface %s: %w", group, at.ifi.Name, err)
	}
	return fd, nil
}

// receiveRoom returns how many bytes of datagrams fit into a receiver's buffer.
func receiveRoom(family int) (int, error) {
	fd, err := openSocket(family)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	setReceiveBuffer(fd)
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt SO_RCVBUF", err)
	}
	return n / bookkeeping, nil
}

func openSocket(family int) (int, error) {
	domain := unix.AF_INET
	if family == 6 {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("fcntl", err)
	}
	return fd, nil
}

// options gives fd's socket to golang.org/x/net, which knows each system's multicast options.
func options(fd int, set func(net.PacketConn) error) error {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(dup), "multicast socket")
	defer f.Close()
	c, err := net.FilePacketConn(f)
	if err != nil {
		return err
	}
	defer c.Close()
	return set(c)
}

func sockaddr(a netip.AddrPort, ifi *net.Interface) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	sa := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if a.Addr().IsMulticast() || a.Addr().IsLinkLocalUnicast() {
		sa.ZoneId = uint32(ifi.Index)
	}
	return sa
}

// addrPort omits the zone, which means nothing on other hosts.
func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

const (
	probeTime  = 3 * time.Second
	probePause = 50 * time.Millisecond
)

// selfTest sends probes to the group until one has come back through the interface.
func selfTest(send, receive int, at *endpoint, newProbe func() []byte, limit time.Duration, c clock.Clock) error {
	var lastErr error
	b := make([]byte, fragment.HeadLen+seal.PacketOver)
	for end := c.Now().Add(limit); c.Now().Before(end); {
		probe := newProbe()
		if _, err := unix.Write(send, probe); err != nil {
			lastErr = os.NewSyscallError("send", err)
		}
		fds := []unix.PollFd{{Fd: int32(receive), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(probePause/time.Millisecond)); err != nil || n == 0 {
			continue // another probe; limit ends the loop
		}
		for {
			n, err := unix.Read(receive, b)
			if err != nil {
				break
			}
			if string(b[:n]) == string(probe) {
				return nil
			}
		}
	}
	err := fmt.Errorf("multicast does not work on interface %s: no probe has come back within %v%s", at.ifi.Name, limit, hint(at))
	if lastErr != nil {
		err = fmt.Errorf("%w: %w", err, lastErr)
	}
	return err
}

// hint names the usual cause.
func hint(at *endpoint) string {
	loopback := at.ifi.Flags&net.FlagLoopback != 0
	switch {
	case loopback && at.family == 6:
		return " (a route is missing: ip -6 route add local ff00::/8 dev " + at.ifi.Name + ")"
	case loopback:
		return " (a route is missing: ip route add 224.0.0.0/4 dev " + at.ifi.Name + ")"
	case at.ifi.Flags&net.FlagMulticast == 0:
		return " (it is not a multicast interface)"
	}
	return " (does a firewall drop it?)"
}

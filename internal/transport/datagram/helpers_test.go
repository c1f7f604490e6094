package datagram

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/runtime/wire"
)

func connectTo(fd int, group netip.AddrPort, ifi *net.Interface) error {
	return unix.Connect(fd, sockaddr(group, ifi))
}

func sendRaw(t *testing.T, fd int, b []byte) {
	require.NoError(t, unix.Sendto(fd, b, 0, nil))
}

func sendTo(fd int, b []byte, to netip.AddrPort) error {
	return unix.Sendto(fd, b, 0, sockaddr(to, nil))
}

// whole encodes one whole datagram.
func whole(id [16]byte, h wire.Header, from, chunk, offset int, payload []byte) []byte {
	var b [fragment.HeadLen]byte
	mark := fragment.MarkOf(id)
	fragment.Encode(&b, &mark, &h, from, chunk, offset, payload)
	return append(b[:], payload...)
}

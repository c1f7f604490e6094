package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Connections within a host send at once; others use the system's pacing.
func TestPace(t *testing.T) {
	other, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer unix.Close(other)
	control := func(fd int) string {
		name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		require.NoError(t, err)
		return name
	}
	usual := control(other)
	within := usual
	if usual == "bbr" {
		within = "reno"
	}
	for bind, want := range map[string]string{"127.0.0.1": within, "127.0.0.2": usual} { // from 127.0.0.1 to 127.0.0.2
		a, b := pair(t, func(o *Options) { o.Bind = bind })
		requireWorks(t, a, b)
		for _, tr := range []*Transport{a, b} {
			require.Equal(t, want, control(tr.peers[1-tr.rank].conns[0].fd), bind)
		}
	}
}

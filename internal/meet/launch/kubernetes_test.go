package launch

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/porttest"
)

// The first pod waits at all its addresses: others may know it by another one than it knows itself.
func TestMeetInPods(t *testing.T) {
	_, port, err := net.SplitHostPort(porttest.Hold(t))
	require.NoError(t, err)
	e := pod.and("SCHEDGEN_COORDINATOR", "hello-0.hello:"+port)
	for rank := range 2 {
		p, err := Find(e.with(nil, rank, 2).get)
		require.NoError(t, err)
		m, err := p.Meet(t.Context())
		require.NoError(t, err)
		require.True(t, m.Apart)
		require.Equal(t, "hello-0.hello:"+port, m.Coordinator)
		if rank > 0 {
			require.Nil(t, m.Listener)
			continue
		}
		require.True(t, m.Listener.Addr().(*net.TCPAddr).IP.IsUnspecified())
		require.NoError(t, m.Listener.Close())
	}
}

package launch

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/porttest"
)

// Each pod's name follows from its number, so every pod knows where the others wait.
func TestDoorsOfPods(t *testing.T) {
	for _, c := range []struct {
		first, own string
		rank       int
		want       string // where rank 12 waits; empty: unknown
	}{
		{"hello-0.hello", "hello-3", 3, "hello-12.hello:7777"},
		{"hello-0.svc.prod.svc.cluster.local", "hello-0", 0, "hello-12.svc.prod.svc.cluster.local:7777"},
		{"hello-0.hello", "hello-3.hello.prod.svc", 3, "hello-12.hello:7777"},
		{"hello-0", "hello-1", 1, "hello-12:7777"},
		{"hello-0.hello", "hello-3", 4, ""},
		{"hello-0.hello", "node7", 3, ""}, // it is in the host's network
		{"hello-0.hello", "", 3, ""},
		{"head.hello", "hello-3", 3, ""},
		{"10.0.0.1", "hello-3", 3, ""},
	} {
		doors := doorsOfPods(c.first, "7777", c.own, c.rank)
		if c.want == "" {
			require.Nil(t, doors, "%+v", c)
			continue
		}
		require.Equal(t, c.want, doors(12), "%+v", c)
		require.Equal(t, net.JoinHostPort(c.first, "7777"), doors(0))
	}
}

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
		require.Equal(t, "hello-1.hello:"+port, m.Doors(1))
		require.True(t, m.Listener.Addr().(*net.TCPAddr).IP.IsUnspecified(), "others may know a pod by another address than it knows itself")
		require.NoError(t, m.Listener.Close())
	}
	p, err := Find(e.and("HOSTNAME", "node7").with(nil, 1, 2).get)
	require.NoError(t, err)
	m, err := p.Meet(t.Context())
	require.NoError(t, err)
	require.Nil(t, m.Doors)
	require.Nil(t, m.Listener)
}

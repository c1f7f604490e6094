package transport_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/transport"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

func TestOpen(t *testing.T) {
	alone := transport.Config{TCP: tcp.Config{Size: 1, Coordinator: "127.0.0.1:0"}}
	for _, name := range append(transport.Names(), transport.Auto, "") {
		tr, err := transport.Open(t.Context(), name, alone)
		if name == "verbs" && verbs.Check(verbs.Config{}) != nil {
			require.ErrorIs(t, err, verbs.Check(verbs.Config{}), "the adapter's own error")
			require.Nil(t, tr, "no interface that holds a nil pointer")
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, tr.Close(true, 0), name)
	}
	alone.Mcast = &mcast.Config{Family: 5}
	_, err := transport.Open(t.Context(), "mcast", alone)
	require.ErrorContains(t, err, "family 5", "its own settings count")
	_, err = transport.Open(t.Context(), "pigeon", alone)
	require.EqualError(t, err, `no transport "pigeon" (one of tcp, mcast, shm, hybrid, verbs, auto)`)
}

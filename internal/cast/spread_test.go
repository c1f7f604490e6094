package cast

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first host gets the program from here. Each host that has it passes it on to two at a time.
func TestSpread(t *testing.T) {
	s := newSpread()
	at := netip.MustParseAddrPort("10.0.0.1:7")
	waits := func() {
		t.Helper()
		_, changed := s.try()
		require.NotNil(t, changed)
	}
	takes := func(host string) *peer {
		t.Helper()
		p, changed := s.try()
		require.Nil(t, changed)
		if host == "" {
			require.Nil(t, p)
		} else {
			require.Equal(t, host, p.host)
		}
		return p
	}
	takes("")
	waits()
	s.seed() // it cannot pass it on
	takes("")
	waits()
	s.offer("a", at)
	s.seed()
	first, second := takes("a"), takes("a")
	waits()
	s.fetched(first, true)
	takes("a")
	s.offer("b", at)
	takes("b")
	s.fetched(second, false)
	takes("a")
	s.fetched(second, false) // twice
	takes("b")
	waits()
	s.withdraw("b")
	takes("") // no host is left
	waits()
	require.Equal(t, 1, s.passed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.source(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

package lobby_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/schedgen/schedgen/runtime/meet/lobby"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// relay passes traffic between a guest and the lobby, to the guest at most 4 KiB at a time. Before
// each piece it calls hold with the number of bytes.
func relay(t *testing.T, to *net.TCPListener, hold func(n int)) *net.TCPListener {
	l := listen(t)
	go func() {
		guest, err := l.Accept()
		if err != nil {
			return
		}
		host, err := net.Dial("tcp", to.Addr().String())
		if err != nil {
			guest.Close()
			return
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = io.Copy(host, guest)
			host.(*net.TCPConn).CloseWrite()
		})
		for b := make([]byte, 4<<10); err == nil; {
			var n int
			if n, err = host.Read(b); err == nil {
				hold(n)
				_, err = guest.Write(b[:n])
			}
		}
		guest.Close()
		wg.Wait()
		host.Close()
	}()
	return l
}

// slowly limits the rate to the guest to perSecond bytes a second.
func slowly(t *testing.T, to *net.TCPListener, perSecond int) *net.TCPListener {
	limit := rate.NewLimiter(rate.Limit(perSecond), 4<<10)
	return relay(t, to, func(n int) { _ = limit.WaitN(context.Background(), n) }) // n is at most the limiter's burst
}

// mute passes the first bytes to the guest, and no more before open is closed.
func mute(t *testing.T, to *net.TCPListener, open <-chan struct{}) *net.TCPListener {
	return relay(t, to, func(n int) {
		if n > begins {
			<-open
		}
	})
}

// pausing pauses after each bytes bytes to the guest, once for each entry of pauses.
func pausing(t *testing.T, to *net.TCPListener, bytes int, pauses []time.Duration) *net.TCPListener {
	gone := 0
	return relay(t, to, func(n int) {
		if gone += n; gone >= bytes && len(pauses) > 0 {
			time.Sleep(pauses[0])
			gone, pauses = gone-bytes, pauses[1:]
		}
	})
}

// begins is more bytes than host and guest exchange before the measurement.
const begins = 1 << 10

// The host measures the guests' networks before it chooses a party: a slow guest, and a guest that
// does not answer, differ from the others, and still get their places.
func TestRates(t *testing.T) {
	const probe, perSecond = 64 << 10, 1 << 20
	for name, c := range map[string]lobby.Config{"plain": {}, "encrypted": {Key: bytes.Repeat([]byte{2}, tcp.MinKey), Encrypt: true}} {
		t.Run(name, func(t *testing.T) {
			l, chosen := listen(t), make(chan struct{})
			at := map[string]*net.TCPListener{"a": l, "b": l, "c": l, "slow": slowly(t, l, perSecond), "mute": mute(t, l, chosen)}
			var wg sync.WaitGroup
			for name, l := range at {
				wg.Go(func() {
					if _, err := enter(t.Context(), l, lobby.Guest{Name: name, Rate: 1e12}, c); err != nil {
						t.Error(name, err)
					}
				})
			}
			asked, rates := 0, map[string]float64{}
			choose := lobby.All(func(all []lobby.Guest) string {
				defer close(chosen)
				for _, g := range all {
					rates[g.Name] = g.Rate
				}
				return ""
			})
			_, err := open(t, l, c).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(len(at)), Choose: choose, Probe: func(guests int) int {
				asked = guests
				return probe
			}})
			wg.Wait()
			require.NoError(t, err)
			require.Equal(t, len(at), asked)
			require.InEpsilon(t, probe, rates["mute"], 0.001, "one second, and it has not answered")
			require.Greater(t, rates["slow"], rates["mute"])
			require.Less(t, rates["slow"], 2.0*perSecond, "and what passes at once")
			for _, name := range []string{"a", "b", "c"} {
				require.Greater(t, rates[name], rates["slow"], name)
			}
		})
	}
}

// TCP may take more than a second to resend what is lost several times: a guest that answers so
// late is measured again.
func TestLateIsNotSlow(t *testing.T) {
	const probe = 64 << 10
	l, over := listen(t), make(chan struct{})
	at := map[string]*net.TCPListener{"a": l, "b": l, "c": l, "late": mute(t, l, over)}
	var wg sync.WaitGroup
	for name, l := range at {
		wg.Go(func() {
			if _, err := enter(t.Context(), l, lobby.Guest{Name: name}, lobby.Config{}); err != nil {
				t.Error(name, err)
			}
		})
	}
	p, err := open(t, l, lobby.Config{}).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(len(at)), Choose: lobby.All(words), Probe: func(int) int {
		time.AfterFunc(1200*time.Millisecond, func() { close(over) })
		return probe
	}})
	wg.Wait()
	require.NoError(t, err)
	for _, g := range p.Guests {
		require.Greater(t, g.Rate, float64(2*probe), g.Name) // the first measurement ended after a second
	}
}

// With losses each measurement takes another time; a measurement without losses ends the series.
func TestLossIsNotSlow(t *testing.T) {
	const probe = 64 << 10
	var pauses []time.Duration
	for range 7 {
		pauses = append(pauses, 100*time.Millisecond, 200*time.Millisecond)
	}
	l := listen(t)
	at := map[string]*net.TCPListener{"a": l, "b": l, "c": l, "lossy": pausing(t, l, probe, pauses)}
	var wg sync.WaitGroup
	for name, l := range at {
		wg.Go(func() {
			if _, err := enter(t.Context(), l, lobby.Guest{Name: name}, lobby.Config{}); err != nil {
				t.Error(name, err)
			}
		})
	}
	p, err := open(t, l, lobby.Config{}).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(len(at)), Choose: lobby.All(words), Probe: func(int) int { return probe }})
	wg.Wait()
	require.NoError(t, err)
	for _, g := range p.Guests {
		require.Greater(t, g.Rate, probe/80e-3, g.Name)
	}
}

// A guest alone is not measured, and no guest is if there is no Probe.
func TestNotMeasured(t *testing.T) {
	for _, c := range []struct {
		guests int
		probe  func(int) int
	}{{1, func(int) int { return 1 << 10 }}, {2, func(int) int { return 0 }}, {2, nil}} {
		l := listen(t)
		var wg sync.WaitGroup
		for range c.guests {
			wg.Go(func() {
				if _, err := enter(t.Context(), l, lobby.Guest{Name: "g"}, lobby.Config{}); err != nil {
					t.Error(err)
				}
			})
		}
		p, err := open(t, l, lobby.Config{}).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(c.guests), Choose: lobby.All(words), Probe: c.probe})
		wg.Wait()
		require.NoError(t, err)
		for _, g := range p.Guests {
			require.Zero(t, g.Rate)
		}
	}
}

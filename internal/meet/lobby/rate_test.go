package lobby_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/lobby"
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

// begins is more bytes than host and guest exchange before the measurement.
const begins = 1 << 10

// measured lets guests enter one after the other, and returns the rates that the host measures with
// probes of probe bytes, by name. Time passes for the host only by c.Clock. Guests without an entry
// in at come to l itself, so their probes take no time.
// The channel over is closed when the measurement is over.
func measured(t *testing.T, l *net.TCPListener, c lobby.Config, probe int, over chan struct{}, at map[string]*net.TCPListener, names ...string) map[string]float64 {
	rates := map[string]float64{}
	choose := lobby.All(func(all []lobby.Guest) string {
		close(over)
		for _, g := range all {
			rates[g.Name] = g.Rate
		}
		return ""
	})
	asked := 0
	in := open(t, l, c)
	lobby.Lossless(in)
	hosted := make(chan error, 1)
	go func() {
		_, err := in.Host(t.Context(), lobby.Reception{Want: lobby.NewCount(len(names)), Choose: choose, Probe: func(guests int) int {
			asked = guests
			return probe
		}})
		hosted <- err
	}()
	var wg sync.WaitGroup
	for _, name := range names {
		to := at[name]
		if to == nil {
			to = l
		}
		guest, waits := c, make(chan struct{})
		guest.Clock = nil
		here := sync.OnceFunc(func() { close(waits) })
		guest.News = func(why error) {
			if why == nil {
				here()
			}
		}
		wg.Go(func() {
			defer here()
			if _, err := enter(t.Context(), to, lobby.Guest{Name: name, Rate: 1e12}, guest); err != nil {
				t.Error(name, err)
			}
		})
		<-waits
	}
	wg.Wait()
	require.NoError(t, <-hosted)
	require.Equal(t, len(names), asked)
	return rates
}

// The host measures the guests' networks before it chooses a party: a slow guest differs from the
// others, and still gets its place.
func TestRates(t *testing.T) {
	const probe, perSecond = 64 << 10, 1 << 20
	for name, c := range map[string]lobby.Config{"plain": {}, "encrypted": {Key: bytes.Repeat([]byte{2}, tcp.MinKey), Encrypt: true}} {
		t.Run(name, func(t *testing.T) {
			var m clock.Manual
			c.Clock = &m
			l := listen(t)
			slow := relay(t, l, func(n int) { m.Advance(time.Second * time.Duration(n) / perSecond) })
			rates := measured(t, l, c, probe, make(chan struct{}), map[string]*net.TCPListener{"slow": slow}, "a", "b", "c", "slow")
			require.InEpsilon(t, perSecond, rates["slow"], 0.5)
			for _, name := range []string{"a", "b", "c"} {
				require.Greater(t, rates[name], 10.0*perSecond, name)
			}
		})
	}
}

// A guest that does not answer gets its place, too.
func TestMuteGuest(t *testing.T) {
	const probe = 64 << 10
	var m clock.Manual
	l, over := listen(t), make(chan struct{})
	mute := relay(t, l, func(n int) {
		if n <= begins {
			return
		}
		for {
			select {
			case <-over: // the measurement
				return
			case <-time.After(time.Millisecond): // the host does not say when it waits
				m.Advance(10 * time.Millisecond)
			}
		}
	})
	rates := measured(t, l, lobby.Config{Clock: &m}, probe, over, map[string]*net.TCPListener{"mute": mute}, "a", "b", "c", "mute")
	require.EqualValues(t, probe, rates["mute"], "it has not answered for a second")
	for _, name := range []string{"a", "b", "c"} {
		require.Greater(t, rates[name], 10*rates["mute"], name)
	}
}

// TCP may take more than a second to resend what is lost several times: a guest that answers so
// late is measured again.
func TestLateIsNotSlow(t *testing.T) {
	const probe = 64 << 10
	var m clock.Manual
	l, late := listen(t), 1200*time.Millisecond
	at := relay(t, l, func(n int) {
		if n > begins {
			m.Advance(late)
			late = 0
		}
	})
	for name, rate := range measured(t, l, lobby.Config{Clock: &m}, probe, make(chan struct{}), map[string]*net.TCPListener{"late": at}, "a", "b", "c", "late") {
		require.Greater(t, rate, float64(2*probe), name) // the first measurement ended after a second
	}
}

// With losses each measurement takes another time; a measurement without losses ends the series.
func TestLossIsNotSlow(t *testing.T) {
	const probe = 64 << 10
	var m clock.Manual
	l, gone := listen(t), 0
	pauses := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond}
	lossy := relay(t, l, func(n int) {
		if gone += n; gone >= probe && len(pauses) > 0 {
			m.Advance(pauses[0])
			gone, pauses = gone-probe, pauses[1:]
		}
	})
	for name, rate := range measured(t, l, lobby.Config{Clock: &m}, probe, make(chan struct{}), map[string]*net.TCPListener{"lossy": lossy}, "a", "b", "c", "lossy") {
		require.Greater(t, rate, probe/80e-3, name)
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

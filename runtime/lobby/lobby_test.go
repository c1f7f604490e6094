package lobby_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime/lobby"
	"github.com/schedgen/schedgen/runtime/tcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func count(t *testing.T, n int) *lobby.Count {
	t.Helper()
	c, err := lobby.NewCount(n)
	require.NoError(t, err)
	return c
}

// words joins what the guests have said.
func words(all []lobby.Guest) (note string) {
	for _, g := range all {
		note += g.Name + "=" + g.Word + ";"
	}
	return note
}

// came has a host say when so many guests are there.
func came(want int) (func(int), <-chan struct{}) {
	there := make(chan struct{})
	var once sync.Once
	return func(n int) {
		if n == want {
			once.Do(func() { close(there) })
		}
	}, there
}

// Guests get ranks, and join with the host at the same address; with and without a key.
func TestGuestsBecomeRanks(t *testing.T) {
	for _, c := range []lobby.Config{{}, {Key: bytes.Repeat([]byte{1}, tcp.MinKey)}, {Key: bytes.Repeat([]byte{2}, tcp.MinKey), Encrypt: true}} {
		l := listen(t)
		at := l.Addr().String()
		join := func(p *lobby.Place, l net.Listener) error {
			tr, err := tcp.Join(t.Context(), tcp.Config{Rank: p.Rank, Size: p.Size, Job: p.Job, Coordinator: at, Key: c.Key, Encrypt: c.Encrypt, Listener: l})
			if err != nil {
				return err
			}
			return tr.Close(true, 0)
		}
		const guests = 3
		places, errs := make([]*lobby.Place, guests), make([]error, guests)
		var wg sync.WaitGroup
		for i := range guests {
			wg.Go(func() {
				places[i], errs[i] = lobby.Enter(t.Context(), at, lobby.Guest{Name: fmt.Sprint("g", i), Word: fmt.Sprint(i * i)}, c)
				if errs[i] == nil {
					errs[i] = join(places[i], nil)
				}
			})
		}
		p, all, err := lobby.Host(t.Context(), l, count(t, guests), c, words, nil)
		require.NoError(t, err)
		require.NoError(t, join(p, l))
		wg.Wait()
		require.Len(t, all, guests)
		require.Equal(t, words(all), p.Note)
		for i, place := range places {
			require.NoError(t, errs[i])
			require.Equal(t, fmt.Sprint("g", i), all[place.Rank-1].Name)
			require.Equal(t, lobby.Place{Rank: place.Rank, Size: guests + 1, Job: p.Job, Note: p.Note}, *place)
		}
	}
}

// Who has another key, or none, is turned away, and the host goes on.
func TestStrangers(t *testing.T) {
	l, key := listen(t), bytes.Repeat([]byte{1}, tcp.MinKey)
	var wg sync.WaitGroup
	wg.Go(func() {
		for want, c := range map[string]lobby.Config{
			"not the same key": {Key: bytes.Repeat([]byte{2}, tcp.MinKey)}, "a rank has no key": {}, "which has not proved the key, says": {Key: key, Encrypt: true},
		} {
			_, err := lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: "stranger"}, c)
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: "friend"}, lobby.Config{Key: key}); err != nil {
			t.Error(err)
		}
	})
	_, all, err := lobby.Host(t.Context(), l, count(t, 1), lobby.Config{Key: key}, words, nil)
	wg.Wait()
	require.NoError(t, err)
	require.Equal(t, []lobby.Guest{{Name: "friend"}}, all)
}

var errOver = errors.New("closing time")

// A guest that goes makes room for another one.
func TestGuestGoes(t *testing.T) {
	l := listen(t)
	first, there := came(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := lobby.Enter(ctx, l.Addr().String(), lobby.Guest{Name: "early"}, lobby.Config{}); !errors.Is(err, errOver) {
			t.Error(err)
		}
	})
	gone := make(chan struct{})
	wg.Go(func() {
		<-there
		cancel(errOver)
		<-gone
		for range 2 {
			wg.Go(func() {
				if _, err := lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: "late"}, lobby.Config{}); err != nil {
					t.Error(err)
				}
			})
		}
	})
	var once sync.Once
	_, all, err := lobby.Host(t.Context(), l, count(t, 2), lobby.Config{}, words, func(n int) {
		first(n)
		if n == 0 {
			once.Do(func() { close(gone) })
		}
	})
	wg.Wait()
	require.NoError(t, err)
	require.Equal(t, "late=;late=;", words(all))
}

// When the host's time is over it says how many have come, also to them.
func TestTooFew(t *testing.T) {
	l := listen(t)
	one, there := came(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: "only"}, lobby.Config{})
		if err == nil || err.Error() != "lobby: the host says: 1 of 2 have come: closing time" {
			t.Error(err)
		}
	})
	wg.Go(func() {
		<-there
		cancel(errOver)
	})
	_, all, err := lobby.Host(ctx, l, count(t, 2), lobby.Config{}, words, one)
	wg.Wait()
	require.ErrorIs(t, err, errOver)
	require.EqualError(t, err, "lobby: 1 of 2 have come: closing time")
	require.Equal(t, "only=;", words(all))
}

// Guests that will not come are not waited for; those that have come get places of so many.
func TestFewer(t *testing.T) {
	for _, few := range map[string]func(*lobby.Count){
		"less": func(c *lobby.Count) { c.Less(); c.Less() }, "stop": (*lobby.Count).Stop,
	} {
		l, want := listen(t), count(t, 4)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				p, err := lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: "g"}, lobby.Config{})
				if err != nil || p.Size != 3 {
					t.Error(p, err)
				}
			})
		}
		two, there := came(2)
		wg.Go(func() {
			<-there
			few(want)
		})
		p, all, err := lobby.Host(t.Context(), l, want, lobby.Config{}, words, two)
		wg.Wait()
		require.NoError(t, err)
		require.Equal(t, "g=;g=;", words(all))
		require.Equal(t, 3, p.Size)
	}
}

// If nobody will come a host says so.
func TestNobody(t *testing.T) {
	for _, few := range []func(*lobby.Count){(*lobby.Count).Less, (*lobby.Count).Stop} {
		want := count(t, 1)
		few(want)
		want.Less() // there is none less
		_, _, err := lobby.Host(t.Context(), listen(t), want, lobby.Config{}, words, nil)
		require.ErrorIs(t, err, lobby.ErrNobody)
		require.EqualError(t, err, "lobby: nobody has come")
	}
}

// A guest that waits for a host that does not come says so when its time is over.
func TestNoHost(t *testing.T) {
	l := listen(t)
	require.NoError(t, l.Close())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOver)
	_, err := lobby.Enter(ctx, l.Addr().String(), lobby.Guest{}, lobby.Config{})
	require.ErrorIs(t, err, errOver)
}

func TestBadInput(t *testing.T) {
	l := listen(t)
	_, err := lobby.NewCount(0)
	require.ErrorContains(t, err, "0 guests")
	_, err = lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: string(make([]byte, lobby.MaxName+1))}, lobby.Config{})
	require.ErrorContains(t, err, "of 257 bytes")
	_, _, err = lobby.Host(t.Context(), l, count(t, 1), lobby.Config{Key: []byte("short")}, words, nil)
	require.Error(t, err)
}

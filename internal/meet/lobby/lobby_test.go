package lobby_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/meet/lobby"
	_ "github.com/schedgen/schedgen/internal/test/ballast"
	"github.com/schedgen/schedgen/internal/test/porttest"
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

func open(t *testing.T, l *net.TCPListener, c lobby.Config) *lobby.Lobby {
	t.Helper()
	in, err := lobby.Open(l, c)
	require.NoError(t, err)
	t.Cleanup(func() { in.Close("the test is over") })
	return in
}

// enter is a guest that only takes a place.
func enter(ctx context.Context, l *net.TCPListener, g lobby.Guest, c lobby.Config) (*lobby.Place, error) {
	s, err := lobby.Enter(ctx, l.Addr().String(), g, c)
	if err != nil {
		return nil, err
	}
	s.Met()
	return &s.Place, nil
}

// words joins the words of the guests.
func words(all []lobby.Guest) (note string) {
	for _, g := range all {
		note += g.Name + "=" + g.Word + ";"
	}
	return note
}

// came returns a Came function, and a channel that is closed when want guests have come.
func came(want int) (func(int), <-chan struct{}) {
	there := make(chan struct{})
	var once sync.Once
	return func(n int) {
		if n == want {
			once.Do(func() { close(there) })
		}
	}, there
}

// Guests get ranks, and join with the host at the same address, with and without a key.
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
				var s *lobby.Seat
				if s, errs[i] = lobby.Enter(t.Context(), at, lobby.Guest{Name: fmt.Sprint("g", i), Word: fmt.Sprint(i * i)}, c); errs[i] == nil {
					defer s.Leave()
					places[i], errs[i] = &s.Place, join(&s.Place, nil)
					s.Met()
				}
			})
		}
		p, err := open(t, l, c).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(guests), Choose: lobby.All(words)})
		require.NoError(t, err)
		meeting, stop := p.Meeting(t.Context())
		require.NoError(t, join(&p.Place, l))
		wg.Wait()
		require.NoError(t, meeting.Err(), "all have met")
		stop()
		all := p.Guests
		require.Len(t, all, guests)
		require.Equal(t, words(all), p.Note)
		for i, place := range places {
			require.NoError(t, errs[i])
			require.Equal(t, fmt.Sprint("g", i), all[place.Rank-1].Name)
			require.Equal(t, lobby.Place{Rank: place.Rank, Size: guests + 1, Job: p.Job, Note: p.Note}, *place)
		}
	}
}

// A guest with another key, or without one, is turned away, and the host goes on.
func TestStrangers(t *testing.T) {
	l, key := listen(t), bytes.Repeat([]byte{1}, tcp.MinKey)
	var wg sync.WaitGroup
	wg.Go(func() {
		for want, c := range map[string]lobby.Config{
			"not the same key": {Key: bytes.Repeat([]byte{2}, tcp.MinKey)}, "a rank has no key": {}, "which has not proved the key, says": {Key: key, Encrypt: true},
		} {
			_, err := enter(t.Context(), l, lobby.Guest{Name: "stranger"}, c)
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := enter(t.Context(), l, lobby.Guest{Name: "friend"}, lobby.Config{Key: key}); err != nil {
			t.Error(err)
		}
	})
	p, err := open(t, l, lobby.Config{Key: key}).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(1), Choose: lobby.All(words)})
	wg.Wait()
	require.NoError(t, err)
	require.Equal(t, []lobby.Guest{{Name: "friend"}}, p.Guests)
}

var errOver = errors.New("closing time")

// A guest that goes makes room for another one.
func TestGuestGoes(t *testing.T) {
	l := listen(t)
	first, there := came(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := enter(ctx, l, lobby.Guest{Name: "early"}, lobby.Config{}); !errors.Is(err, errOver) {
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
				if _, err := enter(t.Context(), l, lobby.Guest{Name: "late"}, lobby.Config{}); err != nil {
					t.Error(err)
				}
			})
		}
	})
	var once sync.Once
	p, err := open(t, l, lobby.Config{}).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(2), Choose: lobby.All(words), Came: func(n int) {
		first(n)
		if n == 0 {
			once.Do(func() { close(gone) })
		}
	}})
	wg.Wait()
	require.NoError(t, err)
	require.Equal(t, "late=;late=;", words(p.Guests))
}

// When the host's time is over, it tells its caller and the guests how many have come.
func TestTooFew(t *testing.T) {
	l := listen(t)
	one, there := came(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := enter(t.Context(), l, lobby.Guest{Name: "only"}, lobby.Config{})
		if err == nil || err.Error() != "lobby: the host says: so much for today" {
			t.Error(err)
		}
	})
	wg.Go(func() {
		<-there
		cancel(errOver)
	})
	in := open(t, l, lobby.Config{})
	_, err := in.Host(ctx, lobby.Reception{Want: lobby.NewCount(2), Choose: lobby.All(words), Came: one})
	require.ErrorIs(t, err, errOver)
	require.EqualError(t, err, "lobby: 1 of 2 have come: closing time")
	in.Close("so much for today")
	wg.Wait()
}

// The host does not wait for guests that will not come; those that have come get places.
func TestFewer(t *testing.T) {
	for _, few := range map[string]func(*lobby.Count){
		"less": func(c *lobby.Count) { c.Less(); c.Less() }, "stop": (*lobby.Count).Stop,
	} {
		l, want := listen(t), lobby.NewCount(4)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				p, err := enter(t.Context(), l, lobby.Guest{Name: "g"}, lobby.Config{})
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
		p, err := open(t, l, lobby.Config{}).Host(t.Context(), lobby.Reception{Want: want, Choose: lobby.All(words), Came: two})
		wg.Wait()
		require.NoError(t, err)
		require.Equal(t, "g=;g=;", words(p.Guests))
		require.Equal(t, 3, p.Size)
	}
}

// If no guest will come, the host says so.
func TestNobody(t *testing.T) {
	for _, few := range []func(*lobby.Count){(*lobby.Count).Less, (*lobby.Count).Stop} {
		want := lobby.NewCount(1)
		few(want)
		want.Less() // stays at 0
		_, err := open(t, listen(t), lobby.Config{}).Host(t.Context(), lobby.Reception{Want: want, Choose: lobby.All(words)})
		require.ErrorIs(t, err, lobby.ErrNobody)
		require.EqualError(t, err, "lobby: nobody has come")
	}
}

// Guests that are not chosen wait for the next party. Others come meanwhile, also by Welcome.
func TestParties(t *testing.T) {
	l := listen(t)
	in := open(t, l, lobby.Config{})
	var wg sync.WaitGroup
	come := func(name, to string, into *lobby.Place) {
		wg.Go(func() {
			s, err := lobby.Enter(t.Context(), to, lobby.Guest{Name: name}, lobby.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			*into = s.Place
			s.Met()
		})
	}
	var a, b, c lobby.Place
	come("a", l.Addr().String(), &a)
	one, there := came(1)
	wg.Go(func() { <-there; come("b", l.Addr().String(), &b) })
	first, err := in.Host(t.Context(), lobby.Reception{Want: lobby.NewCount(2), Choose: func([]lobby.Guest) ([]int, string) { return []int{1}, "b first" }, Came: one})
	require.NoError(t, err)
	require.Equal(t, "b=;", words(first.Guests))
	side := listen(t)
	come("c", side.Addr().String(), &c)
	conn, err := side.Accept()
	require.NoError(t, err)
	in.Welcome(conn)
	second, err := in.Host(t.Context(), lobby.Reception{Want: lobby.NewCount(2), Choose: lobby.All(words)})
	require.NoError(t, err)
	wg.Wait()
	require.Equal(t, "a=;c=;", words(second.Guests))
	require.Equal(t, lobby.Place{Rank: 1, Size: 2, Job: first.Job, Note: "b first"}, b)
	require.Equal(t, lobby.Place{Rank: 2, Size: 3, Job: second.Job, Note: "a=;c=;"}, c)
	require.Equal(t, 1, a.Rank)
	require.NotEqual(t, first.Job, second.Job)
}

// A guest that goes before it has met the others ends the meeting at once; a guest that has met
// them does not.
func TestGoesBeforeTheMeeting(t *testing.T) {
	l := listen(t)
	var wg sync.WaitGroup
	for _, name := range []string{"stays", "goes"} {
		wg.Go(func() {
			s, err := lobby.Enter(t.Context(), l.Addr().String(), lobby.Guest{Name: name}, lobby.Config{})
			switch {
			case err != nil:
				t.Error(err)
			case name == "stays":
				s.Met()
			default:
				s.Leave()
			}
		})
	}
	p, err := open(t, l, lobby.Config{}).Host(t.Context(), lobby.Reception{Want: lobby.NewCount(2), Choose: lobby.All(words)})
	require.NoError(t, err)
	meeting, stop := p.Meeting(t.Context())
	defer stop()
	<-meeting.Done()
	require.EqualError(t, context.Cause(meeting), "goes has gone before all had met")
	wg.Wait()
}

// A guest that waits for a host that does not come says so when its time is over.
func TestNoHost(t *testing.T) {
	l := listen(t)
	require.NoError(t, l.Close())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOver)
	_, err := enter(ctx, l, lobby.Guest{}, lobby.Config{})
	require.ErrorIs(t, err, errOver)
}

// A waiting guest learns why it has no place: what is wrong so far, or that it has been let in.
func TestNews(t *testing.T) {
	key := bytes.Repeat([]byte{1}, tcp.MinKey)
	closed, silent, other, hall := listen(t), listen(t), listen(t), listen(t)
	require.NoError(t, closed.Close())
	go func() {
		for conn, err := other.Accept(); err == nil; conn, err = other.Accept() {
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	in := open(t, hall, lobby.Config{})
	hosting, over := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := in.Host(hosting, lobby.Reception{Want: lobby.NewCount(2), Choose: lobby.All(words)})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		l    *net.TCPListener
		key  []byte
		want string // empty: the guest has been let in
	}{
		{closed, nil, "connection refused"},
		{silent, nil, "the process there accepts connections, but has not answered"},
		{silent, key, "the process there accepts connections, but has not answered"},
		{other, nil, "another program answers there"},
		{other, key, "another program answers there"},
		{hall, nil, ""},
	} {
		ctx, leave := context.WithCancel(t.Context())
		told := ""
		_, err := enter(ctx, c.l, lobby.Guest{Name: "g"}, lobby.Config{Key: c.key, News: func(why error) {
			if told = fmt.Sprint(why); why == nil {
				told = ""
				all, refused := in.Here()
				if refused != nil || len(all) > 1 {
					t.Errorf("%v, %v", all, refused)
				}
			}
			if told == c.want || c.want != "" && strings.Contains(told, c.want) {
				leave()
			}
		}})
		require.ErrorIs(t, err, context.Canceled, c.want)
		require.Contains(t, told, c.want)
	}
	_, err := enter(t.Context(), hall, lobby.Guest{Name: "stranger"}, lobby.Config{Key: key})
	require.Error(t, err)
	require.Eventually(t, func() bool { _, refused := in.Here(); return refused != nil }, 10*time.Minute, time.Millisecond)
	over()
	wg.Wait()
}

// A guest that comes again does not look for ever for a host that is gone: it gives up at once if
// the host refuses, and after a while if the host hangs up.
func TestPatience(t *testing.T) {
	l := listen(t)
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.Close()
		}
	}()
	_, err := enter(t.Context(), l, lobby.Guest{Name: "g"}, lobby.Config{Patience: 50 * time.Millisecond})
	require.ErrorContains(t, err, "no place at "+l.Addr().String())
	require.NoError(t, l.Close())
	<-hungUp
	_, err = lobby.Enter(t.Context(), porttest.Hold(t), lobby.Guest{Name: "g"}, lobby.Config{Patience: time.Hour})
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestBadInput(t *testing.T) {
	l := listen(t)
	_, err := enter(t.Context(), l, lobby.Guest{Name: string(make([]byte, lobby.MaxName+1))}, lobby.Config{})
	require.ErrorContains(t, err, "a name of 257 bytes")
	_, err = enter(t.Context(), l, lobby.Guest{Word: string(make([]byte, lobby.MaxWord+1))}, lobby.Config{})
	require.ErrorContains(t, err, "a word of 1025 bytes")
	_, err = lobby.Open(l, lobby.Config{Key: []byte("short")})
	require.Error(t, err)
}

// A nil context is an error of the call, which lets no guest in.
func TestNilContexts(t *testing.T) {
	l := listen(t)
	in := open(t, l, lobby.Config{})
	var none context.Context
	_, err := in.Host(none, lobby.Reception{Want: lobby.NewCount(1)})
	require.EqualError(t, err, "lobby: the context is nil")
	_, err = lobby.Enter(none, l.Addr().String(), lobby.Guest{}, lobby.Config{})
	require.EqualError(t, err, "lobby: the context is nil")
	meeting, stop := new(lobby.Party).Meeting(none)
	defer stop()
	require.EqualError(t, context.Cause(meeting), "lobby: the context is nil")
}

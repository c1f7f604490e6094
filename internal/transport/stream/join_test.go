package stream_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/internal/transport/stream"
)

func leave(t testing.TB, trs []*stream.Transport) {
	var wg sync.WaitGroup
	for _, tr := range trs {
		wg.Go(func() {
			if err := tr.Close(true, patience); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestBlobsReachAllRanks(t *testing.T) {
	var mu sync.Mutex
	prepared := 0
	var blobs [4][][]byte
	trs, errs := tryJoin(t, 4, func(rank int, c *stream.Config) {
		c.Blob = []byte{byte(rank), 7}
		c.Prepare = func(_ context.Context, _ *stream.Transport, m *meet.Meeting) error {
			mu.Lock()
			defer mu.Unlock()
			prepared++
			blobs[rank] = m.Blobs
			return nil
		}
	})
	defer leave(t, trs)
	require.Equal(t, 4, prepared)
	for rank, tr := range trs {
		require.NoError(t, errs[rank])
		require.Equal(t, [][]byte{{0, 7}, {1, 7}, {2, 7}, {3, 7}}, blobs[rank])
		require.Equal(t, trs[0].ID(), tr.ID())
	}
	require.NotZero(t, trs[0].ID())
}

func TestIdentityComesFromRand(t *testing.T) {
	trs, errs := tryJoin(t, 2, func(_ int, c *stream.Config) { c.Rand = constant(5) })
	require.NoError(t, errors.Join(errs...))
	defer leave(t, trs)
	require.Equal(t, [16]byte{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, trs[1].ID())
}

type constant byte

func (c constant) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(c)
	}
	return len(b), nil
}

// TestJoinWithoutListener starts the coordinator last. If another process has taken its port
// meanwhile, the test is repeated with another port.
func TestJoinWithoutListener(t *testing.T) {
	trs, errs := joinLate(t)
	for tries := 1; tries < 5 && errors.Is(errs[0], syscall.EADDRINUSE); tries++ {
		trs, errs = joinLate(t)
	}
	require.NoError(t, errors.Join(errs...))
	leave(t, trs)
}

// joinLate makes three ranks join at a reserved port, where rank 0 listens last. If it fails, the
// others give up.
func joinLate(t *testing.T) (trs []*stream.Transport, errs []error) {
	addr := porttest.Hold(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	trs, errs = make([]*stream.Transport, 3), make([]error, 3)
	var wg sync.WaitGroup
	for rank := range 3 {
		wg.Go(func() {
			if rank == 0 {
				time.Sleep(50 * time.Millisecond) // so that the others find nothing; the result does not depend on it
			}
			trs[rank], errs[rank] = stream.Join(ctx, stream.Config{Options: stream.Options{Rank: rank, Size: 3, Coordinator: addr}})
			if rank == 0 && errs[0] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return trs, errs
}

func TestJoinRefusesBadConfigs(t *testing.T) {
	for want, cfg := range map[string]stream.Config{
		"size 0":         {},
		"rank 2":         {Options: stream.Options{Rank: 2, Size: 2, Coordinator: "x:1"}},
		"rank -1":        {Options: stream.Options{Rank: -1, Size: 2, Coordinator: "x:1"}},
		"blob of 5000":   {Options: stream.Options{Size: 1}, Blob: make([]byte, 5000)},
		"no coordinator": {Options: stream.Options{Size: 2}},
		"dial timeout":   {Options: stream.Options{Size: 1, DialTimeout: -1}},
		"size 1048577":   {Options: stream.Options{Size: 1<<20 + 1, Coordinator: "x:1"}},
	} {
		_, err := stream.Join(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
}

// requireAll checks that every rank has failed with an error that contains want.
func requireAll(t *testing.T, trs []*stream.Transport, errs []error, want string) {
	t.Helper()
	for rank, err := range errs {
		require.Nil(t, trs[rank])
		require.ErrorContains(t, err, want, "rank %d", rank)
	}
}

func TestMisfitsFailAll(t *testing.T) {
	t.Parallel()
	t.Run("size", func(t *testing.T) {
		trs, errs := tryJoin(t, 3, func(rank int, c *stream.Config) { c.Size += rank / 2 })
		requireAll(t, trs, errs, "rank 2 at 127.0.0.1")
		require.ErrorContains(t, errs[2], "there are 4 ranks, rank 0 that there are 3")
	})
	t.Run("twice", func(t *testing.T) {
		trs, errs := tryJoin(t, 3, func(rank int, c *stream.Config) { c.Rank = min(rank, 1) })
		require.ErrorContains(t, errs[0], "rank 1 has arrived twice")
		for rank, err := range errs {
			require.Nil(t, trs[rank])
			require.Error(t, err)
		}
	})
	t.Run("prepare", func(t *testing.T) {
		for guilty := range 3 {
			trs, errs := tryJoin(t, 3, func(rank int, c *stream.Config) {
				c.Prepare = func(context.Context, *stream.Transport, *meet.Meeting) error {
					if rank == guilty {
						return errors.New("no paper")
					}
					return nil
				}
			})
			requireAll(t, trs, errs, "no paper")
			if guilty > 0 {
				require.ErrorContains(t, errs[0], fmt.Sprintf("rank %d: no paper", guilty))
			}
		}
	})
	t.Run("rand", func(t *testing.T) {
		_, err := stream.Join(t.Context(), stream.Config{Options: stream.Options{Size: 1, Rand: errReader{}}})
		require.ErrorContains(t, err, "no dice")
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("no dice") }

// TestAbsentRanksAreNamed ends the context of rank 0 while two ranks are missing.
func TestAbsentRanksAreNamed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var now clock.Manual // of rank 0
	var news told
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i, cfg := range []stream.Config{
		{Options: stream.Options{Rank: 0, Size: 5, Listener: l, Clock: &now, Log: slog.New(slog.NewTextHandler(&news, nil))}},
		{Options: stream.Options{Rank: 2, Size: 5, Coordinator: l.Addr().String()}},
		{Options: stream.Options{Rank: 3, Size: 5, Coordinator: l.Addr().String()}},
	} {
		c := t.Context()
		if cfg.Rank == 0 {
			c = ctx
		}
		wg.Go(func() { _, errs[i] = stream.Join(c, cfg) })
	}
	const absent = "ranks 1 and 4 have not come"
	until := func(met func() bool) {
		for !met() {
			now.Advance(time.Minute)
			time.Sleep(time.Millisecond) // the other ranks take their own time
		}
	}
	until(func() bool { return news.contain(absent) })
	cancel(errors.New("lunch"))
	over := make(chan struct{})
	go func() { defer close(over); wg.Wait() }()
	until(func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	require.ErrorContains(t, errs[0], absent)
	require.ErrorContains(t, errs[0], "lunch")
	require.ErrorContains(t, errs[1], "the coordinator says")
	require.ErrorContains(t, errs[2], "lunch")
}

// told keeps what is logged.
type told struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *told) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *told) contain(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.all.String(), text)
}

// watched is a listener that reports every connection.
type watched struct {
	net.Listener
	closed chan struct{}
}

func (w watched) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	w.closed <- struct{}{}
	return c, err
}

func TestNoCoordinator(t *testing.T) {
	t.Parallel()
	addr := porttest.Hold(t)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := stream.Join(ctx, stream.Config{Options: stream.Options{Rank: 1, Size: 2, Coordinator: addr}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, addr)
	require.ErrorContains(t, err, "refused")
}

// TestSilentCoordinator connects to a process that accepts and says nothing, and to a process that
// sends nonsense.
func TestSilentCoordinator(t *testing.T) {
	t.Parallel()
	for want, say := range map[string]string{"deadline exceeded": "", "coordinator": "HTTP/1.1 400 Bad Request\r\n\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			io.WriteString(c, say)
			io.Copy(io.Discard, c)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = stream.Join(ctx, stream.Config{Options: stream.Options{Rank: 1, Size: 2, Coordinator: l.Addr().String()}})
		cancel()
		require.ErrorContains(t, err, want)
		l.Close()
		<-done
	}
}

// TestStrangersAtTheRendezvous lets all sorts of strangers connect to the coordinator; the ranks
// still meet.
func TestStrangersAtTheRendezvous(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	hello := func(rank, size uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, 0x5CED0001)
		b = binary.BigEndian.AppendUint16(b, meet.Version)
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, rank), size)
	}
	guests := [][]byte{
		nil, []byte("GET / HTTP/1.0\r\n\r\n"), {0x5C}, make([]byte, 1<<20),
		hello(1, 2), hello(7, 2), hello(0, 1<<31), append(hello(1, 2), 0xFF, 0xFF),
	}
	var open []net.Conn
	for _, say := range guests {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		open = append(open, c)
		c.SetDeadline(time.Now().Add(patience))
		go c.Write(say)
	}
	open[2].Close()
	trs, errs := tryJoin(t, 2, func(rank int, c *stream.Config) {
		c.Coordinator = addr
		if rank == 0 {
			c.Listener.Close()
			c.Listener = l
		}
	})
	require.NoError(t, errors.Join(errs...))
	leave(t, trs)
	for _, c := range open {
		c.Close()
	}
}

// A rank with another version gets an error; rank 0 goes on waiting, and reports it at the end.
func TestWrongVersionIsToldToBoth(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte{0x5C, 0xED, 0, 1, 0, 99, 0, 5, 'o', 't', 'h', 'e', 'r'})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	joined := make(chan error)
	go func() {
		_, err := stream.Join(ctx, stream.Config{Options: stream.Options{Size: 2, Listener: l}})
		joined <- err
	}()
	c.SetDeadline(time.Now().Add(patience))
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(answer), "version 99 on the wire (other)")
	cancel()
	err = <-joined
	require.ErrorContains(t, err, "rank 1 has not come")
	require.ErrorContains(t, err, "version 99")
}

// Connections that rank 0 turns away before the ranks have met are counted with later ones.
func TestTurnedAwayAreCounted(t *testing.T) {
	trs, errs := tryJoin(t, 2, func(rank int, c *stream.Config) {
		c.Job = "night"
		if rank == 0 {
			return
		}
		other := *c
		other.Job = "day"
		_, err := stream.Join(t.Context(), other) // rank 0 is there already
		require.ErrorContains(t, err, `rank 1 is of job "day", rank 0 of job "night"`)
	})
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 1, trs[0].Stats().Rejected)
	leave(t, trs)
}

// TestMemberThatGoes hangs up after its hello.
func TestMemberThatGoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	var gone error
	w := watched{l, make(chan struct{}, 8)}
	wg.Go(func() {
		_, gone = stream.Join(ctx, stream.Config{Options: stream.Options{Rank: 1, Size: 3, Coordinator: l.Addr().String()}})
	})
	wg.Go(func() { <-w.closed; time.Sleep(20 * time.Millisecond); cancel() }) // before or after the hello: both must work
	ctx0, cancel0 := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel0()
	_, err = stream.Join(ctx0, stream.Config{Options: stream.Options{Size: 3, Listener: w}})
	wg.Wait()
	require.ErrorIs(t, gone, context.Canceled)
	require.Error(t, err)
}

// All ranks of one host see that they share it, even if rank 0 listens at all addresses.
func TestAllAreLocal(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	trs, errs := tryJoin(t, 3, func(rank int, c *stream.Config) {
		c.Coordinator = net.JoinHostPort("127.0.0.1", port)
		if rank == 0 {
			require.NoError(t, c.Listener.Close())
			c.Coordinator, c.Listener = l.Addr().String(), l
		}
	})
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
		require.Equal(t, 3, trs[rank].Caps().Local, "rank %d", rank)
	}
	for _, tr := range trs {
		require.NoError(t, tr.Close(false, 0))
	}
}

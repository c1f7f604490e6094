package meet

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	lan     = 50 * time.Microsecond // latency
	gigabit = 125e6                 // bytes a second
	meeting = "10.0.0.0:7777"       // where rank 0 waits
)

// hall is where ranks meet in a test, in virtual time.
type hall struct {
	t     *testing.T
	size  int
	net   *simnet
	edit  func(*Config) // of every rank's Config; may be nil
	hosts []*simhost
	quit  []context.CancelFunc

	wg   sync.WaitGroup
	mu   sync.Mutex
	tabs []*Meeting
	errs []error
	ends []time.Duration // when each rank was done
	from time.Time
}

func newHall(t *testing.T, size int) *hall {
	return &hall{
		t: t, size: size, net: newSimnet(lan, gigabit), hosts: make([]*simhost, size),
		quit: make([]context.CancelFunc, size),
		tabs: make([]*Meeting, size), errs: make([]error, size), ends: make([]time.Duration, size), from: time.Now(),
	}
}

// open makes a hall with rank 0 in it.
func open(t *testing.T, ctx context.Context, size int) *hall {
	h := newHall(t, size)
	h.come(ctx, 0, nil)
	return h
}

// come starts a process of a rank, whose configuration edit may change. The result of an earlier
// process of that rank no longer counts.
func (h *hall) come(ctx context.Context, rank int, edit func(*Config)) {
	ctx, quit := context.WithCancel(ctx)
	h.t.Cleanup(quit)
	host := h.net.host(rank)
	h.mu.Lock()
	h.hosts[rank], h.quit[rank] = host, quit
	h.mu.Unlock()
	cfg := &Config{Rank: rank, Size: h.size, Job: "night", Coordinator: meeting, Network: host}
	for _, edit := range []func(*Config){h.edit, edit} {
		if edit != nil {
			edit(cfg)
		}
	}
	h.wg.Go(func() {
		tab, l, err := Meet(ctx, *cfg)
		if err == nil {
			l.Close()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.hosts[rank] == host {
			h.tabs[rank], h.errs[rank], h.ends[rank] = tab, err, time.Since(h.from)
		}
	})
}

// failed returns the error with which a rank's Meet has ended, while others may still meet.
func (h *hall) failed(rank int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.errs[rank]
}

// kill ends the process of a rank without notice.
func (h *hall) kill(rank int, vanished bool) {
	h.hosts[rank].kill(vanished)
	h.quit[rank]()
}

// all starts all ranks except those of but.
func (h *hall) all(ctx context.Context, but ...int) {
	h.t.Helper()
	for rank := range h.size {
		if !contains(but, rank) {
			h.come(ctx, rank, nil)
		}
	}
}

func contains(ranks []int, rank int) bool {
	for _, r := range ranks {
		if r == rank {
			return true
		}
	}
	return false
}

// met requires that all ranks have met, and have the same addresses, blobs, identity and session.
func (h *hall) met() {
	h.t.Helper()
	h.wg.Wait()
	for rank, err := range h.errs {
		require.NoError(h.t, err, "rank %d", rank)
		tag := h.tabs[rank].Session.Prove(nil)
		require.True(h.t, h.tabs[0].Session.Proven(nil, tag[:]), "rank %d", rank)
		require.Equal(h.t, h.tabs[0].ID, h.tabs[rank].ID, "rank %d", rank)
		require.Len(h.t, h.tabs[rank].Addrs, h.size)
		for other, addr := range h.tabs[rank].Addrs {
			require.Equal(h.t, ipOf(other).String(), hostIn(addr), "rank %d of rank %d", rank, other)
			require.Equal(h.t, h.tabs[0].Addrs[other], addr)
		}
	}
}

// settle lets some virtual time pass, so that everything that is possible now happens.
func settle() { time.Sleep(graceTime / 2) }

// connect returns a stranger's connection to rank 0.
func (h *hall) connect() net.Conn {
	conn, err := h.net.host(1<<20).Dial(h.t.Context(), meeting)
	require.NoError(h.t, err)
	return conn
}

// stranger sends bytes and returns the whole answer.
func (h *hall) stranger(says []byte) string {
	conn := h.connect()
	defer conn.Close()
	_, err := conn.Write(says)
	require.NoError(h.t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(h.t, err)
	if len(answer) == 0 {
		return ""
	}
	return string(answer[2:])
}

// inHall runs f in virtual time, with a hall of size ranks.
func inHall(t *testing.T, size int, f func(t *testing.T, h *hall)) {
	inBubble(t, func(t *testing.T) { f(t, newHall(t, size)) })
}

package meet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told keeps a rank's warnings: one line each, with the time that it has waited.
type told struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func newTold() *told { return &told{Handler: slog.DiscardHandler} }

func (l *told) Enabled(context.Context, slog.Level) bool { return true }

func (l *told) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		l.lines = append(l.lines, fmt.Sprintf("%v: %s", a.Value, r.Message))
		return true
	})
	return nil
}

func (l *told) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// Waiting ranks say so, and rank 0 names the missing ranks.
func TestWaitingRanksSayWhatTheyWaitFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHall(t, 12)
		logs := make([]*told, h.size)
		h.edit = func(c *Config) {
			logs[c.Rank] = newTold()
			c.Log = slog.New(logs[c.Rank])
		}
		h.all(t.Context(), 5, 6, 10)
		time.Sleep(7 * time.Second)
		h.come(t.Context(), 5, nil)
		time.Sleep(8 * time.Second)
		h.come(t.Context(), 6, nil)
		h.come(t.Context(), 10, nil)
		h.met()
		time.Sleep(time.Hour)
		require.Equal(t, []string{
			"2s: rank 0 of 12 waits: ranks 5-6 and 10 have not come",
			"6s: rank 0 of 12 waits: ranks 5-6 and 10 have not come",
			"14s: rank 0 of 12 waits: ranks 6 and 10 have not come",
		}, logs[0].all())
		const connected = "waits: it is connected with 10.0.0.0:7777, which has not said yet that it is rank 0 and that all ranks have come"
		require.Equal(t, []string{"2s: rank 1 of 12 " + connected, "6s: rank 1 of 12 " + connected, "14s: rank 1 of 12 " + connected}, logs[1].all())
		require.Empty(t, logs[6].all(), "it has not waited")
	})
}

// A process at the coordinator's address that is no rank is not called rank 0, whether it is
// silent, hangs up or speaks another protocol.
func TestUnrelatedListenersAreNotCalledRankZero(t *testing.T) {
	for name, c := range map[string]struct {
		serve      func(net.Conn)
		told, want string
	}{
		"silent": {func(conn net.Conn) { io.Copy(io.Discard, conn) },
			"it is connected with 10.0.0.0:7777, which has not said yet that it is rank 0 and that all ranks have come",
			"wait for the other ranks: context deadline exceeded"},
		"hangs up": {func(conn net.Conn) { conn.Read(make([]byte, 4096)) }, // so the guest's write does not fail
			"rank 0 is not, or no longer, at 10.0.0.0:7777: it hung up: EOF",
			"rank 0 is not, or no longer, at 10.0.0.0:7777: it hung up: EOF"},
		"HTTP": {func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") }, "",
			"10.0.0.0:7777 should be the coordinator, but is no rank of this job: 18516 bytes where at most 1024 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				h := newHall(t, 2)
				l, err := h.net.host(0).Listen(ctx, meeting)
				require.NoError(t, err)
				defer l.Close()
				go func() {
					for {
						conn, err := l.Accept()
						if err != nil {
							return
						}
						c.serve(conn)
						conn.Close()
					}
				}()
				log := newTold()
				h.come(ctx, 1, func(cfg *Config) { cfg.Log = slog.New(log) })
				h.wg.Wait()
				settle() // the listener notices the end
				require.ErrorContains(t, h.errs[1], c.want)
				if c.told != "" {
					require.Equal(t, []string{"2s: rank 1 of 2 waits: " + c.told}, log.all())
				}
			})
		})
	}
}

// With a key, a process that is connected has proved that it is of the job.
func TestRankZeroThatProvesTheKeyIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHall(t, 3)
		log := newTold()
		h.edit = func(c *Config) {
			keyed(c)
			if c.Rank == 1 {
				c.Log = slog.New(log)
			}
		}
		h.all(t.Context(), 2)
		time.Sleep(3 * time.Second)
		h.come(t.Context(), 2, nil)
		h.met()
		require.Equal(t, []string{"2s: rank 1 of 3 waits: it is connected with rank 0 at 10.0.0.0:7777, which has not said yet that all ranks have come"}, log.all())
	})
}

// A rank that does not reach rank 0 says why: an unknown name, a host that refuses, or a host that
// does not answer.
func TestWaitingRanksSayWhyRankZeroDoesNotAnswer(t *testing.T) {
	unknown := &names{from: time.Now(), late: 1000 * time.Hour}
	for name, c := range map[string]struct {
		network  func(h *hall) Network
		resolver Resolver
		rank     int
		want     string
	}{
		"nobody listens": {func(h *hall) Network { return h.net.host(1) }, nil, 1, "rank 1 of 2 waits: rank 0 has not come: reach the coordinator at node0:7777: "},
		"unknown name": {func(h *hall) Network {
			return &named{h.net.host(1), unknown}
		}, nil, 1, "rank 1 of 2 waits: rank 0 has not come: reach the coordinator at node0:7777: lookup node0: no such host"},
		"no answer": {func(*hall) Network { return mute{} }, nil, 1, "rank 1 of 2 waits: rank 0 has not answered yet at node0:7777"},
		"rank 0's own name": {func(*hall) Network { return nil }, unknown, 0,
			"rank 0 of 2 waits: it cannot listen at node0:7777 yet: lookup node0: no such host"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log := newTold()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, _, err := Meet(ctx, Config{Rank: c.rank, Size: 2, Coordinator: "node0:7777", Network: c.network(newHall(t, 2)), Resolver: c.resolver, Log: slog.New(log)})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Len(t, log.all(), 2)
				require.Contains(t, log.all()[0], "2s: "+c.want)
				require.Contains(t, log.all()[1], "6s: "+c.want)
				_, why, _ := strings.Cut(c.want, "node0:7777: ")
				require.ErrorContains(t, err, why)
			})
		})
	}
}

// mute is a network that neither connects nor refuses.
type mute struct{ Network }

func (mute) Dial(ctx context.Context, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

package group_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	// patience limits a test that hangs.
	patience = 5 * time.Minute
	// ttl is long enough for a loaded machine; no test waits for it while all goes well.
	ttl = 2 * time.Minute
)

func overTCP(ctx context.Context, m group.Meeting) (wire.Transport, error) {
	return tcp.Join(ctx, tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener})
}

// town makes the groups of one process.
type town struct {
	t     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	seeds []string
	edit  func(*group.Config)

	manage func() (membership.Manager, error) // nil: embedded
}

func newTown(t *testing.T) *town {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &town{t: t, ctx: ctx}
}

// impatient makes members wait only for a moment for the last messages of members that are gone.
// The members that stay have the same messages, however long they wait.
func impatient(cfg *group.Config) { cfg.Grace = 50 * time.Millisecond }

// config returns the config of another member.
func (w *town) config() group.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	manage := w.manage
	if manage == nil {
		manage = w.embedded
	}
	m, err := manage()
	require.NoError(w.t, err)
	cfg := group.Config{Name: "g", Address: "127.0.0.1:0", Manager: m, Connect: overTCP}
	if w.edit != nil {
		w.edit(&cfg)
	}
	return cfg
}

// embedded returns a manager that runs in the members.
func (w *town) embedded() (membership.Manager, error) {
	m, err := embedded.New(embedded.Config{Group: w.t.Name(), Listen: "127.0.0.1:0", Seeds: w.seeds, TTL: ttl})
	if err == nil {
		w.seeds = append(w.seeds, m.Addr())
	}
	return m, err
}

// join adds a member.
func (w *town) join() *group.Group {
	g, err := group.Join(w.ctx, w.config())
	require.NoError(w.t, err)
	return g
}

// joinAll adds n members. They begin one after the other and finish together.
func (w *town) joinAll(n int) []*group.Group {
	groups := make([]*group.Group, n)
	groups[0] = w.join()
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		cfg := w.config()
		wg.Go(func() {
			g, err := group.Join(w.ctx, cfg)
			if err != nil {
				w.t.Error(err)
			}
			groups[i] = g
		})
	}
	wg.Wait()
	require.False(w.t, w.t.Failed())
	for _, g := range groups {
		w.until(g, n)
	}
	return groups
}

// until waits for a view with the given number of members.
func (w *town) until(g *group.Group, members int) membership.View {
	v := g.View()
	for len(v.Members) != members {
		var err error
		v, err = g.Await(w.ctx, v.Epoch)
		require.NoError(w.t, err)
	}
	return v
}

// log is the messages that a member has received.
type log struct {
	mu      sync.Mutex
	changed *sync.Cond
	of      map[membership.ID][]group.Message
}

// listen takes all messages of g.
func listen(w *town, wg *sync.WaitGroup, g *group.Group) *log {
	l := &log{of: map[membership.ID][]group.Message{}}
	l.changed = sync.NewCond(&l.mu)
	wg.Go(func() {
		for msg, err := range g.Messages(w.ctx) {
			l.mu.Lock()
			if err == nil {
				l.of[msg.Origin] = append(l.of[msg.Origin], msg)
			}
			l.changed.Broadcast()
			l.mu.Unlock()
		}
	})
	return l
}

// await waits until n messages of origin are here.
func (l *log) await(ctx context.Context, origin membership.ID, n int) error {
	return l.until(ctx, origin, fmt.Sprintf("%d messages", n), func(got []group.Message) bool { return len(got) >= n })
}

// reach waits until message seq of origin is here.
func (l *log) reach(ctx context.Context, origin membership.ID, seq int) error {
	return l.until(ctx, origin, fmt.Sprintf("message %d", seq), func(got []group.Message) bool {
		return len(got) > 0 && got[len(got)-1].Seq >= uint64(seq)
	})
}

func (l *log) until(ctx context.Context, origin membership.ID, what string, met func([]group.Message) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})()
	for ctx.Err() == nil && !met(l.of[origin]) {
		l.changed.Wait()
	}
	if !met(l.of[origin]) {
		return fmt.Errorf("%s of %v, %d are here: %w", what, origin, len(l.of[origin]), context.Cause(ctx))
	}
	return nil
}

// messages returns the messages of origin.
func (l *log) messages(origin membership.ID) []group.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[origin]
}

// numbered is the n-th message of a member.
func numbered(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// gapless requires that the messages of an origin are in order, each once, starting with any.
func gapless(t *testing.T, messages []group.Message) {
	for i, m := range messages {
		if want := messages[0].Seq + uint64(i); m.Seq != want || binary.BigEndian.Uint64(m.Data) != want {
			t.Fatalf("message %d is number %d, with text %x, in place of %d", i, m.Seq, m.Data, want)
		}
		if i > 0 && m.Epoch < messages[i-1].Epoch {
			t.Fatalf("message %d is of epoch %d after one of epoch %d", i, m.Epoch, messages[i-1].Epoch)
		}
	}
}

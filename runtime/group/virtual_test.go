package group_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/board"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/wire"
)

// hall is where members meet over memory, with the register of members.
type hall struct {
	mu       sync.Mutex
	random   *rand.Rand
	view     membership.View
	all      []*register
	meetings map[string]*meeting
	lag      time.Duration // longest delay of a view
}

func newHall(seed uint64, lag time.Duration) *hall {
	return &hall{random: rand.New(rand.NewPCG(seed, 0)), meetings: map[string]*meeting{}, lag: lag}
}

func (h *hall) draw(d time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Duration(h.random.Int64N(int64(d)))
}

// register is a manager that is told which members are dead, and tells each member views after
// random delays.
type register struct {
	hall  *hall
	board board.Board
	self  membership.ID

	mu      sync.Mutex
	lines   []*mortal // the transports that this member has made
	refuses int       // number of reports to refuse
	stays   bool      // Leave fails
}

var errRefused = errors.New("the register has no time")

// mortal is a transport that ends without notice when told to, in the goroutine that polls it.
type mortal struct {
	*mem.Transport
	doomed atomic.Bool
	dead   bool // used by the driver
}

func (m *mortal) Poll(s wire.Sink) bool {
	if m.doomed.Load() && !m.dead {
		m.dead = true
		m.Transport.Close(false, 0)
	}
	return m.Transport.Poll(s)
}

func (m *mortal) Close(bye bool, linger time.Duration) error {
	if m.doomed.Load() {
		bye = false
	}
	if m.dead {
		return nil
	}
	return m.Transport.Close(bye, linger)
}

func (h *hall) register() *register {
	r := &register{hall: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, r)
	return r
}

// change makes another view and tells it to all, after random delays.
func (h *hall) change(c membership.Change) membership.View {
	h.mu.Lock()
	v, err := c(h.view)
	same := err != nil || v.Epoch == h.view.Epoch
	h.view = v
	all := h.all
	h.mu.Unlock()
	for _, r := range all {
		if !same {
			time.AfterFunc(h.draw(h.lag+1), func() { r.board.Post(v) })
		}
	}
	return v
}

func (r *register) Join(_ context.Context, m membership.Member) (membership.View, error) {
	r.self = m.ID
	v := r.hall.change(membership.Joined(m))
	r.board.Post(v)
	return v, nil
}

func (r *register) Watch(ctx context.Context, after uint32) (membership.View, error) {
	return r.board.Wait(ctx, after)
}

func (r *register) Report(_ context.Context, epoch uint32, lost ...membership.ID) error {
	r.mu.Lock()
	refused := r.refuses > 0
	if refused {
		r.refuses--
	}
	r.mu.Unlock()
	if refused {
		return errRefused
	}
	r.hall.change(membership.Reported(r.self, epoch, lost))
	return nil
}

func (r *register) Leave(context.Context) error {
	if r.stays {
		return errRefused
	}
	r.hall.change(membership.Without(r.self))
	return nil
}

func (r *register) Close() error {
	r.board.Fail(membership.ErrClosed)
	return nil
}

// meeting is the meeting of one view.
type meeting struct {
	transports []*mem.Transport
	missing    int
	complete   chan struct{}
}

// connect lets the members of a view meet, like a transport: all or none.
func (r *register) connect(ctx context.Context, m group.Meeting) (wire.Transport, error) {
	h := r.hall
	h.mu.Lock()
	now := h.meetings[m.Job]
	if now == nil {
		ts, err := mem.New(m.Size, mem.Options{Delay: 3 * time.Millisecond, Seed: h.random.Uint64()})
		if err != nil {
			h.mu.Unlock()
			return nil, err
		}
		now = &meeting{ts, m.Size, make(chan struct{})}
		h.meetings[m.Job] = now
	}
	if now.missing--; now.missing == 0 {
		delete(h.meetings, m.Job) // another attempt is another meeting
		close(now.complete)
	}
	h.mu.Unlock()
	select {
	case <-now.complete:
		r.mu.Lock()
		defer r.mu.Unlock()
		line := &mortal{Transport: now.transports[m.Rank]}
		r.lines = append(r.lines, line)
		return line, nil
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		now.missing++
		return nil, context.Cause(ctx)
	}
}

// die ends everything that this member sends; another member finds that it is dead.
func (r *register) die() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		line.doomed.Store(true)
		line.Wake()
	}
	r.board.Fail(errors.New("dead"))
}

// actor is a member that publishes now and then and takes messages.
type actor struct {
	*group.Group
	*register
	came uint32 // epoch of its first view
	dead bool
	sent int // messages whose Publish has returned nil; the actor's own until it has ended
	got  map[membership.ID][]group.Message
	past *[]group.Change // its own until the Group is closed
}

// stage is one random history of a group.
type stage struct {
	*hall
	t             *testing.T
	wg            sync.WaitGroup
	quiet         context.Context // ends all publishing
	actors, there []*actor        // all, and the actors that have not left or died
}

// enter makes a member join, and then publish and take messages.
func (s *stage) enter() {
	r, past := s.register(), new([]group.Change)
	g, err := group.Join(s.t.Context(), group.Config{
		Name: "g", Address: "127.0.0.1:0", Manager: r, Connect: r.connect,
		Comm:    runtime.Config{PublishWindow: 5, PublishBytes: 100, MaxMessage: 64},
		Changed: func(c group.Change) { *past = append(*past, c) },
	})
	require.NoError(s.t, err)
	a := &actor{Group: g, register: r, came: g.View().Epoch, got: map[membership.ID][]group.Message{}, past: past}
	s.actors, s.there = append(s.actors, a), append(s.there, a)
	s.wg.Go(func() {
		for ; s.quiet.Err() == nil && a.Publish(s.quiet, append(numbered(a.sent), make([]byte, s.draw(40))...)) == nil; a.sent++ {
			time.Sleep(s.draw(2 * time.Millisecond))
		}
	})
	s.wg.Go(func() {
		for msg, err := range a.Messages(s.t.Context()) {
			if err == nil {
				a.got[msg.Origin] = append(a.got[msg.Origin], msg)
			}
		}
	})
}

// exit removes a random one of the actors that are there.
func (s *stage) exit() *actor {
	i := int(s.draw(time.Duration(len(s.there))))
	a := s.there[i]
	s.there = append(s.there[:i:i], s.there[i+1:]...)
	return a
}

// act makes a random event happen.
func (s *stage) act() {
	switch what := s.draw(3); {
	case what == 0 || len(s.there) < 3:
		s.enter()
	case what == 1:
		require.NoError(s.t, s.exit().Group.Leave(s.t.Context()))
	default:
		a := s.exit()
		a.dead = true
		a.die()
		time.AfterFunc(s.draw(50*time.Millisecond), func() { s.change(membership.Without(a.self)) })
	}
}

// play runs one random history of a group, and checks what all members have received.
func play(t *testing.T, seed uint64) {
	s := &stage{hall: newHall(seed, 30*time.Millisecond), t: t}
	var hush context.CancelFunc
	s.quiet, hush = context.WithCancel(t.Context())
	for range 2 + s.draw(4) {
		s.enter()
	}
	for range 6 {
		time.Sleep(s.draw(60 * time.Millisecond))
		s.act()
	}
	time.Sleep(time.Second)
	hush()
	time.Sleep(time.Minute) // until everything under way has arrived
	for _, a := range s.there {
		require.Len(t, a.View().Members, len(s.there), "%v", a.Err())
	}
	for _, a := range s.actors {
		a.Group.Close()
	}
	s.wg.Wait()
	check(t, s.actors, s.there)
	checkChanges(t, s.actors)
}

// checkChanges requires that each view is the previous one with its changes, and that no dead
// member is reported to have left.
func checkChanges(t *testing.T, actors []*actor) {
	died := map[membership.ID]bool{}
	for _, a := range actors {
		died[a.Self().ID] = a.dead
	}
	for _, a := range actors {
		var before membership.View
		for _, c := range *a.past {
			require.Greater(t, c.View.Epoch, before.Epoch)
			var want []membership.Member
			for _, m := range before.Members {
				if !slices.Contains(c.Left, m) && !slices.Contains(c.Lost, m) {
					want = append(want, m)
				}
				require.False(t, slices.Contains(c.Left, m) && died[m.ID])
			}
			require.Equal(t, append(want, c.Came...), c.View.Members)
			before = c.View
		}
		require.Equal(t, a.View(), before)
	}
}

// check requires what package group guarantees.
func check(t *testing.T, actors, there []*actor) {
	for _, origin := range actors {
		id := origin.Self().ID
		for _, a := range actors {
			gapless(t, a.got[id])
			for _, m := range a.got[id] {
				require.GreaterOrEqual(t, m.Epoch, a.came, "a message that is older than the member")
			}
		}
		for _, a := range there {
			if a == origin {
				continue
			}
			got := a.got[id]
			for _, b := range there { // the same messages as every member that stays, from when both are there
				if b != origin {
					since := max(a.came, b.came, origin.came)
					require.Equal(t, bare(from(b.got[id], since)), bare(from(got, since)), "messages of %v (dead: %v)", id, origin.dead)
				}
			}
			if !origin.dead && a.came <= origin.came {
				require.Len(t, got, origin.sent, "all that was published by who has not died")
			}
		}
	}
}

// bare returns the numbers and epochs of messages.
func bare(messages []group.Message) (out []string) {
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%d in %d", m.Seq, m.Epoch))
	}
	return out
}

// Random histories: members join, leave and die while all publish, and views reach each member at
// another time. SCHEDGEN_HEAVY=1 draws more.
func TestDrawnHistories(t *testing.T) {
	count := heavy.Or(30, 600)
	if testing.Short() {
		count = 10
	}
	for seed := range heavy.Seeds(count) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed) })
		})
	}
}

// Changed reports members that come, leave and die as such, in order.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, told := newHall(1, 0), make(chan group.Change, 10)
		enter := func(name string, changed func(group.Change)) (*group.Group, *register) {
			r := h.register()
			g, err := group.Join(t.Context(), group.Config{
				Name: "g", Label: name, Address: "127.0.0.1:0", Manager: r, Connect: r.connect, Changed: changed,
			})
			require.NoError(t, err)
			return g, r
		}
		ann, _ := enter("ann", func(c group.Change) { told <- c })
		defer ann.Close()
		require.Equal(t, "1: ann; came ann, left , lost ", words(<-told))
		bob, _ := enter("bob", nil)
		require.Equal(t, "2: ann bob; came bob, left , lost ", words(<-told))
		cy, dead := enter("cy", nil)
		require.Equal(t, "3: ann bob cy; came cy, left , lost ", words(<-told))
		require.NoError(t, bob.Leave(t.Context()))
		require.Equal(t, "4: ann bob cy; came , left , lost ", words(<-told), "in which all have heard that bob leaves")
		require.Equal(t, "5: ann cy; came , left bob, lost ", words(<-told))
		dead.die()
		h.change(membership.Without(cy.Self().ID))
		require.Equal(t, "6: ann; came , left , lost cy", words(<-told))
		require.NoError(t, ann.Leave(t.Context()))
		require.Empty(t, told)
		require.NoError(t, errors.Join(bob.Close(), cy.Close()))
	})
}

// A member goes on while more than half of the last view are left, or have left in good order.
func TestQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 0)
		enter := func() (*group.Group, *register) {
			r := h.register()
			g, err := group.Join(t.Context(), group.Config{
				Name: "g", Address: "127.0.0.1:0", Manager: r, Connect: r.connect, Comm: runtime.Config{Quorum: runtime.Majority},
			})
			require.NoError(t, err)
			return g, r
		}
		kill := func(r *register) {
			r.die()
			h.change(membership.Without(r.self))
		}
		first, _ := enter()
		defer first.Close()
		until := func(members int) {
			for v := first.View(); len(v.Members) != members; {
				var err error
				v, err = first.Await(t.Context(), v.Epoch)
				require.NoError(t, err)
			}
		}
		second, _ := enter()
		defer second.Close()
		third, lost := enter()
		defer third.Close()
		until(3)
		kill(lost)
		until(2) // of 3
		require.NoError(t, second.Leave(t.Context()))
		until(1) // nobody is lost
		var rest []*register
		for range 2 {
			g, r := enter()
			defer g.Close()
			rest = append(rest, r)
		}
		until(3)
		for _, r := range rest {
			kill(r)
		}
		_, err := first.Next(t.Context())
		require.ErrorIs(t, err, runtime.ErrQuorum)
		require.ErrorContains(t, err, "has 1 of the 3 members of view ")
		require.ErrorContains(t, err, "which were ranks [0] there")
		require.ErrorIs(t, first.Publish(t.Context(), nil), runtime.ErrQuorum)
	})
}

func words(c group.Change) string {
	names := func(all []membership.Member) string {
		var names []string
		for _, m := range all {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%d: %s; came %s, left %s, lost %s", c.View.Epoch, names(c.View.Members), names(c.Came), names(c.Left), names(c.Lost))
}

// slowLeaver is a manager whose views are faster than its answer to Leave.
type slowLeaver struct {
	*register
	closed chan struct{}
	once   sync.Once
}

func (s *slowLeaver) Leave(ctx context.Context) error {
	s.register.Leave(ctx)
	<-s.closed
	return membership.ErrClosed
}

func (s *slowLeaver) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.register.Close()
}

// A member that has seen the view without itself has left, whatever the closed manager answers.
func TestLeaveIsSeenBeforeItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 0)
		m := &slowLeaver{register: h.register(), closed: make(chan struct{})}
		g, err := group.Join(t.Context(), group.Config{Name: "g", Address: "127.0.0.1:0", Manager: m, Connect: m.connect})
		require.NoError(t, err)
		require.NoError(t, g.Leave(t.Context()))
		require.NoError(t, g.Close())
	})
}

// TestEnds checks that members that do not come to meet, and the loss of the manager, fail the
// group with an error that names the cause.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 0)
		r := h.register()
		cfg := group.Config{Name: "g", Address: "127.0.0.1:0", Manager: r, Connect: r.connect, Patience: time.Minute}
		g, err := group.Join(t.Context(), cfg)
		require.NoError(t, err)
		defer g.Close()
		start := time.Now()
		h.change(membership.Joined(membership.Member{ID: membership.NewID(), Name: "never comes"}))
		_, err = g.Next(t.Context())
		require.ErrorIs(t, err, group.ErrMeeting)
		require.Equal(t, time.Minute, time.Since(start).Truncate(time.Second))
		require.ErrorIs(t, g.Publish(t.Context(), nil), group.ErrMeeting)
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 0)
		r := h.register()
		g, err := group.Join(t.Context(), group.Config{Name: "g", Address: "127.0.0.1:0", Manager: r, Connect: r.connect})
		require.NoError(t, err)
		defer g.Close()
		r.board.Fail(membership.ErrLost)
		_, err = g.Next(t.Context())
		require.ErrorIs(t, err, membership.ErrLost)
		_, err = g.Advance(t.Context())
		require.ErrorIs(t, err, membership.ErrLost)
		require.ErrorIs(t, g.Leave(t.Context()), membership.ErrLost)
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 0)
		a, b := h.register(), h.register()
		g, err := group.Join(t.Context(), group.Config{Name: "g", Address: "127.0.0.1:0", Manager: a, Connect: a.connect})
		require.NoError(t, err)
		defer g.Close()
		other, err := group.Join(t.Context(), group.Config{Name: "g", Address: "127.0.0.1:0", Manager: b, Connect: b.connect})
		require.NoError(t, err)
		defer other.Close()
		require.NoError(t, a.Report(t.Context(), other.View().Epoch, other.Self().ID))
		_, err = other.Next(t.Context())
		require.ErrorIs(t, err, membership.ErrExpelled)
	})
}

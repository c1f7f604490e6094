// Package membershiptest is the suite that every manager of membership must pass.
package membershiptest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/membership"
)

// Group is one group under test.
type Group interface {
	// Manager returns the manager of one more member.
	Manager(t *testing.T) membership.Manager
	// Kill ends a manager like the death of its process: no other member is told.
	Kill(t *testing.T, m membership.Manager)
}

// Service is a group whose manager is separate from its members.
type Service interface {
	Group
	// Stop makes the manager unreachable for all members.
	Stop(t *testing.T)
	// Resume makes the manager reachable again, with its state.
	Resume(t *testing.T)
}

// Lapse is a Service whose members take their time from the test.
type Lapse interface {
	Service
	// Pass lets time pass until members that cannot reach the manager take it for lost.
	Pass()
}

// patience limits a test that hangs.
const patience = 5 * time.Minute

// cases are the suite.
var cases = []struct {
	name string
	run  func(t *testing.T, w *world)
}{
	{"Joins", testJoins},
	{"JoinsAtOnce", testJoinsAtOnce},
	{"Leaves", testLeaves},
	{"Deaths", testDeaths},
	{"Reports", testReports},
	{"Watch", testWatch},
	{"Turmoil", testTurmoil},
	{"Lost", testLost},
}

// Run runs the suite; start returns a new group.
func Run(t *testing.T, start func(t *testing.T) Group) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it waits
			runCase(t, start, c.run)
		})
	}
}

// RunVirtual is Run in virtual time, each case in a bubble of testing/synctest, for managers that
// wait only by their clock.
func RunVirtual(t *testing.T, start func(t *testing.T) Group) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runCase(t, start, c.run) })
		})
	}
}

func runCase(t *testing.T, start func(t *testing.T) Group, run func(t *testing.T, w *world)) {
	w := &world{t: t, group: start(t), seen: map[uint32]uint64{}}
	w.ctx, w.end = context.WithTimeout(t.Context(), patience)
	run(t, w)
	w.over()
}

// world is a group and the views that its members have seen.
type world struct {
	t       *testing.T
	group   Group
	ctx     context.Context
	end     context.CancelFunc
	members []*member
	wg      sync.WaitGroup

	mu   sync.Mutex
	seen map[uint32]uint64 // epoch -> digest of its view
}

// member is one process.
type member struct {
	membership.Member
	manager membership.Manager
	gone    bool // has left or was killed
}

// join adds a member.
func (w *world) join(name string) *member {
	w.t.Helper()
	m := w.prepare(name)
	w.enter(m)
	return m
}

func (w *world) prepare(name string) *member {
	m := &member{Member: membership.Member{ID: membership.NewID(), Name: name, Address: name + ":1"}, manager: w.group.Manager(w.t)}
	w.members = append(w.members, m)
	return m
}

// enter makes m join, and then look at all views.
func (w *world) enter(m *member) {
	v, err := m.manager.Join(w.ctx, m.Member)
	if err != nil {
		w.t.Errorf("join %s: %v", m.Name, err)
		return
	}
	w.note(m, v)
	if !v.Has(m.ID) {
		w.t.Errorf("%s joined, and view %d is without it", m.Name, v.Epoch)
	}
	w.wg.Go(func() {
		for epoch := v.Epoch; ; {
			v, err := m.manager.Watch(w.ctx, epoch)
			if err != nil {
				return
			}
			if v.Epoch <= epoch {
				w.t.Errorf("%s saw view %d after view %d", m.Name, v.Epoch, epoch)
			}
			w.note(m, v)
			epoch = v.Epoch
		}
	})
}

// note requires that all members see the same view of an epoch.
func (w *world) note(m *member, v membership.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, known := w.seen[v.Epoch]; known && first != v.Digest() {
		w.t.Errorf("%s saw another view %d than others", m.Name, v.Epoch)
	}
	w.seen[v.Epoch] = v.Digest()
	if err := v.Check(); err != nil {
		w.t.Errorf("%s saw what is no view: %v", m.Name, err)
	}
}

// settle waits until all present members see a view of exactly these members, and returns it.
func (w *world) settle() membership.View {
	w.t.Helper()
	var there []*member
	for _, m := range w.members {
		if !m.gone {
			there = append(there, m)
		}
	}
	var last membership.View
	for _, m := range there {
		var v membership.View
		for epoch := uint32(0); !just(v, there); epoch = v.Epoch {
			var err error
			v, err = m.manager.Watch(w.ctx, epoch)
			require.NoError(w.t, err, "%s waits for a view of %d members, its last was %+v", m.Name, len(there), v)
		}
		if v.Epoch > last.Epoch {
			last = v
		}
	}
	return last
}

func just(v membership.View, there []*member) bool {
	for _, m := range there {
		if !v.Has(m.ID) {
			return false
		}
	}
	return v.Epoch > 0 && len(v.Members) == len(there)
}

func (w *world) kill(m *member) {
	w.group.Kill(w.t, m.manager)
	m.gone = true
}

func (w *world) leave(m *member) {
	w.t.Helper()
	require.NoError(w.t, m.manager.Leave(w.ctx))
	m.gone = true
}

// over closes all members and requires that nothing goes on.
func (w *world) over() {
	for _, m := range w.members {
		m.manager.Close() // killed managers may return errors
	}
	w.end()
	w.wg.Wait()
}

func names(v membership.View) (names []string) {
	for _, m := range v.Members {
		names = append(names, m.Name)
	}
	return names
}

// some joins n members.
func (w *world) some(n int) {
	w.t.Helper()
	for i := range n {
		w.join(fmt.Sprintf("%c", 'a'+i))
	}
}

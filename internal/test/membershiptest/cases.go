package membershiptest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/membership"
)

// Members are in the order in which they joined.
func testJoins(t *testing.T, w *world) {
	w.some(3)
	v := w.settle()
	require.Equal(t, []string{"a", "b", "c"}, names(v))
	require.Equal(t, "b:1", v.Members[1].Address)
	_, err := w.members[0].manager.Join(w.ctx, w.members[0].Member)
	require.Error(t, err, "a second member of one process")
}

func testJoinsAtOnce(t *testing.T, w *world) {
	w.join("a")
	var wg sync.WaitGroup
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		m := w.prepare(name)
		wg.Go(func() { w.enter(m) })
	}
	wg.Wait()
	v := w.settle()
	require.Equal(t, "a", v.Members[0].Name)
	require.ElementsMatch(t, []string{"a", "b", "c", "d", "e", "f", "g", "h"}, names(v))
}

// Any member may leave, including the first; after the last there are none.
func testLeaves(t *testing.T, w *world) {
	w.some(4)
	before := w.settle()
	w.leave(w.members[2])
	v := w.settle()
	require.Equal(t, []string{"a", "b", "d"}, names(v))
	require.Greater(t, v.Epoch, before.Epoch)
	w.leave(w.members[0])
	w.settle()
	w.members[0].manager.Close()
	w.join("e")
	require.Equal(t, []string{"b", "d", "e"}, names(w.settle()))
	for _, m := range w.members {
		if !m.gone {
			w.leave(m)
			m.manager.Close()
		}
	}
}

// Dead members are removed automatically: one in the middle, the first, and all except one, one
// after the other and at once.
func testDeaths(t *testing.T, w *world) {
	w.some(5)
	w.settle()
	w.kill(w.members[2])
	require.Equal(t, []string{"a", "b", "d", "e"}, names(w.settle()))
	w.kill(w.members[0])
	require.Equal(t, []string{"b", "d", "e"}, names(w.settle()))
	w.join("f")
	w.settle()
	w.kill(w.members[1])
	w.kill(w.members[3])
	require.Equal(t, []string{"e", "f"}, names(w.settle()))
	w.kill(w.members[4])
	require.Equal(t, []string{"f"}, names(w.settle()))
	w.join("g")
	require.Equal(t, []string{"f", "g"}, names(w.settle()))
}

func testReports(t *testing.T, w *world) {
	w.some(4)
	v := w.settle()
	first, second := w.members[0].manager, w.members[1].manager

	require.NoError(t, second.Report(w.ctx, v.Epoch), "another view of the same")
	again, err := second.Watch(w.ctx, v.Epoch)
	require.NoError(t, err)
	require.Equal(t, v.Members, again.Members)

	require.NoError(t, first.Report(w.ctx, v.Epoch), "of a view that is past already")
	w.settle()
	now, err := first.Watch(w.ctx, 0)
	require.NoError(t, err)
	require.Equal(t, again.Epoch, now.Epoch)

	require.NoError(t, first.Report(w.ctx, now.Epoch, w.members[2].ID))
	w.members[2].gone = true
	require.Equal(t, []string{"a", "b", "d"}, names(w.settle()))
	expelled(t, w, w.members[2])

	require.NoError(t, second.Report(w.ctx, now.Epoch, w.members[0].ID), "the first one, in a view that is past")
	w.members[0].gone = true
	require.Equal(t, []string{"b", "d"}, names(w.settle()))
	expelled(t, w, w.members[0])
}

// expelled requires that m learns that it is no longer a member.
func expelled(t *testing.T, w *world, m *member) {
	for epoch := uint32(0); ; {
		v, err := m.manager.Watch(w.ctx, epoch)
		if err == nil && v.Has(m.ID) {
			epoch = v.Epoch
			continue
		}
		if err != nil {
			require.ErrorIs(t, err, membership.ErrExpelled)
		}
		return
	}
}

func testWatch(t *testing.T, w *world) {
	w.some(2)
	v := w.settle()
	m := w.members[1].manager
	again, err := m.Watch(w.ctx, 0)
	require.NoError(t, err)
	require.Equal(t, v, again)

	ctx, cancel := context.WithCancelCause(w.ctx)
	tired := errors.New("tired")
	done := make(chan error)
	go func() {
		_, err := m.Watch(ctx, v.Epoch)
		done <- err
	}()
	cancel(tired)
	require.ErrorIs(t, <-done, tired)

	go func() {
		_, err := m.Watch(w.ctx, v.Epoch)
		done <- err
	}()
	require.NoError(t, m.Close())
	require.ErrorIs(t, <-done, membership.ErrClosed)
	w.members[1].gone = true
	require.Equal(t, []string{"a"}, names(w.settle()), "who closes without leaving is dead")
}

// testTurmoil lets members come, leave and die at the same time.
func testTurmoil(t *testing.T, w *world) {
	w.some(4)
	w.settle()
	var wg sync.WaitGroup
	for _, name := range []string{"e", "f", "g"} {
		m := w.prepare(name)
		wg.Go(func() { w.enter(m) })
	}
	leaver := w.members[2]
	leaver.gone = true
	wg.Go(func() {
		if err := leaver.manager.Leave(w.ctx); err != nil {
			t.Errorf("leave: %v", err)
		}
	})
	w.kill(w.members[0])
	wg.Wait()
	require.ElementsMatch(t, []string{"b", "d", "e", "f", "g"}, names(w.settle()))
}

// testLost makes the manager unreachable, for a moment and for good.
func testLost(t *testing.T, w *world) {
	service, apart := w.group.(Service)
	if !apart {
		return // testDeaths covers the death of the first member
	}
	w.some(2)
	v := w.settle()
	service.Stop(t)
	service.Resume(t)
	w.join("c")
	v = w.settle()
	require.Len(t, v.Members, 3)
	service.Stop(t)
	if l, ok := service.(Lapse); ok {
		l.Pass()
	}
	for _, m := range w.members {
		_, err := m.manager.Watch(w.ctx, v.Epoch)
		require.ErrorIs(t, err, membership.ErrLost)
		require.ErrorIs(t, m.manager.Leave(w.ctx), membership.ErrLost)
	}
}

package file_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/membershiptest"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/file"
)

type group struct{ dir string }

func (g *group) Manager(t *testing.T) membership.Manager {
	m, err := file.New(file.Config{Dir: g.dir})
	require.NoError(t, err)
	return m
}

func (g *group) Kill(_ *testing.T, m membership.Manager) { m.Close() }
func (g *group) Stop(t *testing.T)                       { require.NoError(t, os.Rename(g.dir, g.dir+".away")) }
func (g *group) Resume(t *testing.T)                     { require.NoError(t, os.Rename(g.dir+".away", g.dir)) }

func TestFile(t *testing.T) {
	defer goleak.VerifyNone(t)
	membershiptest.RunVirtual(t, func(t *testing.T) membershiptest.Group {
		return &group{filepath.Join(t.TempDir(), "group")}
	})
}

// Leftovers of a process that died while it made a view block no other member. Old views, and the
// files of former members, are removed.
func TestTidy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "group")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.123"), []byte(`{"epo`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "view.x"), nil, 0o644))
	g := &group{dir}
	first := g.Manager(t)
	defer first.Close()
	_, err := first.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	for range 30 {
		other := g.Manager(t)
		_, err := other.Join(t.Context(), membership.Member{ID: membership.NewID()})
		require.NoError(t, err)
		require.NoError(t, other.Leave(t.Context()))
		require.NoError(t, other.Close())
	}
	views, err := filepath.Glob(filepath.Join(dir, "view.0*"))
	require.NoError(t, err)
	require.Len(t, views, 16)
	alive, err := filepath.Glob(filepath.Join(dir, "alive.*"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(alive), 8, "%v", alive)
}

// Exactly one view follows each view, however many members try to make it.
func TestAllAtOnce(t *testing.T) {
	g := &group{filepath.Join(t.TempDir(), "group")}
	var wg, closing sync.WaitGroup
	const members = 16
	closing.Add(members)
	for range members {
		wg.Go(func() {
			m := g.Manager(t)
			defer m.Close()
			defer closing.Wait() // a closed member is no longer a member
			defer closing.Done()
			v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
			if err != nil {
				t.Error(err)
			}
			for err == nil && len(v.Members) < members {
				v, err = m.Watch(t.Context(), v.Epoch)
			}
			if err != nil || v.Epoch != members {
				t.Errorf("view %d: %v", v.Epoch, err)
			}
		})
	}
	wg.Wait()
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "EOF",
		`{"epoch":2,"members":[]}`:            "view.0000000001: it has view 2",
		`{"epoch":1,"members":[{}]}`:          "has no identity",
		`{"epoch":1,"members":[{"id":"zz"}]}`: `identity "zz"`,
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "view.0000000001"), []byte(text), 0o644))
		m := (&group{dir}).Manager(t)
		_, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
		require.ErrorContains(t, err, want)
		require.NoError(t, m.Close())
	}
	_, err := file.New(file.Config{})
	require.ErrorContains(t, err, "Config.Dir")
	m := (&group{filepath.Join(t.TempDir(), "not", "here")}).Manager(t)
	_, err = m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = (&group{t.TempDir()}).Manager(t).Join(t.Context(), membership.Member{ID: membership.NewID(), Name: strings.Repeat("x", 256)})
	require.ErrorContains(t, err, "256 bytes")
}

// A name without a file behind it does not block its reader for ever.
func TestViewThatIsNotThere(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "view.0000000007")))
	m := (&group{dir}).Manager(t)
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := m.Join(ctx, membership.Member{ID: membership.NewID()})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// leap is a clock that can be put forward, as seen by a process that was stopped for a while.
type leap struct {
	clock.System
	by atomic.Int64
}

func (c *leap) Now() time.Time { return c.System.Now().Add(time.Duration(c.by.Load())) }

// drowsy is the clock of a process that gets less time for a while: its timers fire later.
type drowsy struct {
	clock.System
	late atomic.Int64
}

func (c *drowsy) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.System.AfterFunc(d+time.Duration(c.late.Load()), f)
}

// A host that was stopped with all its members goes on. The first member may be the first to run
// again, and must not take the others for dead: they had no time to write either.
func TestStoppedWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, others, dir := new(leap), new(drowsy), filepath.Join(t.TempDir(), "group")
		var managers []membership.Manager
		for rank := range 4 {
			cfg := file.Config{Dir: dir, Clock: others}
			if rank == 0 {
				cfg.Clock = first
			}
			m, err := file.New(cfg)
			require.NoError(t, err)
			defer m.Close()
			_, err = m.Join(t.Context(), membership.Member{ID: membership.NewID()})
			require.NoError(t, err)
			managers = append(managers, m)
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Millisecond) // no member reads or writes at the moments below
		for range 5 {
			others.late.Store(int64(2 * time.Second))
			time.Sleep(2 * time.Second)
			first.by.Add(int64(time.Minute))
			time.Sleep(2 * time.Second)
			others.late.Store(0)
			time.Sleep(20 * time.Second)
		}
		v, err := managers[3].Watch(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, v.Members, 4)
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"epoch":1,"members":[{"id":"01000000000000000000000000000000","address":"a:1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := file.Decode(bytes.NewReader(data)); err == nil && v.Epoch == 0 {
			t.Error("a view without an epoch")
		}
	})
}

package reactor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// trier reads from its non-blocking pipe and counts the calls of Ready.
type trier struct {
	p    pipe
	d    *Descriptor
	asks int
	got  int
}

func (s *trier) Ready(_ wire.Sink, read, _ bool) bool {
	if !read {
		return false
	}
	s.asks++
	n, err := unix.Read(s.p.out, make([]byte, 1))
	s.got += max(n, 0)
	return err == nil
}

func newTrier(t *testing.T, r *Reactor, eager bool) *trier {
	s := &trier{p: newPipe(t)}
	require.NoError(t, unix.SetNonblock(s.p.out, true))
	s.d = r.Descriptor(s.p.out, s)
	if eager {
		s.d.Eager()
	}
	require.NoError(t, s.d.Modify(true, false))
	return s
}

// bring makes the sources recent by enough events from them in turn.
func bring(t *testing.T, r *Reactor, sources ...*trier) {
	for i := range steady + len(sources) {
		s := sources[i%len(sources)]
		got := s.got
		s.p.fill(t)
		require.True(t, serve(t, r, nil))
		require.Equal(t, got+1, s.got)
	}
}

// vain returns how often, in a number of Serves, a source without input is read.
func vain(t *testing.T, r *Reactor, s *trier, serves int) int {
	before := s.asks
	for range serves {
		require.False(t, serve(t, r, nil))
	}
	return s.asks - before
}

func TestRecentIsReadUnasked(t *testing.T) {
	r := open(t)
	one, quiet := newTrier(t, r, true), newTrier(t, r, true)
	require.Zero(t, vain(t, r, one, 10), "nothing has come")
	bring(t, r, one)
	require.Equal(t, 10, vain(t, r, one, 10))
	require.Zero(t, quiet.asks)

	one.p.fill(t)
	r.Wait(-1)
	require.True(t, serve(t, r, nil), "what Wait has found")
	require.Equal(t, 10, vain(t, r, one, 10))
}

// A descriptor that is not recent is served when the system is next asked, and from then on always.
func TestOthersAreServed(t *testing.T) {
	for name, eager := range map[string]bool{"eager": true, "not eager": false} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			one, other := newTrier(t, r, true), newTrier(t, r, eager)
			bring(t, r, one)
			other.p.fill(t)
			n := 0
			for ; other.got == 0 && n < askOften; n++ {
				serve(t, r, nil)
			}
			require.Equal(t, 1, other.got)
			require.Equal(t, !eager, vain(t, r, one, 10) > 0, "two of them are recent, and the core is not ours")
		})
	}
}

func TestTwoWhereAlone(t *testing.T) {
	for _, alone := range []bool{false, true} {
		r := open(t)
		if alone {
			r.Alone()
		}
		one, two, three := newTrier(t, r, true), newTrier(t, r, true), newTrier(t, r, true)
		bring(t, r, one, two)
		require.Equal(t, alone, vain(t, r, one, 10) > 0)
		require.Equal(t, alone, vain(t, r, two, 10) > 0)
		three.p.fill(t)
		for range askOften {
			serve(t, r, nil)
		}
		require.Equal(t, 1, three.got)
		require.Zero(t, vain(t, r, one, 10)+vain(t, r, two, 10)+vain(t, r, three, 10), "they are too many")
	}
}

// Where no other rank needs the core, the system is asked more and more seldom while the recent
// descriptor stays the same, and often again after another one had something.
func TestAskedMoreSeldom(t *testing.T) {
	for _, alone := range []bool{false, true} {
		r := open(t)
		if alone {
			r.Alone()
		}
		one, two, three := newTrier(t, r, true), newTrier(t, r, true), newTrier(t, r, true)
		serves := func(other *trier) (n int) {
			other.p.fill(t)
			for before := other.got; other.got == before; n++ {
				serve(t, r, nil)
			}
			return n
		}
		bring(t, r, one)
		vain(t, r, one, askOften+2*askOften+4*askOften+askSeldom)
		if !alone {
			require.Equal(t, askOften, serves(two))
			continue
		}
		require.Equal(t, askSeldom, serves(two))
		bring(t, r, one, two)
		require.LessOrEqual(t, serves(three), askOften)
	}
}

// While a descriptor waits to write, each Serve asks the system, which reports all descriptors.
func TestWritersAreAskedFor(t *testing.T) {
	r, full := open(t), newPipe(t)
	one := newTrier(t, r, true)
	bring(t, r, one)
	var writable int
	d := r.Descriptor(full.in, Func(func(_, write bool) {
		if write {
			writable++
		}
	}))
	require.NoError(t, d.Modify(false, true))
	require.Zero(t, vain(t, r, one, 10))
	require.Equal(t, 10, writable)
	require.NoError(t, d.Modify(true, false))
	require.Equal(t, 10, vain(t, r, one, 10))
	require.Equal(t, 10, writable)
}

func TestForgotten(t *testing.T) {
	r := open(t)
	one := newTrier(t, r, true)
	bring(t, r, one)
	require.NoError(t, one.d.Modify(false, false))
	require.Zero(t, vain(t, r, one, 10))
	require.NoError(t, one.d.Modify(true, false))
	require.Zero(t, vain(t, r, one, 10))
	bring(t, r, one)
	require.Equal(t, 10, vain(t, r, one, 10), "it is eager as before")
}

// A descriptor without further traffic is not read for ever.
func TestRecentIsFoundAnew(t *testing.T) {
	r := open(t)
	one := newTrier(t, r, true)
	bring(t, r, one)
	vain(t, r, one, renew)
	require.Zero(t, vain(t, r, one, 10))
}

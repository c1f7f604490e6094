package reactor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// pipe is a pipe with something to read.
type pipe struct{ out, in int }

func newPipe(t *testing.T) pipe {
	var fds [2]int
	require.NoError(t, unix.Pipe(fds[:]))
	p := pipe{fds[0], fds[1]}
	t.Cleanup(func() { unix.Close(p.out); unix.Close(p.in) })
	return p
}

func (p pipe) fill(t *testing.T) {
	_, err := unix.Write(p.in, []byte{1})
	require.NoError(t, err)
}

// reader reads from its pipe, and checks that it gets the sink.
type reader struct {
	p    pipe
	sink wire.Sink
	n    int
}

func (r *reader) Ready(s wire.Sink, read, _ bool) bool {
	r.sink = s
	n, err := unix.Read(r.p.out, make([]byte, 1))
	r.n += n
	return read && err == nil
}

type noSink struct{ wire.Sink }

func open(t *testing.T) *Reactor {
	r, err := New()
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func serve(t *testing.T, r *Reactor, s wire.Sink) bool {
	moved, err := r.Serve(s)
	require.NoError(t, err)
	return moved
}

func TestServe(t *testing.T) {
	r, s := open(t), &noSink{}
	one, two := &reader{p: newPipe(t)}, &reader{p: newPipe(t)}
	token, err := r.Watch(one.p.out, one, true, false)
	require.NoError(t, err)
	_, err = r.Watch(two.p.out, two, true, false)
	require.NoError(t, err)
	require.False(t, serve(t, r, s))
	one.p.fill(t)
	require.True(t, serve(t, r, s))
	require.Same(t, s, one.sink)
	require.Equal(t, []int{1, 0}, []int{one.n, two.n})

	require.NoError(t, r.Unwatch(one.p.out, token))
	one.p.fill(t)
	two.p.fill(t)
	r.Wait(-1) // finds two events, which the next Serve takes
	require.True(t, serve(t, r, s))
	require.Equal(t, []int{1, 1}, []int{one.n, two.n})
	require.False(t, serve(t, r, s))

	again, err := r.Watch(one.p.out, one, true, false)
	require.NoError(t, err)
	require.Equal(t, token, again, "tokens are used again")
	require.True(t, serve(t, r, s))
	require.Equal(t, 2, one.n)
}

// Events of a descriptor that is no longer watched are dropped.
func TestFoundAndGone(t *testing.T) {
	r := open(t)
	one := &reader{p: newPipe(t)}
	token, err := r.Watch(one.p.out, one, true, false)
	require.NoError(t, err)
	one.p.fill(t)
	r.Wait(-1)
	require.NoError(t, r.Unwatch(one.p.out, token))
	require.False(t, serve(t, r, nil))
	require.Zero(t, one.n)
}

func TestWakeEndsWait(t *testing.T) {
	r := open(t)
	done := make(chan struct{})
	go func() { defer close(done); r.Wait(-1) }()
	r.Wake()
	<-done
	r.Wake()
	r.Wait(-1)
	r.Wait(time.Millisecond)
}

func TestDescriptor(t *testing.T) {
	r, p := open(t), newPipe(t)
	var read, write int
	take := func(did bool, n *int) {
		if did {
			*n++
		}
	}
	d := r.Descriptor(p.out, Func(func(r, w bool) { take(r, &read); take(w, &write) }))
	p.fill(t)
	require.False(t, serve(t, r, nil), "it is not watched yet")
	require.NoError(t, d.Modify(true, false))
	serve(t, r, nil)
	serve(t, r, nil)
	require.Equal(t, 2, read)
	require.NoError(t, d.Modify(false, false))
	require.NoError(t, d.Modify(false, false))
	serve(t, r, nil)
	require.Equal(t, 2, read)

	into := r.Descriptor(p.in, Func(func(r, w bool) { take(w, &write) }))
	require.NoError(t, into.Modify(false, true))
	serve(t, r, nil)
	require.Equal(t, 1, write)
	require.Error(t, r.Descriptor(-1, Func(func(bool, bool) {})).Modify(true, false))
}

func TestServeAfterClose(t *testing.T) {
	r, err := New()
	require.NoError(t, err)
	r.Close()
	_, err = r.Serve(nil)
	require.Error(t, err)
}

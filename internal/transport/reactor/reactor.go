// Package reactor lets the goroutine inside a call do the work of all descriptors of a transport:
// Serve lets each ready descriptor work, and Wait parks until one is ready.
package reactor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/transport/netpoll"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Source owns a descriptor. Ready does what is possible now, hands arrivals to s, and reports
// whether anything was sent or received.
type Source interface {
	Ready(s wire.Sink, read, write bool) (moved bool)
}

// Reactor serves descriptors. One goroutine at a time calls its methods, except Wait and Wake,
// which may run at the same time.
type Reactor struct {
	poller  *netpoll.Poller
	watched []watched // indexed by token
	free    []int32   // tokens to reuse
	writing int       // descriptors watched for writing
	recent  recent
	events  [netpoll.MaxBatch]netpoll.Event
	found   foundEvents
}

// watched is a watched descriptor.
type watched struct {
	source      Source // nil: the token is free
	read, write bool
	eager       bool // see Descriptor.Eager
}

// New returns a reactor without descriptors.
func New() (*Reactor, error) {
	p, err := netpoll.New()
	if err != nil {
		return nil, err
	}
	return &Reactor{poller: p}, nil
}

// Alone says that the caller of Serve has a core to itself.
func (r *Reactor) Alone() { r.recent.alone = true }

// foundEvents are the events that ended the last Wait. Serve takes them without asking the system
// again. Events repeat until they are served, so they may be lost or late.
type foundEvents struct {
	mu sync.Mutex
	n  atomic.Int32
	ev [netpoll.MaxBatch]netpoll.Event
}

func (f *foundEvents) put(ev []netpoll.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n.Store(int32(copy(f.ev[:], ev)))
}

func (f *foundEvents) drain(ev []netpoll.Event) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return copy(ev, f.ev[:f.n.Swap(0)])
}

// Watch adds a descriptor and returns its token. The caller closes the descriptor after Unwatch.
func (r *Reactor) Watch(fd int, s Source, read, write bool) (token int32, err error) {
	if n := len(r.free); n > 0 {
		token, r.free = r.free[n-1], r.free[:n-1]
	} else {
		token = int32(len(r.watched))
		r.watched = append(r.watched, watched{})
	}
	if err := r.poller.Add(fd, token, read, write); err != nil {
		r.free = append(r.free, token)
		return -1, err
	}
	r.watched[token].source = s
	r.note(token, read, write)
	return token, nil
}

// note records what a descriptor is watched for.
func (r *Reactor) note(token int32, read, write bool) {
	w := &r.watched[token]
	if w.write != write {
		r.writing += 1 - 2*btoi(w.write)
	}
	if w.read && !read {
		r.recent.forget(token)
	}
	w.read, w.write = read, write
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Modify changes what a descriptor is watched for.
func (r *Reactor) Modify(fd int, token int32, read, write bool) error {
	err := r.poller.Modify(fd, token, read, write)
	if err == nil {
		r.note(token, read, write)
	}
	return err
}

// Unwatch removes a descriptor, unless token is negative. The token may be reused at once: an event
// that is still under way then only causes one read without result.
func (r *Reactor) Unwatch(fd int, token int32) error {
	if token < 0 {
		return nil
	}
	r.note(token, false, false)
	r.watched[token] = watched{}
	r.free = append(r.free, token)
	return r.poller.Remove(fd)
}

// Serve lets every ready descriptor work. If a few eager descriptors have traffic, the others may
// have to wait for some Serves. After an error nothing can be served any more.
func (r *Reactor) Serve(s wire.Sink) (moved bool, err error) {
	n := 0
	if r.found.n.Load() > 0 {
		n = r.found.drain(r.events[:])
	} else {
		try, ask := r.recent.next(r.writing > 0)
		if try {
			moved = r.try(s)
		}
		if !ask {
			return moved, nil
		}
		if n, err = r.poller.Poll(r.events[:]); err != nil {
			return false, err
		}
	}
	for i := range n {
		ev := &r.events[i]
		w := &r.watched[ev.Token]
		if w.source == nil {
			continue
		}
		if ev.Read && w.eager && w.read {
			r.recent.saw(ev.Token)
		}
		moved = w.source.Ready(s, ev.Read, ev.Write) || moved
	}
	return moved, nil
}

// try reads the recent descriptors. A read may change the list.
func (r *Reactor) try(s wire.Sink) (moved bool) {
	for i := 0; i < r.recent.n; i++ {
		moved = r.watched[r.recent.tokens[i]].source.Ready(s, true, false) || moved
	}
	return moved
}

// Wait parks until a descriptor is ready, until Wake, or until d has passed; d < 0 means no limit.
func (r *Reactor) Wait(d time.Duration) {
	var ev [netpoll.MaxBatch]netpoll.Event
	if n, err := r.poller.Wait(ev[:], d); err == nil && n > 0 { // Serve returns the error as well
		r.found.put(ev[:n])
	}
}

// Wake ends the running Wait, or else the next one.
func (r *Reactor) Wake() { r.poller.Wake() }

// Close frees all resources except the descriptors.
func (r *Reactor) Close() { r.poller.Close() }

package reactor

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Descriptor is one that is watched for now this, now that, and for nothing at
// first.
type Descriptor struct {
	reactor *Reactor
	source  Source
	fd      int
	token   int32
	eager   bool
}

// Descriptor returns fd to be watched for s.
func (r *Reactor) Descriptor(fd int, s Source) *Descriptor {
	return &Descriptor{reactor: r, source: s, fd: fd, token: -1}
}

// Eager says that the descriptor may be read without its being known that something is
// there: its source must bear that, as [Source.Ready] with nothing to read.
func (d *Descriptor) Eager() {
	d.eager = true
	if d.token >= 0 {
		d.reactor.watched[d.token].eager = true
	}
}

// Modify changes what the descriptor is watched for; with neither it is not
// watched at all, not even for errors.
func (d *Descriptor) Modify(read, write bool) (err error) {
	switch {
	case !read && !write:
		err = d.reactor.Unwatch(d.fd, d.token)
		d.token = -1
	case d.token >= 0:
		err = d.reactor.Modify(d.fd, d.token, read, write)
	default:
		if d.token, err = d.reactor.Watch(d.fd, d.source, read, write); err == nil {
			d.reactor.watched[d.token].eager = d.eager
		}
	}
	if err != nil {
		return fmt.Errorf("watch a descriptor: %w", err)
	}
	return nil
}

// Func is a source that only takes notice.
type Func func(read, write bool)

// Ready implements [Source].
func (f Func) Ready(_ wire.Sink, read, write bool) bool {
	f(read, write)
	return false
}

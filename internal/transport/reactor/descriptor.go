package reactor

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Descriptor is a descriptor whose watched events change; at first it is not watched.
type Descriptor struct {
	reactor *Reactor
	source  Source
	fd      int
	token   int32
	eager   bool
}

// Descriptor returns fd as a Descriptor of source s.
func (r *Reactor) Descriptor(fd int, s Source) *Descriptor {
	return &Descriptor{reactor: r, source: s, fd: fd, token: -1}
}

// Eager says that the descriptor may be read although nothing may be there. Its source must allow
// this, as a call of [Source.Ready] with nothing to read.
func (d *Descriptor) Eager() {
	d.eager = true
	if d.token >= 0 {
		d.reactor.watched[d.token].eager = true
	}
}

// Modify changes what the descriptor is watched for. With neither read nor write it is not watched
// at all, not even for errors.
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

// Func is a source that only gets notifications.
type Func func(read, write bool)

// Ready implements [Source].
func (f Func) Ready(_ wire.Sink, read, write bool) bool {
	f(read, write)
	return false
}

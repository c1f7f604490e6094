// Package board holds the newest view of a membership manager for calls that wait for it.
package board

import (
	"context"
	"sync"

	"github.com/schedgen/schedgen/runtime/membership"
)

// Board holds the newest view, and the reason why no further view will come. The zero value is
// ready to use.
type Board struct {
	mu      sync.Mutex
	view    membership.View
	err     error
	changed chan struct{} // closed by the next change; nil if no call waits
}

// Post takes v if it is newer than the current view, and reports whether it is.
func (b *Board) Post(v membership.View) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.Epoch <= b.view.Epoch {
		return false
	}
	b.view = v
	b.wake()
	return true
}

// Fail says that no further view will come. Only the first reason counts.
func (b *Board) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		b.wake()
	}
}

func (b *Board) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// View returns the newest view; its epoch is 0 if there is none yet.
func (b *Board) View() membership.View {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view
}

// Err returns why no further view will come, or nil.
func (b *Board) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Changed returns a channel that is closed by the next change.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next()
}

func (b *Board) next() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Wait returns the newest view when its epoch is greater than after. A view takes precedence over
// an error, and an error over the end of ctx.
func (b *Board) Wait(ctx context.Context, after uint32) (membership.View, error) {
	for {
		b.mu.Lock()
		view, err := b.view, b.err
		changed := b.next()
		b.mu.Unlock()
		if view.Epoch > after {
			return view, nil
		}
		if err != nil {
			return membership.View{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return membership.View{}, context.Cause(ctx)
		}
	}
}

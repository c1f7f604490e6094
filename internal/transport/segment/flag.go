//go:build linux

package segment

import (
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Window implements [wire.Windows].
func (w *Windows) Window(rank int) []wire.Line { return w.window[rank] }

// Reaches implements [wire.Windows].
func (w *Windows) Reaches(rank int) bool { return rank != w.t.rank && rank >= 0 && rank < w.size }

// Flag implements [wire.Windows].
func (w *Windows) Flag(to, line int, f wire.Flag) {
	if p := &w.t.peers[to]; !w.t.closed && !p.gone {
		w.window[to][line].Write(f)
		w.t.stats.Flags++
		w.t.alert(p)
	}
}

// Post implements [wire.Windows].
func (w *Windows) Post(line int, to []int, f wire.Flag) {
	t := w.t
	if t.closed {
		return
	}
	w.own[line].Write(f)
	t.stats.Flags++
	for _, rank := range to {
		t.alert(&t.peers[rank])
	}
}

// alert rings p if p does not poll. A rank that stops polling says so and then looks at its lines;
// this rank has written before it checks whether p polls.
func (t *Transport) alert(p *peer) {
	if atomic.LoadUint32(&p.bell.parked) != polling {
		t.ring(p.rank)
	}
}

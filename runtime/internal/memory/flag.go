//go:build linux

package memory

import (
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Windows implements [wire.Transport].
func (t *Transport) Windows() wire.Windows { return t }

// Window implements [wire.Windows].
func (t *Transport) Window(rank int) []wire.Line { return t.segment.window(rank) }

// Reaches implements [wire.Windows].
func (t *Transport) Reaches(rank int) bool { return rank != t.rank && rank >= 0 && rank < t.size }

// Flag implements [wire.Windows].
func (t *Transport) Flag(to, line int, f wire.Flag) {
	if p := &t.peers[to]; !t.closed && !p.gone {
		p.window[line].Write(f)
		t.stats.Flags++
		t.alert(p)
	}
}

// Post implements [wire.Windows].
func (t *Transport) Post(line int, to []int, f wire.Flag) {
	if t.closed {
		return
	}
	t.peers[t.rank].window[line].Write(f)
	t.stats.Flags++
	for _, rank := range to {
		t.alert(&t.peers[rank])
	}
}

// alert rings p if it does not poll: then it looks at what stands in its lines, after it has
// said that it polls no more. This rank has written before it looks what p says.
func (t *Transport) alert(p *peer) {
	if atomic.LoadUint32(&p.bell.parked) != polling {
		t.ring(p.rank)
	}
}

package mem

import (
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Windows implements [wire.Transport].
func (t *Transport) Windows() wire.Windows {
	if t.window == nil {
		return nil
	}
	return windows{t}
}

type windows struct{ *Transport }

// Window implements [wire.Windows].
func (t windows) Window(rank int) []wire.Line { return t.all[rank].window }

// Reaches implements [wire.Windows].
func (t windows) Reaches(rank int) bool { return rank != t.rank && rank >= 0 && rank < len(t.all) }

// Flag implements [wire.Windows].
func (t windows) Flag(to, line int, f wire.Flag) {
	if !t.closed {
		t.raise(&t.all[to].window[line], f)
		t.all[to].Wake()
	}
}

// Post implements [wire.Windows].
func (t windows) Post(line int, to []int, f wire.Flag) {
	if t.closed {
		return
	}
	t.raise(&t.window[line], f)
	for _, rank := range to {
		t.all[rank].Wake()
	}
}

func (t windows) raise(l *wire.Line, f wire.Flag) {
	l.Mark, l.From = f.Mark, uint64(f.From)
	atomic.StoreUint64(&l.Seq, f.Seq)
	t.stats.Flags++
}

package mem

import "github.com/schedgen/schedgen/runtime/wire"

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
		t.all[to].window[line].Write(f)
		t.stats.Flags++
		t.all[to].Wake()
	}
}

// Post implements [wire.Windows].
func (t windows) Post(line int, to []int, f wire.Flag) {
	if t.closed {
		return
	}
	t.window[line].Write(f)
	t.stats.Flags++
	for _, rank := range to {
		t.all[rank].Wake()
	}
}

package explore

import (
	"bytes"
	"encoding/binary"

	"github.com/schedgen/schedgen/runtime/core"
)

// local is one rank: its core and the process that calls it. It is not written
// once it has been interned.
type local struct {
	core   *core.Core
	rank   int
	script []*call
	buf    []byte         // the process's memory for messages, used by all calls
	begun  int            // calls entered
	done   int            // calls returned from, well
	taken  [MaxRanks]byte // origin -> its messages that the process has taken
	failed string         // why the last call ended otherwise
	closed bool
	quit   bool // it has closed without a goodbye
	dead   bool

	// What follows from the above, for quick looks.
	whole      bool // the message of the call that it is in, or has died in, is all there
	canEnter   bool
	canReturn  bool
	canFail    bool
	canClose   bool
	canCancel  bool
	broken     error // the core's error
	alarms     []core.Alarm
	unfinished bool // its calls have not ended: it has neither closed, died nor failed
}

// inside reports whether the process is inside a call.
func (l *local) inside() bool { return l.begun > l.done && l.failed == "" }

// gone reports whether nothing reaches the rank any more.
func (l *local) gone() bool { return l.closed || l.dead }

// clone returns a copy of l whose core sends by net.
func (l *local) clone(sys *system, net core.Net) *local {
	n := *l
	n.buf = bytes.Clone(l.buf)
	var running []byte
	if l.inside() {
		running = n.buf[:l.script[l.begun-1].bytes]
	}
	n.core = l.core.Clone(net, running)
	return &n
}

// key tells l from all other states of its rank.
func (l *local) key(dst []byte) []byte {
	dst = append(dst, byte(l.rank))
	if l.closed {
		return append(dst, 'c', flag(l.quit))
	}
	dst = append(dst, byte(l.begun), byte(l.done), flag(l.dead), flag(l.whole))
	if l.dead {
		return dst
	}
	dst = append(dst, l.taken[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(l.failed)))
	dst = append(dst, l.failed...)
	dst = append(dst, l.buf...)
	return l.core.AppendState(dst)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// look fills in what follows from the rest of l.
func (l *local) look(sys *system) {
	l.canEnter, l.canReturn, l.canFail, l.canClose, l.canCancel = false, false, false, false, false
	l.alarms = nil
	l.unfinished = !l.closed && !l.dead && l.failed == ""
	if l.gone() {
		return
	}
	l.whole = false
	l.broken = l.core.Err()
	l.alarms = l.core.Alarms(nil)
	if !l.inside() && l.begun == len(l.script) && l.broken != nil {
		l.unfinished = false // the process will never know
	}
	if !l.unfinished {
		l.canClose = sys.Quit
		return
	}
	if !l.inside() {
		l.canClose = l.begun == len(l.script)
		l.canEnter = !l.canClose && (l.broken != nil || l.script[l.begun].isMessage() || l.core.Vacant())
		return
	}
	c := l.script[l.begun-1]
	switch {
	case !c.isMessage():
		l.canReturn = l.core.Ready()
	case c.Origin == l.rank:
		l.canReturn = l.core.HasRoom()
	default:
		l.canReturn = l.core.Mail() > 0
	}
	l.canFail = !l.canReturn && l.broken != nil
	l.canCancel = !l.canReturn && l.broken == nil && !c.isMessage()
	l.whole = c.bytes > 0 && bytes.Equal(l.buf[:c.bytes], c.message)
}

package explore

import (
	"bytes"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/deep"
)

// local is the state of one rank: its core and the process that calls the core. It is not modified
// once it has been interned.
type local struct {
	core   *core.Core `state:"ignored"` // see key
	rank   int
	script []*call        `state:"fixed"`
	out    *outbox        `state:"ignored"` // what the core sends
	buf    []byte         // memory of the process for messages: a part for each call that may be open
	begun  int            // calls entered
	over   set16          // calls that have returned without error
	taken  [MaxRanks]byte // by origin: number of its messages that the process has taken
	failed string         // the error of the last call, if it failed
	learnt [MaxRanks]byte // by origin: number of its questions whose results the process knows
	busy   *core.Message  // the question that the process is answering
	puts   []chunkPut     // what the rank has put, ascending
	closed bool
	quit   bool // the process has closed after a failure
	dead   bool

	// Derived from the fields above.
	whole      set16        // calls whose message is complete and that are open, or were open when the rank died or failed
	ready      set16        `state:"ignored"` // open calls that may return
	canCancel  set16        `state:"ignored"`
	canEnter   bool         `state:"ignored"`
	canFail    bool         `state:"ignored"`
	canClose   bool         `state:"ignored"`
	canAnswer  bool         `state:"ignored"`
	broken     error        `state:"ignored"` // the core's error
	alarms     []core.Alarm `state:"ignored"`
	unfinished bool         `state:"ignored"` // the calls have not ended: the rank has neither closed, died nor failed
}

// set16 is a set of calls, numbered from 0.
type set16 uint16

func (s set16) has(call int) bool   { return s>>call&1 == 1 }
func (s set16) with(call int) set16 { return s | 1<<call }
func firstCalls(n int) set16        { return 1<<n - 1 }

// inside reports whether the process has a call open.
func (l *local) inside() bool { return l.over != firstCalls(l.begun) && l.failed == "" }

// isOpen reports whether a call, numbered from 0, is open.
func (l *local) isOpen(call int) bool {
	return call < l.begun && !l.over.has(call) && l.failed == ""
}

// oldest returns the first call that has not returned.
func (l *local) oldest() int {
	call := 0
	for l.over.has(call) {
		call++
	}
	return call
}

// callOf returns the index of the call whose operation is seq, or -1.
func (l *local) callOf(seq uint64) int {
	return slices.IndexFunc(l.script, func(c *call) bool { return c.seq == seq })
}

// partOf returns the memory of the process for a call.
func (l *local) partOf(sys *system, call int) []byte {
	size := len(l.buf) / sys.Open
	at := call % sys.Open * size
	return l.buf[at : at+size]
}

// bytesOf returns the part of that memory that holds the blocks of the call.
func (l *local) bytesOf(sys *system, call int) []byte {
	out, in := l.script[call].sizes(l.rank)
	return l.partOf(sys, call)[:out+in]
}

// has reports whether the process has received everything that it wants of a call.
func (l *local) has(sys *system, call int) bool {
	c := l.script[call]
	return bytes.Equal(c.buffers(l.rank, l.bytesOf(sys, call)).Out, c.contents(c.Schedule.Wanted(l.rank)))
}

// gone reports whether the rank has closed or died, so that nothing reaches it.
func (l *local) gone() bool { return l.closed || l.dead }

// key appends an encoding that distinguishes l from all other states of its rank.
func (l *local) key(form *deep.Form, dst []byte) []byte {
	if dst = deep.Append(form, dst, l); l.core != nil {
		dst = deep.Append(form, dst, l.core)
	}
	return dst
}

// derive computes the derived fields of l.
func (l *local) derive(sys *system) {
	l.canEnter, l.canFail, l.canClose, l.canAnswer, l.ready, l.canCancel = false, false, false, false, 0, 0
	l.alarms = nil
	l.unfinished = !l.closed && !l.dead && l.failed == ""
	if l.gone() {
		return
	}
	l.broken = l.core.Err()
	l.alarms = l.core.Alarms(nil)
	if !l.inside() && l.begun == len(l.script) && l.broken != nil {
		l.unfinished = false // the process cannot learn of it
	}
	if !l.unfinished {
		l.canClose = sys.Quit
		return
	}
	l.whole = 0
	l.canAnswer = l.busy != nil || l.core.HasTask()
	if !l.inside() {
		l.canClose = l.begun == len(l.script) && l.hasLearnt()
		l.canEnter = l.begun < len(l.script) && (l.broken != nil || l.script[l.begun].isMessage() || l.core.Vacant())
		return
	}
	for call := range l.begun {
		if l.isOpen(call) {
			l.lookAt(sys, call)
		}
	}
	l.canFail = l.ready == 0 && l.broken != nil
	l.canEnter = l.broken == nil && l.begun < len(l.script) && l.begun-l.oldest() < sys.Open &&
		!l.script[l.begun].isMessage() && !l.script[l.begun-1].isMessage() && l.core.Vacant()
}

// lookAt computes the derived fields for an open call.
func (l *local) lookAt(sys *system, call int) {
	ready := false
	c := l.script[call]
	switch {
	case !c.isMessage():
		ready = l.core.Ready(c.seq)
	case c.Asks != nil:
		ready = c.Origin != l.rank || l.broken == nil && l.core.Asked(l.asked(c))
	case c.Flush:
		ready = c.Origin != l.rank || l.core.Flushed(l.published(call))
	case c.Origin == l.rank:
		ready = l.core.HasRoom()
	default:
		ready = l.core.Mail() > 0
	}
	if ready {
		l.ready = l.ready.with(call)
	} else if l.broken == nil && !c.isMessage() {
		l.canCancel = l.canCancel.with(call)
	}
	if c.block > 0 && l.has(sys, call) {
		l.whole = l.whole.with(call)
	}
}

package simnet

import (
	"fmt"
	"io"

	"github.com/schedgen/schedgen/runtime/wire"
)

// noteKind is the kind of a line of a trace.
type noteKind uint8

const (
	notePut noteKind = iota
	noteMcast
	noteDatagram
	noteGot
	noteDropped
	noteLost
	noteOverrun
	noteEnter
	noteReturn
	noteFailed
	notePublish
	noteTook
	noteAsks
	noteAsked
	noteLearnt
	noteClose
	noteEnd
	noteCrash
	notePeerLeft
	notePeerLost
)

var noteNames = [...]string{
	"puts to", "multicasts", "sends a datagram to", "takes from", "drops from", "loses on the way to host",
	"has no room for a datagram", "enters step", "returns from step", "fails in step", "publishes message", "takes a message of",
	"asks question", "takes a question of", "learns a result of",
	"closes", "has ended", "dies", "hears the goodbye of", "loses",
}

// trace is the hash of everything that has happened, and optionally its text.
type trace struct {
	digest uint64
	out    io.Writer // nil: no text
	err    error     // from out
}

// note adds a line. h is the frame that it is about, or nil.
func (w *world) note(what noteKind, rank int, h *wire.Header, n int) {
	t := &w.trace
	t.digest = mix(t.digest ^ uint64(w.now)<<8 ^ uint64(what)<<56 ^ uint64(rank)<<40)
	t.digest = mix(t.digest + uint64(n))
	if h != nil {
		t.digest = mix(t.digest ^ h.Seq<<32 ^ uint64(h.Kind)<<24 ^ uint64(h.Lane)<<16 ^ uint64(h.Slot))
		t.digest = mix(t.digest ^ uint64(h.Arg)<<32 ^ uint64(h.Len)<<8 ^ uint64(h.From))
	}
	if t.out != nil && t.err == nil {
		object := ""
		if !lone[what] {
			object = fmt.Sprintf(" %d", n)
		}
		_, t.err = fmt.Fprintf(t.out, "%14.6f ms  rank %d %s%s%s\n", float64(w.now)/1e6, rank, noteNames[what], object, spell(h))
	}
}

// lone are the kinds without an object.
var lone = [len(noteNames)]bool{noteMcast: true, noteOverrun: true, noteClose: true, noteEnd: true, noteCrash: true}

var frameNames = [...]string{"?", "slot", "joined", "late", "probe", "abort", "publish", "leave", "want", "taken", "call", "entered",
	"absent", "listen", "watch", "alive", "agree", "flush", "clash", "dispute", "over",
	"ack", "lost", "answer", "unanswered"}

// spell returns the part of a line about a frame.
func spell(h *wire.Header) string {
	if h == nil {
		return ""
	}
	name := frameNames[0]
	if int(h.Kind) < len(frameNames) {
		name = frameNames[h.Kind]
	}
	if h.Kind == wire.FrameSlot {
		name = h.Slot.String()
	}
	return fmt.Sprintf("  %s of %d, arg %d, %d bytes", name, h.Seq, h.Arg, h.Len)
}

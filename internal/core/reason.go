package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// reason is why a core has failed, as ranks tell each other. It is the same at all ranks that hear
// of one failure.
type reason struct {
	cause  cause
	origin int // the rank that has found the failure
	about  int // the rank that has caused it, as far as origin knows
	text   string
}

// cause identifies an error by a number that all ranks know: wire.Header.Print of a FrameAbort.
// Numbers from 1 on are indices of known, and then indices of Config.Causes.
type cause uint32

// known are the errors with a cause. An error that wraps another error comes before it.
var known = [...]error{ErrMismatch, ErrProtocol, ErrPeerSilent, ErrPeerLost, ErrPeerLeft}

// kindOf returns the error of c, or nil if only the origin knows it.
func (e *env) kindOf(c cause) error {
	switch i := int(c) - 1; {
	case i < 0:
		return nil
	case i < len(known):
		return known[i]
	default:
		return e.Causes[i-len(known)]
	}
}

// causes is the number of causes.
func (e *env) causes() cause { return cause(1 + len(known) + len(e.Causes)) }

// reasonOf returns the reason of this rank's failure with err.
func (e *env) reasonOf(err error) reason {
	r := reason{origin: e.Rank, about: e.Rank, text: clip(err.Error(), wire.MaxControl)}
	for c := e.causes() - 1; c > 0; c-- {
		if errors.Is(err, e.kindOf(c)) {
			r.cause = c
		}
	}
	var about *RankError
	if errors.As(err, &about) {
		r.about = about.Rank
	}
	return r
}

// clip cuts s to at most n bytes.
func clip(s string, n int) string { return s[:min(len(s), n)] }

// reasonIn returns the reason in an abort; ok is false if it is invalid.
func (e *env) reasonIn(h *wire.Header) (r reason, ok bool) {
	r = reason{cause: cause(h.Print), origin: int(h.Arg), about: int(h.Slot)}
	return r, r.cause < e.causes() && r.origin < e.Size && r.about < e.Size && h.Len <= wire.MaxControl
}

// put fills in the frame with r.
func (r *reason) put(f *wire.Frame) {
	f.Kind, f.Lane = wire.FrameAbort, wire.LaneControl
	f.Print, f.Arg, f.Slot = uint32(r.cause), uint32(r.origin), ir.Slot(r.about)
	f.Body, f.Len = []byte(r.text), len(r.text)
}

// heardError is the failure of another rank. kind is nil if only that rank knows the error.
type heardError struct {
	reason
	kind error
}

// errorOf returns the error of a rank that hears r. It wraps the same errors as the origin's error,
// and names the same rank.
func (e *env) errorOf(r *reason) error {
	return &RankError{Rank: r.about, Err: &heardError{*r, e.kindOf(r.cause)}}
}

// Error returns the origin's text. For a mismatch it adds nothing, because the text names the
// ranks.
func (e *heardError) Error() string {
	if e.kind == ErrMismatch {
		return e.text
	}
	if e.about == e.origin {
		return fmt.Sprintf("%v: %s", ErrAborted, e.text)
	}
	return fmt.Sprintf("%v, rank %d: %s", ErrAborted, e.origin, e.text)
}

// Unwrap returns ErrAborted and the kind of e.
func (e *heardError) Unwrap() []error {
	if e.kind == nil {
		return []error{ErrAborted}
	}
	return []error{ErrAborted, e.kind}
}

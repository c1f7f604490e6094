package meet

import (
	"errors"
	"fmt"
	"strings"
)

// maxGone is how many ranks that have gone are named.
const maxGone = 4

// absence is rank 0's error when the wait ends and not all ranks are here: which ones are not, and
// whether other connections were refused.
func (h *host) absence(cause error) error {
	why, besides, last := h.absent()
	return &absentError{why, besides, cause, last}
}

// absentError is the error of absence.
type absentError struct {
	why, besides string // which ranks are not here, and which connections were refused
	cause, last  error  // what has ended the wait; why the last connection was refused, or nil
}

func (e *absentError) Error() string { return e.why + ": " + e.cause.Error() + e.besides }

func (e *absentError) Unwrap() []error {
	if e.last == nil {
		return []error{e.cause}
	}
	return []error{e.cause, e.last}
}

// absent describes which ranks are not here, and whether connections were refused. last is the
// reason of the last refusal, if that connection spoke the protocol.
func (h *host) absent() (why, besides string, last error) {
	var absent []int
	for rank := 1; rank < h.cfg.Size; rank++ {
		if p := &h.guests[rank]; p.link == nil && p.gone == "" {
			absent = append(absent, rank)
		}
	}
	besides, last = h.refusals()
	return h.missing(absent), besides, last
}

// refusals describes the refused connections. last is as in absent.
func (h *host) refusals() (besides string, last error) {
	refused, last := h.strangers.Count()
	switch {
	case refused == 1 && last != nil:
		besides = fmt.Sprintf(" (besides, a connection was refused: %v)", last)
	case last != nil:
		besides = fmt.Sprintf(" (besides, %d connections were refused, one of them: %v)", refused, last)
	case refused > 0:
		besides = fmt.Sprintf(" (besides, %d connections were refused to make room for others)", refused)
	}
	return besides, last
}

// missing says which ranks have not come, which have gone, and whether others may be unable to
// reach rank 0 at all.
func (h *host) missing(absent []int) string {
	var parts []string
	if len(absent) > 0 {
		parts = append(parts, notCome(absent))
	}
	for rank := 1; rank < h.cfg.Size && len(parts) <= maxGone; rank++ {
		if why := h.guests[rank].gone; why != "" {
			parts = append(parts, fmt.Sprintf("rank %d has gone before all had arrived (%s) and has not come again", rank, why))
		}
	}
	if host, at := hostIn(h.cfg.Coordinator), h.door.Addr(); len(absent) > 0 && isName(host) && isLoopback(at.String()) {
		parts = append(parts, fmt.Sprintf("%s, where rank 0 waits, is %v on its host, which others cannot reach", host, at))
	}
	return strings.Join(parts, "; ")
}

// timeOver returns rank 0's error when its time is over because of cause.
func (h *host) timeOver(cause error) error {
	if h.table == nil {
		return h.absence(cause)
	}
	return fmt.Errorf("wait for %s to be prepared: %w", RankList(h.unprepared()), cause)
}

// faultError is why a rank cannot take part.
type faultError struct {
	rank int
	err  error
}

func (e *faultError) Error() string { return fmt.Sprintf("rank %d: %v", e.rank, e.err) }

func (e *faultError) Unwrap() error { return e.err }

// saidError is a fault that another rank has told, with the number of the rank that has it.
type saidError struct{ why string }

func (e *saidError) Error() string { return e.why }

// isFault reports whether err says why a rank cannot take part.
func isFault(err error) bool {
	return errors.As(err, new(*faultError)) || errors.As(err, new(*saidError))
}

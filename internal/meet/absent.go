package meet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxGone is how many ranks that have gone are named.
const maxGone = 4

// absence is rank 0's error when the wait ends and not all ranks are here: which ones are not, and
// whether other connections were refused.
func (n *node) absence(cause error) error {
	why, besides, last := n.absent()
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
func (n *node) absent() (why, besides string, last error) {
	var absent []int
	for rank := 1; rank < n.cfg.Size; rank++ {
		if _, here := n.roster.come[rank]; !here && n.directory.waiting[rank] == nil && !n.directory.told[rank] && !n.roster.cut[rank] && n.roster.gone[rank] == "" {
			absent = append(absent, rank)
		}
	}
	besides, last = n.refusals()
	return n.missing(absent), besides, last
}

// refusals describes the refused connections. last is as in absent.
func (n *node) refusals() (besides string, last error) {
	refused, last := n.strangers.Count()
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
func (n *node) missing(absent []int) string {
	var parts []string
	if len(absent) > 0 {
		parts = append(parts, notCome(absent))
	}
	for rank := 1; rank < n.cfg.Size && len(parts) <= maxGone; rank++ {
		if why := n.roster.gone[rank]; why != "" {
			parts = append(parts, fmt.Sprintf("rank %d has gone before all had arrived (%s) and has not come again", rank, why))
		}
	}
	if host, at := hostIn(n.cfg.Coordinator), n.door.Addr(); len(absent) > 0 && isName(host) && isLoopback(at.String()) {
		parts = append(parts, fmt.Sprintf("%s, where rank 0 waits, is %v on its host, which others cannot reach", host, at))
	}
	if len(parts) == 0 {
		return "not all ranks have reached the one above them"
	}
	return strings.Join(parts, "; ")
}

// waiting says what this rank waits for, or "" when it waits no longer. Any goroutine may call it.
func (n *node) waiting() string {
	text := make(chan string, 1)
	if !n.post(func() error {
		text <- fmt.Sprintf("rank %d of %d waits: %s", n.cfg.Rank, n.cfg.Size, n.waitsFor())
		return nil
	}) {
		return ""
	}
	return <-text
}

func (n *node) waitsFor() string {
	switch {
	case n.table != nil && len(n.unprepared()) > 0:
		return "not yet prepared: " + n.unpreparedList()
	case n.table != nil:
		return "all ranks have come, and not all are prepared"
	case n.cfg.Rank == 0:
		why, besides, _ := n.absent()
		return why + besides
	}
	besides, _ := n.refusals()
	return n.trouble.String() + besides
}

// unpreparedList names the ranks that are not known to be prepared.
func (n *node) unpreparedList() string {
	ranks := n.unprepared()
	if slices.ContainsFunc(ranks, func(rank int) bool { return hasChildren(rank, n.cfg.Size) }) {
		return RankList(ranks) + ", or ranks below,"
	}
	return RankList(ranks)
}

// lateError says that this rank's time is over.
type lateError struct{ cause error }

func (e *lateError) Error() string { return e.cause.Error() }

func (e *lateError) Unwrap() error { return e.cause }

// tooLateError is the error of a rank that has gone after all had arrived.
type tooLateError struct {
	rank int
	why  string
}

func (e *tooLateError) Error() string {
	return fmt.Sprintf("rank %d has gone after all had arrived: %s", e.rank, e.why)
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

// explain turns an error of this rank into the caller's error. giveUp ends the attempts to join the
// parent, which all ranks except 0 have.
func (n *node) explain(ctx context.Context, err error, giveUp context.CancelCauseFunc) error {
	late := errors.As(err, new(*lateError))
	switch {
	case n.cfg.Rank > 0:
		return n.appeal(ctx, err, late, giveUp)
	case late && n.table == nil:
		return n.absence(errors.Unwrap(err))
	case late:
		return fmt.Errorf("wait for %s to be prepared: %w", n.unpreparedList(), errors.Unwrap(err))
	}
	return err
}

// appeal reports an error to the parent, and waits for the outcome of all.
func (n *node) appeal(ctx context.Context, err error, late bool, giveUp context.CancelCauseFunc) error {
	told := late
	if n.outcome == nil && n.parent != nil && !late {
		n.parent.send(appendFault(nil, err.Error()))
		told = true
	}
	giveUp(err)
	for n.outcome == nil {
		_ = (<-n.inbox)() // the first error counts
	}
	if !told && isFault(err) {
		n.tell(ctx, err)
	}
	if late {
		return n.outcome.err
	}
	return err
}

// reasonForAll is the text for the children: rank 0's verdict, if it is known, or err.
func (n *node) reasonForAll(err error) string {
	if n.outcome != nil {
		if v := new(verdict); errors.As(n.outcome.err, &v) {
			return v.why
		}
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

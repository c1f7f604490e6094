package cast

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/schedgen/schedgen/runtime"
)

// errInterrupted says that the user ended the cast.
var errInterrupted = errors.New("the cast was interrupted")

// spelledError is an error with a text for users.
type spelledError struct {
	text string
	err  error
}

func (e *spelledError) Error() string { return e.text }

func (e *spelledError) Unwrap() error { return e.err }

// spelled returns err with a text in which hosts have their names, and without the details of
// communicators. It returns errInterrupted if ctx was cancelled without a cause of its own.
func spelled(ctx context.Context, err error, name func(rank int) string) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return &spelledError{errInterrupted.Error(), errors.Join(errInterrupted, err)}
	}
	return &spelledError{named(withoutDetails(err), name), err}
}

// withoutDetails returns the text of an error, in which only the cause of a failed operation is
// left.
func withoutDetails(err error) string {
	text := err.Error()
	for _, op := range operations(err) {
		text = strings.ReplaceAll(text, op.Error(), op.Err.Error())
	}
	return detail().ReplaceAllString(text, "")
}

// operations returns all [runtime.OpError] values that an error wraps, the outer ones first.
func operations(err error) (all []*runtime.OpError) {
	if op, ok := err.(*runtime.OpError); ok { //nolint:errorlint // each level is looked at by itself
		all = append(all, op)
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			all = append(all, operations(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, operations(inner)...)
		}
	}
	return all
}

// detail matches the prefix of an agreement's error.
var detail = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(agree|shrink): rank \d+, epoch \d+: `) })

var rankWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\brank (\d+)\b`) })

// named replaces the ranks in a text by the names of their hosts. A rank without a name stays.
func named(text string, name func(rank int) string) string {
	return rankWord().ReplaceAllStringFunc(text, func(word string) string {
		rank, err := strconv.Atoi(strings.TrimPrefix(word, "rank "))
		if err != nil {
			return word
		}
		if host := name(rank); host != "" {
			return host
		}
		return word
	})
}

// nameAtReceiver names a rank at a receiver, which knows no other host's name.
func nameAtReceiver(rank int) string {
	if rank == 0 {
		return "the sender"
	}
	return "receiver " + strconv.Itoa(rank)
}

// name names a rank of a round.
func (r *round) name(rank int) string {
	switch {
	case rank == 0:
		return "the sender"
	case rank <= len(r.Guests):
		return r.Guests[rank-1].Name
	}
	return ""
}

package cast

import (
	"context"
	"errors"
	"strconv"
	"strings"

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
	return withoutAgreements(text)
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

// withoutAgreements removes the prefixes of errors of agreements, such as "agree: rank 3, epoch 5: ".
func withoutAgreements(text string) string {
	for _, word := range []string{"agree: rank ", "shrink: rank "} {
		for at := 0; ; {
			i := strings.Index(text[at:], word)
			if i < 0 {
				break
			}
			at += i
			rest := strings.TrimLeft(text[at+len(word):], digits)
			rest, epoch := strings.CutPrefix(rest, ", epoch ")
			rest, ends := strings.CutPrefix(strings.TrimLeft(rest, digits), ": ")
			if !epoch || !ends {
				at += len(word)
				continue
			}
			text = text[:at] + rest
		}
	}
	return text
}

const digits = "0123456789"

// named replaces the ranks in a text by the names of their hosts. A rank without a name stays.
func named(text string, name func(rank int) string) string {
	const word = "rank "
	var b strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return b.String() + text
		}
		number := text[i+len(word):]
		number = number[:len(number)-len(strings.TrimLeft(number, digits))]
		end := i + len(word) + len(number)
		rank, err := strconv.Atoi(number)
		host := ""
		if err == nil && (i == 0 || !inWord(text[i-1])) && (end == len(text) || !inWord(text[end])) {
			host = name(rank)
		}
		if host == "" {
			host = text[i:end]
		}
		b.WriteString(text[:i] + host)
		text = text[end:]
	}
}

// inWord reports whether a byte is part of a word.
func inWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
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

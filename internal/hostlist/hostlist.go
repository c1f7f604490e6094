// Package hostlist reads lists of hosts with ranges, such as node[01-40],login[1-2].
package hostlist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDigits is the greatest number of digits in a range.
const maxDigits = 9

// Word is a word of a set, and the operator before it, which is a comma before the first word.
type Word struct {
	Op   rune
	Text string
}

// Split splits a set at the operators , ! & and ^ outside of brackets. It removes blanks around words, and
// empty words between commas.
func Split(set string) (words []Word, err error) {
	depth, from, op := 0, 0, ','
	for i, c := range set + "," {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',', '!', '&', '^':
			if depth > 0 && i < len(set) {
				continue
			}
			word := strings.TrimSpace(set[from:i])
			switch {
			case word != "":
				words = append(words, Word{op, word})
			case op != ',':
				return nil, fmt.Errorf("hosts %q: no hosts follow %c", Shortened(set), op)
			case c != ',':
				return nil, fmt.Errorf("hosts %q: no hosts stand before %c", Shortened(set), c)
			}
			op, from = c, i+1
		}
		if depth < 0 || depth > 1 {
			break
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("hosts %q: the brackets do not match", Shortened(set))
	}
	return words, nil
}

// Each calls add for each name that names, which may have ranges, stand for. It stops at the first
// error of add. Other errors quote word, the part of the list in which the names stand.
func Each(word, names string, add func(string) error) error {
	return expandWord(word, "", names, add)
}

// expandWord calls add for each name that a word with ranges stands for. before is the part before
// rest, which is already expanded.
func expandWord(word, before, rest string, add func(string) error) error {
	head, tail, ok := strings.Cut(rest, "[")
	if !ok {
		return add(before + rest)
	}
	inside, tail, ok := strings.Cut(tail, "]")
	if !ok {
		return fmt.Errorf("hosts %q: the brackets do not match", Shortened(word))
	}
	if strings.Contains(inside, ":") { // an IPv6 address
		return expandWord(word, before+head+"["+inside+"]", tail, add)
	}
	for part := range strings.SplitSeq(inside, ",") {
		r, err := parseRange(part)
		if err != nil {
			return fmt.Errorf("hosts %q: %w", Shortened(word), err)
		}
		for n := r.from; n <= r.to; n += r.step {
			if err := expandWord(word, before+head+fmt.Sprintf("%0*d", r.width, n), tail, add); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers is a range such as 01-40/2.
type numbers struct{ from, to, step, width int }

func parseRange(text string) (r numbers, err error) {
	ends, step, stepped := strings.Cut(text, "/")
	first, last, ranged := strings.Cut(ends, "-")
	if !ranged {
		last = first
	}
	r = numbers{step: 1}
	for _, n := range []struct {
		text string
		into *int
	}{{first, &r.from}, {last, &r.to}} {
		if *n.into, err = parseDigits(n.text); err != nil {
			return r, fmt.Errorf("range %q: %w", Shortened(text), err)
		}
	}
	if stepped {
		if r.step, err = parseDigits(step); err != nil || r.step == 0 || !ranged {
			return r, fmt.Errorf("range %q: a step must be a number of at least 1 after a range", Shortened(text))
		}
	}
	switch {
	case r.to < r.from:
		return r, fmt.Errorf("range %q: ends before it begins", text)
	case strings.HasPrefix(first, "0") && len(first) > 1:
		r.width = len(first)
	}
	return r, nil
}

var errDigits = errors.New("must be numbers of at most 9 digits, such as 01-40")

func parseDigits(text string) (int, error) {
	if text == "" || len(text) > maxDigits || strings.Trim(text, "0123456789") != "" {
		return 0, errDigits
	}
	return strconv.Atoi(text)
}

// Shortened cuts a text for an error.
func Shortened(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// Package words spells sizes, counts, lists and words of a shell for people.
package words

import (
	"fmt"
	"strconv"
	"strings"
)

// Bytes spells a number of bytes in about three digits, such as "33.4 MiB".
func Bytes(n float64) string {
	unit := 0
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for n >= 1024 && unit < len(names)-1 {
		n, unit = n/1024, unit+1
	}
	digits := 0
	if unit > 0 && n < 100 {
		digits = 1
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + " " + names[unit]
}

// Count spells n things, whose name is one for a single thing and more for any other number.
func Count(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// mostNamed is the number of names that Some spells.
const mostNamed = 5

// Some spells the first five names and the number of the others.
func Some(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Shell spells a word as a POSIX shell reads it, with quotes if it needs them.
func Shell(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// List spells all items, such as "1, 2, 5".
func List[T any](items []T) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, item)
	}
	return b.String()
}

// WithArticle returns a name after "a" or "an".
func WithArticle(name string) string {
	if strings.ContainsAny(name[:min(len(name), 1)], "aeiou") {
		return "an " + name
	}
	return "a " + name
}

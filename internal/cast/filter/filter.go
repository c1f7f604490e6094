// Package filter decides by patterns of rsync which entries of a tree are sent.
//
// Rules are tried in order, and the first whose pattern matches decides. An entry that no rule
// matches is included. Everything below an excluded directory is excluded, too.
//
//	*.o      a name that ends with .o, in any directory
//	/build   the entry build at the top, and nowhere else
//	a/b      an entry b in a directory a, anywhere
//	cache/   directories of this name; files of this name are not meant
//	*        any characters but a slash
//	**       any characters, slashes too
//	?        one character but a slash
//	[a-z]    one character of a class; [!a-z] is one that is not in it
//	dir/***  the directory dir and everything below it
//	\*       the character itself
package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxRules is the largest number of rules.
	MaxRules = 1000
	// MaxPattern is the greatest length of a pattern in bytes.
	MaxPattern = 1024
)

// ErrPattern is wrapped by the error for a pattern that cannot be read.
var ErrPattern = errors.New("not a pattern")

// Rule includes or excludes the entries that a pattern matches.
type Rule struct {
	Include bool
	Pattern string
}

// Filter is an ordered list of rules. A nil *Filter includes everything.
type Filter struct {
	rules    []Rule
	compiled []compiled
}

// compiled is a rule whose pattern has been read.
type compiled struct {
	include bool
	dirs    bool // only directories match
	whole   bool // the whole path must match, from the top on
	path    bool // the pattern is compared with a path, not with a name
	tree    bool // everything below a matching directory matches, too
	tokens  []token
}

// token matches one character, or any number of them.
type token struct {
	kind  tokenKind
	char  rune
	not   bool
	class []span
}

type tokenKind byte

const (
	literal tokenKind = iota
	one               // ?
	class             // [...]
	many              // *
	all               // **
)

// span is a range of characters, both ends included.
type span struct{ from, to rune }

// New returns the filter of some rules. The error wraps ErrPattern and names the pattern, or says
// that there are more than MaxRules. Without rules, the filter is nil.
func New(rules []Rule) (*Filter, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	if len(rules) > MaxRules {
		return nil, fmt.Errorf("%w: %d patterns, at most %d are allowed", ErrPattern, len(rules), MaxRules)
	}
	f := &Filter{rules: rules}
	for _, r := range rules {
		c, err := compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %s", ErrPattern, r.Pattern, err)
		}
		c.include = r.Include
		f.compiled = append(f.compiled, c)
	}
	return f, nil
}

// Rules returns the rules in their order.
func (f *Filter) Rules() []Rule {
	if f == nil {
		return nil
	}
	return f.rules
}

// Excludes reports whether an entry is excluded. Its path is relative to the top of the tree, and
// begins without a slash. Excludes does not check the directories above it: the caller must have
// done so.
func (f *Filter) Excludes(path string, dir bool) bool {
	if f == nil {
		return false
	}
	for i := range f.compiled {
		if c := &f.compiled[i]; c.matches(path, dir) {
			return !c.include
		}
	}
	return false
}

func compile(pattern string) (c compiled, err error) {
	if len(pattern) > MaxPattern {
		return c, fmt.Errorf("it has %d bytes, at most %d are allowed", len(pattern), MaxPattern)
	}
	if strings.ContainsRune(pattern, 0) {
		return c, errors.New("it has a NUL")
	}
	pattern, c.whole = strings.CutPrefix(pattern, "/")
	if pattern, c.tree = strings.CutSuffix(pattern, "/***"); !c.tree {
		pattern, c.dirs = strings.CutSuffix(pattern, "/")
	}
	if pattern == "" {
		return c, errors.New("it names nothing; /*** is everything")
	}
	c.path = c.whole || c.tree || strings.Contains(pattern, "/") || strings.Contains(pattern, "**")
	for rest := characters(pattern); len(rest) > 0; {
		var t token
		if t, rest, err = nextToken(rest); err != nil {
			return c, err
		}
		c.tokens = append(c.tokens, t)
	}
	return c, c.possible()
}

// possible returns an error if no path can match. rsync accepts such a pattern, and excludes nothing.
func (c *compiled) possible() error {
	name, plain := "", true
	for _, t := range append(slices.Clip(c.tokens), slash) {
		switch {
		case t.kind == slash.kind && t.char == slash.char:
			switch {
			case !plain:
			case name == "":
				return errors.New("no entry has an empty name")
			case name == "." || name == "..":
				return fmt.Errorf("no path below the sent directory contains %q", name)
			}
			name, plain = "", true
		case t.kind == literal:
			name += string(t.char)
		default:
			plain = false
		}
	}
	return nil
}

// slash ends a name.
var slash = token{kind: literal, char: '/'}

// nextToken reads a token from the front of a pattern.
func nextToken(in []rune) (t token, rest []rune, err error) {
	switch {
	case in[0] == '\\' && len(in) == 1:
		return t, nil, errors.New("nothing follows its last backslash")
	case in[0] == '\\':
		return token{kind: literal, char: in[1]}, in[2:], nil
	case in[0] == '?':
		return token{kind: one}, in[1:], nil
	case in[0] == '[':
		return nextClass(in[1:])
	case in[0] != '*':
		return token{kind: literal, char: in[0]}, in[1:], nil
	}
	stars := 1
	for stars < len(in) && in[stars] == '*' {
		stars++
	}
	if stars > 1 {
		return token{kind: all}, in[stars:], nil
	}
	return token{kind: many}, in[1:], nil
}

// nextClass reads a class after its opening bracket.
func nextClass(in []rune) (t token, rest []rune, err error) {
	t.kind = class
	if len(in) > 0 && (in[0] == '!' || in[0] == '^') {
		t.not, in = true, in[1:]
	}
	for first := true; ; first = false {
		if len(in) == 0 {
			return t, nil, errors.New("a [ has no ]")
		}
		if in[0] == ']' && !first {
			return t, in[1:], nil
		}
		var s span
		if s.from, in, err = classCharacter(in); err != nil {
			return t, nil, err
		}
		s.to = s.from
		if len(in) > 1 && in[0] == '-' && in[1] != ']' {
			if s.to, in, err = classCharacter(in[1:]); err != nil {
				return t, nil, err
			}
		}
		if s.to < s.from {
			return t, nil, fmt.Errorf("the range %c-%c is empty", s.from, s.to)
		}
		t.class = append(t.class, s)
	}
}

func classCharacter(in []rune) (char rune, rest []rune, err error) {
	switch {
	case in[0] == '[' && len(in) > 1 && in[1] == ':':
		return 0, nil, errors.New("classes of the form [:name:] are not supported")
	case in[0] == '\\' && len(in) > 1:
		return in[1], in[2:], nil
	}
	return in[0], in[1:], nil
}

// characters splits a name. A byte that is no UTF-8 is a character of its own.
func characters(s string) (out []rune) {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			r = utf8.MaxRune + 1 + rune(s[0])
		}
		out, s = append(out, r), s[n:]
	}
	return out
}

func (c *compiled) matches(path string, dir bool) bool {
	if c.dirs && !dir {
		return false
	}
	if !c.path {
		return c.match(path[strings.LastIndexByte(path, '/')+1:])
	}
	if c.tree {
		for end := 0; end < len(path); end++ {
			if path[end] == '/' && c.from(path[:end]) {
				return true
			}
		}
		return dir && c.from(path)
	}
	return c.from(path)
}

// from matches a whole path, or any end of it that follows a slash.
func (c *compiled) from(path string) bool {
	for {
		if c.match(path) {
			return true
		}
		slash := strings.IndexByte(path, '/')
		if c.whole || slash < 0 {
			return false
		}
		path = path[slash+1:]
	}
}

// match reports whether the tokens match text. It follows all ways through the tokens at once, so
// its time is proportional to the length of the text times that of the pattern.
func (c *compiled) match(text string) bool {
	at, next := make([]bool, len(c.tokens)+1), make([]bool, len(c.tokens)+1)
	at[0] = true
	c.skip(at)
	for _, r := range characters(text) {
		clear(next)
		for i := range c.tokens {
			if !at[i] {
				continue
			}
			switch t := &c.tokens[i]; {
			case t.kind == all || t.kind == many && r != '/':
				next[i] = true
			case t.takes(r):
				next[i+1] = true
			}
		}
		c.skip(next)
		at, next = next, at
	}
	return at[len(c.tokens)]
}

// skip lets stars match nothing.
func (c *compiled) skip(at []bool) {
	for i := range c.tokens {
		if at[i] && (c.tokens[i].kind == many || c.tokens[i].kind == all) {
			at[i+1] = true
		}
	}
}

func (t *token) takes(r rune) bool {
	switch t.kind {
	case literal:
		return r == t.char
	case one:
		return r != '/'
	case class:
		in := false
		for _, s := range t.class {
			in = in || s.from <= r && r <= s.to
		}
		return r != '/' && in != t.not
	}
	return false
}

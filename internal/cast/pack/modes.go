package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// Modes change permissions like chmod and rsync --chmod.
type Modes struct{ clauses []clause }

// clause changes the permissions of files, of directories or of both.
type clause struct {
	files, dirs bool
	octal       bool
	set         fs.FileMode // mode of an octal number
	who         string      // some of "ugo"
	op          byte        // + - =
	what        string      // some of "rwxXst"
}

// ParseModes parses clauses that are separated by commas. A clause is an octal number, or some of
// "ugoa" and one or more changes: each is one of "+-=", and some of "rwxXst". A clause without any
// of "ugoa" is for all three. A D before a clause restricts it to directories, and an F to files.
func ParseModes(text string) (*Modes, error) {
	m := new(Modes)
	for part := range strings.SplitSeq(text, ",") {
		c, err := parseClause(part)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		m.clauses = append(m.clauses, c...)
	}
	return m, nil
}

func parseClause(text string) ([]clause, error) {
	base := clause{files: true, dirs: true}
	switch {
	case strings.HasPrefix(text, "D"):
		base.files, text = false, text[1:]
	case strings.HasPrefix(text, "F"):
		base.dirs, text = false, text[1:]
	}
	if text == "" {
		return nil, errors.New("it has no permissions")
	}
	if text[0] >= '0' && text[0] <= '9' {
		n, err := strconv.ParseUint(text, 8, 16)
		if err != nil || n > 0o7777 {
			return nil, errors.New("must be an octal number up to 7777")
		}
		base.octal, base.set = true, record.ModeOf(uint16(n))
		return []clause{base}, nil
	}
	who := text[:len(text)-len(strings.TrimLeft(text, "ugoa"))]
	text = text[len(who):]
	if who == "" || strings.Contains(who, "a") {
		who = "ugo"
	}
	var all []clause
	for text != "" {
		c := base
		c.who, c.op = who, text[0]
		if strings.IndexByte("+-=", c.op) < 0 {
			return nil, fmt.Errorf("%q where +, - or = should be", text[:1])
		}
		text = text[1:]
		c.what = text[:len(text)-len(strings.TrimLeft(text, "rwxXst"))]
		text = text[len(c.what):]
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("it lacks +, - or =")
	}
	return all, nil
}

// Special reports whether the modes may set setuid, setgid or sticky.
func (m *Modes) Special() bool {
	if m == nil {
		return false
	}
	for _, c := range m.clauses {
		if c.set&record.Special != 0 || c.op != '-' && strings.ContainsAny(c.what, "st") {
			return true
		}
	}
	return false
}

// apply returns the changed mode of a file or a directory.
func (m *Modes) apply(mode fs.FileMode, dir bool) fs.FileMode {
	if m == nil {
		return mode
	}
	for i := range m.clauses {
		if c := &m.clauses[i]; dir && c.dirs || !dir && c.files {
			mode = c.apply(mode, dir)
		}
	}
	return mode
}

// special holds the bits of setuid and setgid, by user and group.
var special = map[byte]fs.FileMode{'u': fs.ModeSetuid, 'g': fs.ModeSetgid}

func (c *clause) apply(mode fs.FileMode, dir bool) fs.FileMode {
	if c.octal {
		return c.set
	}
	var bits, reach fs.FileMode
	executes := dir || mode&0o111 != 0
	for i := range len(c.who) {
		shift := map[byte]int{'u': 6, 'g': 3, 'o': 0}[c.who[i]]
		reach |= 0o7<<shift | special[c.who[i]]
		for j := range len(c.what) {
			switch c.what[j] {
			case 'r':
				bits |= 0o4 << shift
			case 'w':
				bits |= 0o2 << shift
			case 'x':
				bits |= 0o1 << shift
			case 'X':
				if executes {
					bits |= 0o1 << shift
				}
			case 's':
				bits |= special[c.who[i]]
			case 't':
				bits |= fs.ModeSticky
			}
		}
	}
	switch c.op {
	case '+':
		return mode | bits
	case '-':
		return mode &^ bits
	}
	return mode&^reach | bits
}

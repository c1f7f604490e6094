package selection

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/ir"
)

// Note says what in a table of Open MPI has no counterpart here, and what replaces it.
type Note struct {
	Line int // line of Open MPI's table, from 1
	Msg  string
}

// String returns the line and the message in one line.
func (n Note) String() string { return fmt.Sprintf("line %d: %s", n.Line, n.Msg) }

// Import reads a table of schedgen, or one of Open MPI's component tuned: JSON with
// rule_file_version 3, or the classic numbers, with or without rule-file-version-2 before them.
// Import leaves out what schedgen does not know, such as an algorithm of another version of Open
// MPI, or leaves it to the built-in rules. The notes, in the order of their lines, say so. Errors
// are as for [Parse].
func Import(data []byte) (*Rules, []Note, error) {
	if err := otherForm(data, forms.Rules, forms.OpenMPITuned); err != nil {
		return nil, nil, err
	}
	text := bytes.TrimLeft(data, " \t\r\n")
	if !bytes.HasPrefix(text, []byte("{")) {
		return imported(parseClassic(data))
	}
	root, err := parseTree(withoutTrailingCommas(data))
	if err != nil {
		return nil, nil, err
	}
	if root.get("rule_file_version") == nil && root.get("collectives") == nil {
		r, err := Parse(data)
		return r, nil, err
	}
	return imported(root.openMPI())
}

// withoutTrailingCommas returns a document with a blank in place of each comma after the last
// member of an object or array. Open MPI's reader allows such commas, and the example in its
// documentation has one.
func withoutTrailingCommas(data []byte) []byte {
	data = bytes.Clone(data)
	comma := -1 // index of a comma after a value with only blanks since; -1: none
	value := false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case ',':
			if comma = -1; value {
				comma = i
			}
			value = false
			continue
		case '}', ']':
			if comma >= 0 {
				data[comma] = ' '
			}
		case '{', '[', ':':
			comma, value = -1, false
			continue
		}
		comma, value = -1, true
	}
	return data
}

// imported makes a table from the result of a reader.
func imported(t *tuned, err error) (*Rules, []Note, error) {
	if err != nil {
		return nil, nil, err
	}
	list, err := t.kept()
	if err != nil {
		return nil, nil, err
	}
	r, err := New(list)
	slices.SortStableFunc(t.notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return r, t.notes, err
}

// tuned collects rules of Open MPI in the form of schedgen.
type tuned struct {
	list  []Rule
	notes []Note

	halved map[string]bool // collectives for which a note says that sizes were divided
}

func (t *tuned) notef(line int, format string, args ...any) {
	t.notes = append(t.notes, Note{line, fmt.Sprintf(format, args...)})
}

// rest leaves the cases that are not decided yet, for the ranks of a rule, to the built-in rules.
// Open MPI leaves them to its fixed rules.
func (t *tuned) rest(r Rule) {
	r.Bytes, r.Algorithm, r.Params, r.Line = Range{}, BuiltIn, Params{}, 0
	r.Reason = "no rule of Open MPI's table"
	t.list = append(t.list, r)
}

// kept returns the rules without idle ones, which Open MPI's readers allow. It adds a note for an
// idle rule, except for the rule that rest has added.
func (t *tuned) kept() ([]Rule, error) {
	if len(t.list) > maxRules {
		return nil, faultf(max(1, t.list[maxRules].Line), "more than %d rules", maxRules)
	}
	var kept []Rule
	for _, row := range ir.Collectives() {
		collective := row.Name
		own := of(t.list, collective)
		if len(own) == 0 {
			continue
		}
		g := newGrid(collective, own)
		used, _, err := g.try(own)
		if err != nil {
			return nil, faultf(max(1, own[0].Line), "%v", err)
		}
		decides := make(map[int]bool) // lines with a rule that decides a case
		for i, r := range own {
			if used[i] {
				kept = append(kept, *r)
				decides[r.Line] = true
			}
		}
		for _, r := range own {
			if r.Line > 0 && !decides[r.Line] {
				t.notef(r.Line, "left out: rules before it fit all its cases")
				decides[r.Line] = true // one rule of Open MPI may have become several
			}
		}
	}
	return kept, nil
}

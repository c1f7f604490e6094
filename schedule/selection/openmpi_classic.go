package selection

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/schedule"
)

// parseClassic reads the numbers of Open MPI's component tuned. They are nested:
//
//   - the number of collectives; for each of them
//   - its number and the number of communicator sizes; for each of these
//   - the size and the number of message sizes; for each of these
//   - the size, algorithm, fan and bytes of a segment. If the file starts with rule-file-version-2,
//     a number of requests follows on the same line.
//
// A comment starts with #.
//
// A size applies up to the next size, which is larger. The first communicator size also applies
// below itself, and the first message size is 0.
func parseClassic(data []byte) (*tuned, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%d bytes: at most %d are read", len(data), MaxFile)
	}
	c, err := newClassic(data)
	if err != nil {
		return nil, err
	}
	n, err := c.number("how many collectives there are", maxCollectives)
	seen := make(map[string]bool)
	for range n {
		if err != nil {
			return nil, err
		}
		err = c.collective(seen)
	}
	if err == nil && c.next < len(c.words) {
		err = faultf(c.words[c.next].line, "%s: something follows the last rule", short(c.words[c.next].text))
	}
	return &c.tuned, err
}

// maxCollectives bounds the number of collectives of any version of Open MPI.
const maxCollectives = 256

// classic is the state of the reader.
type classic struct {
	tuned
	words   []classicWord
	next    int
	lines   int
	version int
}

type classicWord struct {
	text string
	line int
}

func newClassic(data []byte) (*classic, error) {
	c := &classic{version: 1, lines: 1}
	for line := range bytes.Lines(data) {
		text, _, _ := strings.Cut(string(line), "#")
		for _, w := range strings.Fields(text) {
			c.words = append(c.words, classicWord{w, c.lines})
		}
		if bytes.HasSuffix(line, []byte{'\n'}) {
			c.lines++
		}
	}
	if len(c.words) == 0 || !strings.HasPrefix(c.words[0].text, "rule-file-version-") {
		return c, nil
	}
	switch first := c.words[0]; first.text {
	case "rule-file-version-1":
	case "rule-file-version-2":
		c.version = 2
	default:
		return nil, faultf(first.line, "%s: versions 1 and 2 are read, and 3 as JSON", short(first.text))
	}
	c.next = 1
	return c, nil
}

// number reads a number in 0 … most.
func (c *classic) number(what string, most int) (int, error) {
	if c.next == len(c.words) {
		return 0, faultf(c.lines, "the file ends, but should give %s", what)
	}
	w := c.words[c.next]
	c.next++
	// Open MPI reads 010 as 8 and 0x10 as 16. number refuses both rather than misread them.
	if plain := w.text == "0" || w.text[0] != '0'; !plain || strings.Trim(w.text, "0123456789") != "" {
		return 0, faultf(w.line, "%s is not a decimal number: must be %s", short(w.text), what)
	}
	v, err := strconv.Atoi(w.text)
	if err != nil || v > most {
		return 0, faultf(w.line, "%s: must be %s, in 0..%d", short(w.text), what, most)
	}
	return v, nil
}

// line returns the line of the last number that was read.
func (c *classic) line() int { return c.words[c.next-1].line }

func (c *classic) collective(seen map[string]bool) error {
	id, err := c.number("the number of a collective", maxCollectives-1)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("collective %d", id) // of another version of Open MPI
	if id < len(openMPICollectives) {
		name = openMPICollectives[id]
	}
	if seen[name] {
		return faultf(c.line(), "%s (number %d) occurs twice", name, id)
	}
	seen[name] = true
	if !ours(name) {
		c.notef(c.line(), "%s", leftOut(name))
	}
	n, err := c.number("how many sizes of communicators follow", maxRules)
	if err != nil {
		return err
	}
	rows := make([]classicRow, 0, min(n, len(c.words)))
	for range n {
		row, err := c.row(name)
		if err != nil {
			return err
		}
		if len(rows) > 0 && row.size <= rows[len(rows)-1].size {
			return faultf(row.line, "communicators of %d after %d: sizes must ascend", row.size, rows[len(rows)-1].size)
		}
		rows = append(rows, row)
	}
	if ours(name) {
		c.addRows(name, rows)
	}
	return nil
}

// classicRow holds the rules for a communicator size.
type classicRow struct {
	size, line int
	rules      []tunedRule // by Bytes.From, ascending
}

func (c *classic) row(collective string) (row classicRow, err error) {
	if row.size, err = c.number("a size of communicators", maxBytes-1); err != nil {
		return row, err
	}
	row.line = c.line()
	n, err := c.number("how many sizes of messages follow", maxRules)
	if err != nil {
		return row, err
	}
	for range n {
		r, err := c.rule(collective)
		if err != nil {
			return row, err
		}
		switch last := len(row.rules) - 1; {
		case last < 0 && r.Bytes.From > 0:
			return row, faultf(r.Line, "the first size of messages is %d, must be 0", r.Bytes.From)
		case last >= 0 && r.Bytes.From <= row.rules[last].Bytes.From:
			return row, faultf(r.Line, "messages of %d after %d: sizes must ascend", r.Bytes.From, row.rules[last].Bytes.From)
		case last >= 0:
			row.rules[last].Bytes.To = r.Bytes.From
		}
		row.rules = append(row.rules, r)
	}
	return row, nil
}

func (c *classic) rule(collective string) (r tunedRule, err error) {
	r.Collective = collective
	id := 0
	for _, field := range []struct {
		to   *int
		what string
	}{
		{&r.Bytes.From, "a size of messages"}, {&id, "an algorithm"}, {&r.fan, "a fan"}, {&r.segment, "the bytes of a segment"},
	} {
		if *field.to, err = c.number(field.what, maxBytes-1); err != nil {
			return r, err
		}
		if field.to == &r.Bytes.From {
			r.Line = c.line()
		}
	}
	if c.version > 1 && c.next < len(c.words) && c.words[c.next].line == c.line() {
		if r.requests, err = c.number("how many requests there are", maxBytes-1); err != nil {
			return r, err
		}
	}
	if r.algorithm = openMPIAlgorithm(collective, id); r.algorithm == "" && ours(collective) {
		r.algorithm = strconv.Itoa(id) // add does not know this name
	}
	return r, err
}

// addRows translates the rules of a collective.
func (c *classic) addRows(collective string, rows []classicRow) {
	for i, row := range rows {
		within := Rule{Collective: collective, Line: row.line}
		if i > 0 {
			within.Ranks.From = row.size
		}
		if i+1 < len(rows) && rows[i+1].size <= schedule.MaxRanks {
			within.Ranks.To = rows[i+1].size
		}
		if within.Ranks.From > schedule.MaxRanks || i+1 < len(rows) && rows[i+1].size <= 1 {
			c.notef(row.line, "left out: schedgen has 1 to %d ranks", schedule.MaxRanks)
			continue
		}
		for _, r := range row.rules {
			r.Ranks = within.Ranks
			if sized(collective) {
				c.addRule(r)
				continue
			}
			if r.Bytes.From > 0 {
				c.notef(r.Line, "left out: the size of a %s is 0", collective)
				continue
			}
			r.Bytes = Range{}
			c.addRule(r)
		}
		c.rest(within)
	}
	c.rest(Rule{Collective: collective})
}

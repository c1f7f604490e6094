package remote

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxHosts is the greatest number of hosts in a set.
	maxHosts = 1 << 16
	// maxNamed is the greatest number of hosts in a set, counted with repetitions: n[1,1][1,1]
	// counts as four.
	maxNamed = 1 << 20
	// maxDigits is the greatest number of digits in a range.
	maxDigits = 9
)

// Groups are named sets of hosts, as in the groups files of ClusterShell. A nil *Groups has none.
type Groups struct {
	names []string // in the order of the file
	sets  map[string]string
}

// ReadGroups reads lines such as "compute: node[01-40]". A # begins a comment. An error names the
// line.
func ReadGroups(r io.Reader) (*Groups, error) {
	g := &Groups{sets: map[string]string{}}
	in := bufio.NewScanner(r)
	line := 0
	for in.Scan() {
		line++
		text, _, _ := strings.Cut(in.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		name, set, ok := strings.Cut(text, ":")
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \t,@[]"):
			return nil, fmt.Errorf("line %d: %q must be GROUP: HOSTS", line, text)
		case slices.Contains(g.names, name):
			return nil, fmt.Errorf("line %d: group %q is named twice", line, name)
		}
		g.names, g.sets[name] = append(g.names, name), strings.TrimSpace(set)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	return g, nil
}

// Expand returns the hosts of a set, each once: words with commas between them, such as
// "node[01-40],rack[1-2]gw[1,3],@compute". A range keeps leading zeros and may have a step, as in
// 1-9/2. A word that begins with @ is a group, and @all is all groups unless it is defined.
func (g *Groups) Expand(set string) ([]string, error) {
	e := &expansion{groups: g, set: set, seen: map[string]bool{}, began: map[string]bool{}, done: map[string]bool{}}
	if err := e.expand(set); err != nil {
		return nil, err
	}
	return e.hosts, nil
}

// expansion is the work of Expand.
type expansion struct {
	groups      *Groups
	set         string
	hosts       []string
	named       int             // hosts, with repetitions
	seen        map[string]bool // hosts
	began, done map[string]bool // groups: each is expanded once
}

func (e *expansion) add(host string) error {
	if err := CheckHost(host); err != nil {
		return err
	}
	e.named++
	if e.seen[host] && e.named < maxNamed {
		return nil
	}
	if len(e.hosts) == maxHosts {
		return fmt.Errorf("hosts %q: more than %d", shortened(e.set), maxHosts)
	}
	if e.named >= maxNamed {
		return fmt.Errorf("hosts %q: more than %d, counted with repetitions", shortened(e.set), maxNamed-1)
	}
	e.seen[host], e.hosts = true, append(e.hosts, host)
	return nil
}

func (e *expansion) expand(set string) error {
	words, err := splitSet(set)
	if err != nil {
		return err
	}
	for _, word := range words {
		name, group := strings.CutPrefix(word, "@")
		if !group {
			err = expandWord(word, "", word, e.add)
		} else {
			err = e.expandGroup(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *expansion) expandGroup(name string) error {
	switch {
	case e.done[name]:
		return nil
	case e.began[name]:
		return fmt.Errorf("group %q contains itself", name)
	case e.groups == nil:
		return fmt.Errorf("group %q: there is no file of groups; --groups names one", name)
	}
	sets := []string{e.groups.sets[name]}
	if _, ok := e.groups.sets[name]; !ok {
		if name != "all" {
			return fmt.Errorf("group %q: not in the file of groups, which has %s", name, strings.Join(e.groups.names, ", "))
		}
		sets = nil
		for _, each := range e.groups.names {
			sets = append(sets, "@"+each)
		}
	}
	e.began[name] = true
	for _, set := range sets {
		if err := e.expand(set); err != nil {
			return err
		}
	}
	e.done[name] = true
	return nil
}

// splitSet splits a set at commas outside of brackets. It removes blanks around words.
func splitSet(set string) (words []string, err error) {
	depth, from := 0, 0
	for i, c := range set + "," {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && (depth == 0 || i == len(set)):
			if word := strings.TrimSpace(set[from:i]); word != "" {
				words = append(words, word)
			}
			from = i + 1
		}
		if depth < 0 || depth > 1 {
			break
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("hosts %q: the brackets do not match", shortened(set))
	}
	return words, nil
}

// expandWord calls add for each host of a word. before is the part before rest, which is already
// expanded.
func expandWord(word, before, rest string, add func(string) error) error {
	head, tail, ok := strings.Cut(rest, "[")
	if !ok {
		return add(before + rest)
	}
	inside, tail, ok := strings.Cut(tail, "]")
	if !ok {
		return fmt.Errorf("hosts %q: the brackets do not match", shortened(word))
	}
	if strings.Contains(inside, ":") { // an IPv6 address
		return expandWord(word, before+head+"["+inside+"]", tail, add)
	}
	for part := range strings.SplitSeq(inside, ",") {
		r, err := parseRange(part)
		if err != nil {
			return fmt.Errorf("hosts %q: %w", shortened(word), err)
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
			return r, fmt.Errorf("range %q: %w", shortened(text), err)
		}
	}
	if stepped {
		if r.step, err = parseDigits(step); err != nil || r.step == 0 || !ranged {
			return r, fmt.Errorf("range %q: a step must be a number of at least 1 after a range", shortened(text))
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

// shortened cuts a text for an error.
func shortened(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

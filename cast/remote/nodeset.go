package remote

import (
	"bufio"
	"cmp"
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
	// counts as four. An operator counts the hosts before it once more.
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

// Expand returns the hosts of a set, each once, in the order in which the set names them:
//
//	n[01-40],m     hosts of either
//	n[01-40]!n07   hosts of the first that are not in the second
//	@gpu&n[01-20]  hosts of both
//	@gpu^@old      hosts of one of the two, and not of both
//
// As in ClusterShell, all operators bind alike, and the set is read from the left. A range keeps
// leading zeros and may have a step, as in 1-9/2. A word that begins with @ is a group, or several,
// as in @rack[1-4]. @all is all groups unless it is defined.
func (g *Groups) Expand(set string) ([]string, error) {
	e := &expansion{groups: g, set: set, began: map[string]bool{}, done: map[string][]string{}}
	return e.expand(set)
}

// expansion is the work of Expand.
type expansion struct {
	groups *Groups
	set    string
	named  int                 // hosts of all words, and of all sets that an operator has changed
	began  map[string]bool     // groups
	done   map[string][]string // hosts of groups
}

// expand returns the hosts of a set.
func (e *expansion) expand(set string) ([]string, error) {
	words, err := splitSet(set)
	if err != nil {
		return nil, err
	}
	all := &hostSet{has: map[string]bool{}}
	for _, word := range words {
		some := all
		if word.op != ',' {
			some = &hostSet{has: map[string]bool{}}
			if err := e.count(len(all.list)); err != nil {
				return nil, err
			}
		}
		if err := e.word(word.text, some); err != nil {
			return nil, err
		}
		all = all.combine(word.op, some)
	}
	return all.list, nil
}

// word adds the hosts of a word to a set.
func (e *expansion) word(word string, to *hostSet) error {
	names, group := strings.CutPrefix(word, "@")
	if !group {
		return expandWord(word, "", word, func(host string) error { return e.add(host, to) })
	}
	return expandWord(word, "", names, func(name string) error {
		hosts, err := e.group(name)
		for _, host := range hosts {
			err = cmp.Or(err, e.add(host, to))
		}
		return err
	})
}

// add adds a host to a set.
func (e *expansion) add(host string, to *hostSet) error {
	if err := CheckHost(host); err != nil {
		return err
	}
	if len(to.list) == maxHosts && !to.has[host] {
		return fmt.Errorf("hosts %q: more than %d", shortened(e.set), maxHosts)
	}
	to.add(host)
	return e.count(1)
}

// count counts named hosts.
func (e *expansion) count(hosts int) error {
	if e.named += hosts; e.named >= maxNamed {
		return fmt.Errorf("hosts %q: more than %d, counted with repetitions", shortened(e.set), maxNamed-1)
	}
	return nil
}

// group returns the hosts of a group.
func (e *expansion) group(name string) ([]string, error) {
	hosts, done := e.done[name]
	switch {
	case done:
		return hosts, nil
	case e.began[name]:
		return nil, fmt.Errorf("group %q contains itself", name)
	case e.groups == nil:
		return nil, fmt.Errorf("group %q: there is no file of groups; --groups names one", name)
	}
	set, ok := e.groups.sets[name]
	switch {
	case ok:
	case name != "all":
		return nil, fmt.Errorf("group %q: not in the file of groups, which has %s", name, strings.Join(e.groups.names, ", "))
	case len(e.groups.names) > 0:
		set = "@" + strings.Join(e.groups.names, ",@")
	}
	e.began[name] = true
	hosts, err := e.expand(set)
	if err != nil {
		return nil, err
	}
	e.done[name] = hosts
	return hosts, nil
}

// hostSet is a set of hosts in the order in which they were added.
type hostSet struct {
	list []string
	has  map[string]bool
}

func (s *hostSet) add(host string) {
	if !s.has[host] {
		s.has[host], s.list = true, append(s.list, host)
	}
}

// combine returns the hosts that an operator selects from two sets.
func (s *hostSet) combine(op rune, other *hostSet) *hostSet {
	if op == ',' {
		return s // which has got the other's hosts already
	}
	out := &hostSet{has: map[string]bool{}}
	for _, host := range s.list {
		if other.has[host] == (op == '&') {
			out.add(host)
		}
	}
	for _, host := range other.list {
		if op == '^' && !s.has[host] {
			out.add(host)
		}
	}
	return out
}

// setWord is a word of a set, and the operator before it, which is a comma before the first word.
type setWord struct {
	op   rune
	text string
}

// splitSet splits a set at the operators outside of brackets. It removes blanks around words, and
// empty words between commas.
func splitSet(set string) (words []setWord, err error) {
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
				words = append(words, setWord{op, word})
			case op != ',':
				return nil, fmt.Errorf("hosts %q: no hosts follow %c", shortened(set), op)
			case c != ',':
				return nil, fmt.Errorf("hosts %q: no hosts stand before %c", shortened(set), c)
			}
			op, from = c, i+1
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

// expandWord calls add for each name that a word with ranges stands for. before is the part before
// rest, which is already expanded.
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

package remote

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/hostlist"
)

const (
	// maxHosts is the greatest number of hosts in a set.
	maxHosts = 1 << 16
	// maxNamed is the greatest number of hosts in a set, counted with repetitions: n[1,1][1,1]
	// counts as four. An operator counts the hosts before it once more.
	maxNamed = 1 << 20
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
	words, err := hostlist.Split(set)
	if err != nil {
		return nil, err
	}
	all := &hostSet{has: map[string]bool{}}
	for _, word := range words {
		some := all
		if word.Op != ',' {
			some = &hostSet{has: map[string]bool{}}
			if err := e.count(len(all.list)); err != nil {
				return nil, err
			}
		}
		if err := e.word(word.Text, some); err != nil {
			return nil, err
		}
		all = all.combine(word.Op, some)
	}
	return all.list, nil
}

// word adds the hosts of a word to a set.
func (e *expansion) word(word string, to *hostSet) error {
	names, group := strings.CutPrefix(word, "@")
	if !group {
		return hostlist.Each(word, word, func(host string) error { return e.add(host, to) })
	}
	return hostlist.Each(word, names, func(name string) error {
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
		return fmt.Errorf("hosts %q: more than %d", hostlist.Shortened(e.set), maxHosts)
	}
	to.add(host)
	return e.count(1)
}

// count counts named hosts.
func (e *expansion) count(hosts int) error {
	if e.named += hosts; e.named >= maxNamed {
		return fmt.Errorf("hosts %q: more than %d, counted with repetitions", hostlist.Shortened(e.set), maxNamed-1)
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

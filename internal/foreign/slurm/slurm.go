// Package slurm reads the topology.conf of Slurm's plugin topology/tree as a network.
package slurm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/internal/hostlist"
	"github.com/schedgen/schedgen/network"
)

const (
	maxLine = 1 << 20  // bytes of a line with its continuations
	maxFile = 64 << 20 // bytes of a file
)

// Is reports whether a text begins as a topology.conf does: after comments, a line names a switch.
func Is(head []byte) bool {
	for line := range strings.Lines(string(head)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			key, _, ok := strings.Cut(line, "=")
			return ok && strings.EqualFold(strings.TrimSpace(key), "SwitchName")
		}
	}
	return false
}

// tree is the content of a file.
type tree struct {
	hosts    []string
	switches []string          // in the order of the file
	lines    map[string]int    // by switch
	below    map[string]bool   // switches that some switch has below it
	links    []link            // from a switch to what is below it
	above    map[string]string // by host or switch: the switch above it
}

// link is the link of a switch to a host or to a switch below it.
type link struct {
	up, down string
	trunk    bool
	line     int
}

// Parse reads a topology.conf. The hosts are the ranks, in the order of the file. The file has no
// rates, so o gives them: Rate is that of a link to a host, and Trunk that of a link between two
// switches. LinkSpeed is a number without a unit in Slurm, and is ignored. Faults of the input are a
// *[network.ParseError].
func Parse(r io.Reader, o network.Options) (*network.Network, error) {
	t := &tree{lines: map[string]int{}, below: map[string]bool{}, above: map[string]string{}}
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	if err := t.read(limited); err != nil {
		return nil, err
	}
	if limited.N == 0 {
		return nil, &network.ParseError{Err: fmt.Errorf("a file of more than %d bytes", maxFile)}
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if o.Trunk == 0 {
		o.Trunk = o.Rate
	}
	var links []network.Link
	for _, l := range t.links {
		rate := o.Rate
		if l.trunk {
			rate = o.Trunk
		}
		links = append(links, network.Link{A: l.down, B: l.up, Rate: rate, Delay: o.Delay})
	}
	n, err := network.New("", t.hosts, t.switches, links)
	if err != nil {
		return nil, &network.ParseError{Err: err}
	}
	return n, nil
}

// read reads the lines. A backslash at the end of a line joins the next one to it.
func (t *tree) read(r io.Reader) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	line, first, joined := 0, 0, ""
	for scan.Scan() {
		if line++; joined == "" {
			first = line
		}
		text, _, _ := strings.Cut(scan.Text(), "#")
		text, more := strings.CutSuffix(strings.TrimRight(text, " \t\r"), `\`)
		if joined += text; len(joined) > maxLine {
			return &network.ParseError{Line: first, Err: bufio.ErrTooLong}
		}
		if more {
			continue
		}
		if err := t.line(first, strings.Fields(joined)); err != nil {
			return &network.ParseError{Line: first, Err: err}
		}
		joined = ""
	}
	if err := scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &network.ParseError{Line: line + 1, Err: fmt.Errorf("longer than %d bytes", maxLine)}
	} else if err != nil {
		return err
	}
	if err := t.line(first, strings.Fields(joined)); err != nil {
		return &network.ParseError{Line: first, Err: err}
	}
	return nil
}

// line reads the words of a line.
func (t *tree) line(line int, words []string) error {
	if len(words) == 0 {
		return nil
	}
	values := map[string]string{}
	for i, word := range words {
		key, value, ok := strings.Cut(word, "=")
		key = strings.ToLower(key)
		switch {
		case !ok || value == "" || i == 0 && key != "switchname":
			return fmt.Errorf("%s: want a switch and what is below it, such as SwitchName=s0 Nodes=n[1-4]", hostlist.Shortened(word))
		case key != "switchname" && key != "nodes" && key != "switches" && key != "linkspeed":
			return fmt.Errorf("%s: want SwitchName, Nodes, Switches or LinkSpeed", hostlist.Shortened(word))
		}
		if _, twice := values[key]; twice {
			return fmt.Errorf("%s: the line has two values of this", hostlist.Shortened(word))
		}
		values[key] = value
	}
	name := values["switchname"]
	switch {
	case t.lines[name] > 0:
		return fmt.Errorf("switch %s: line %d already describes it", name, t.lines[name])
	case values["nodes"] == "" && values["switches"] == "":
		return fmt.Errorf("switch %s: has neither Nodes nor Switches", name)
	case len(t.switches) == network.MaxNodes:
		return fmt.Errorf("switch %s: more than %d switches", name, network.MaxNodes)
	}
	t.lines[name], t.switches = line, append(t.switches, name)
	if err := t.add(line, name, values["nodes"], false); err != nil {
		return fmt.Errorf("switch %s: %w", name, err)
	}
	if err := t.add(line, name, values["switches"], true); err != nil {
		return fmt.Errorf("switch %s: %w", name, err)
	}
	return nil
}

// add adds the links of a switch to a list of hosts or of switches.
func (t *tree) add(line int, up, list string, trunk bool) error {
	words, err := hostlist.Split(list)
	if err != nil {
		return err
	}
	what, most := "host", network.MaxRanks
	if trunk {
		what, most = "switch", network.MaxNodes
	}
	for _, w := range words {
		if w.Op != ',' {
			return fmt.Errorf("%s: want a comma in place of %c", hostlist.Shortened(list), w.Op)
		}
		err := hostlist.Each(w.Text, w.Text, func(name string) error {
			key := what + " " + name
			if above, ok := t.above[key]; ok {
				return fmt.Errorf("%s is already below switch %s", key, above)
			}
			if t.above[key] = up; trunk {
				t.below[name] = true
			} else {
				t.hosts = append(t.hosts, name)
			}
			if len(t.hosts) > most || len(t.below) > most {
				return fmt.Errorf("%s: more than %d", hostlist.Shortened(list), most)
			}
			t.links = append(t.links, link{up, name, trunk, line})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the switches are no tree. No host and no switch is below two switches.
func (t *tree) check() error {
	if len(t.switches) == 0 {
		return &network.ParseError{Err: errors.New("no switches: want lines such as SwitchName=s0 Nodes=n[1-4]")}
	}
	children := map[string][]string{}
	for _, l := range t.links {
		if l.trunk && t.lines[l.down] == 0 {
			return &network.ParseError{Line: l.line, Err: fmt.Errorf("switch %s: no line describes switch %s", l.up, l.down)}
		}
		if l.trunk {
			children[l.up] = append(children[l.up], l.down)
		}
	}
	top := ""
	for _, name := range t.switches {
		switch {
		case t.below[name]:
		case top != "":
			return &network.ParseError{Line: t.lines[name], Err: fmt.Errorf("switch %s: no switch leads from it to switch %s", name, top)}
		default:
			top = name
		}
	}
	if top == "" {
		return &network.ParseError{Line: t.lines[t.switches[0]], Err: fmt.Errorf("switch %s: is below itself", t.switches[0])}
	}
	reached := map[string]bool{}
	for todo := []string{top}; len(todo) > 0; {
		name := todo[len(todo)-1]
		reached[name] = true
		todo = append(todo[:len(todo)-1], children[name]...)
	}
	for _, name := range t.switches {
		if !reached[name] {
			return &network.ParseError{Line: t.lines[name], Err: fmt.Errorf("switch %s: is below itself", name)}
		}
	}
	return nil
}

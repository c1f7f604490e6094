package network

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// ParseError is the error of a reader of networks.
type ParseError struct {
	Line int // line of the fault, from 1; 0: the fault is in no line
	Err  error
}

// Error returns the line and the fault.
func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

// Unwrap returns the fault.
func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads a network in the text form. Faults of the input are a *[ParseError].
func Parse(r io.Reader) (*Network, error) {
	d := newDraft("")
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<22) // a line with all ranks
	line := 0
	for scan.Scan() {
		line++
		text, _, _ := strings.Cut(scan.Text(), "#")
		if words := strings.Fields(text); len(words) > 0 {
			if err := d.line(words); err != nil {
				return nil, &ParseError{line, err}
			}
		}
	}
	if err := scan.Err(); err == bufio.ErrTooLong {
		return nil, &ParseError{line + 1, fmt.Errorf("longer than %d bytes", 1<<22)}
	} else if err != nil {
		return nil, err
	}
	n, err := d.finish()
	if err != nil {
		return nil, &ParseError{0, err}
	}
	return n, nil
}

// line reads the words of a line.
func (d *draft) line(words []string) error {
	what, args := words[0], words[1:]
	of := func(err error, names ...string) error {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{what}, names...), " "), err)
	}
	switch what {
	case "network":
		switch {
		case len(args) != 1 || !IsName(args[0]):
			return of(fmt.Errorf("want one name: %s", namesAre), args...)
		case d.Name != "":
			return of(fmt.Errorf("the network is already called %s", d.Name), args...)
		}
		d.Name = args[0]
	case "rank", "switch":
		if len(args) == 0 {
			return of(fmt.Errorf("want names"))
		}
		for _, name := range args {
			if err := d.node(name, what == "rank"); err != nil {
				return fmt.Errorf("%s %w", what, err)
			}
		}
	case "link", "arc":
		if len(args) != 3 && len(args) != 4 {
			return of(fmt.Errorf("want two nodes, a rate and perhaps a delay, such as %s a b 10Gbit delay=5us", what), args...)
		}
		rate, err := ParseRate(args[2])
		if err != nil {
			return of(err, args[:2]...)
		}
		var delay int64
		if len(args) == 4 {
			text, ok := strings.CutPrefix(args[3], "delay=")
			if !ok {
				return of(fmt.Errorf("%q: want a delay, such as delay=5us", args[3]), args[:2]...)
			}
			if delay, err = ParseDelay(text); err != nil {
				return of(err, args[:2]...)
			}
		}
		add := d.arc
		if what == "link" {
			add = d.link
		}
		if err := add(args[0], args[1], rate, delay); err != nil {
			return of(err, args[:2]...)
		}
	case "route":
		for _, name := range args {
			if _, known := d.isRank[name]; !known {
				return of(fmt.Errorf("no node %s", name), args...)
			}
		}
		if len(args) < 2 || !d.isRank[args[0]] || !d.isRank[args[1]] {
			return of(fmt.Errorf("want two ranks, and then the nodes between them"), args...)
		}
		d.routes = append(d.routes, append(append([]string{args[0]}, args[2:]...), args[1]))
	default:
		return fmt.Errorf("%q: want network, rank, switch, link, arc or route", what)
	}
	return nil
}

// Write writes the canonical text form. [Parse] reads it back as an equal network.
func (n *Network) Write(w io.Writer) error {
	var b bytes.Buffer
	if n.Name != "" {
		fmt.Fprintf(&b, "network %s\n", n.Name)
	}
	fmt.Fprintf(&b, "rank %s\n", strings.Join(n.Ranks, " "))
	if len(n.Switches) > 0 {
		fmt.Fprintf(&b, "switch %s\n", strings.Join(n.Switches, " "))
	}
	for _, a := range n.Arcs {
		what := "arc"
		if back := n.Find(a.To, a.From); back >= 0 && n.Arcs[back].Rate == a.Rate && n.Arcs[back].Delay == a.Delay {
			if what = "link"; a.From > a.To {
				continue // written with the other direction
			}
		}
		fmt.Fprintf(&b, "%s %s %s %s", what, n.NameOf(a.From), n.NameOf(a.To), FormatRate(a.Rate))
		if a.Delay > 0 {
			fmt.Fprintf(&b, " delay=%s", FormatDelay(a.Delay))
		}
		b.WriteByte('\n')
	}
	for _, r := range n.Routes {
		fmt.Fprintf(&b, "route %s %s", n.NameOf(r[0]), n.NameOf(r[len(r)-1]))
		for _, v := range r[1 : len(r)-1] {
			fmt.Fprintf(&b, " %s", n.NameOf(v))
		}
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

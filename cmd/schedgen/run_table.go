package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// print prints the results, as a table or an object. It returns an error if data were wrong.
func (s *session) print(t *tally) error {
	write := s.table
	if s.flags.JSON {
		write = s.object
	}
	if err := write(t); err != nil {
		return err
	}
	wrong := t.wrong()
	if len(wrong) == 0 {
		return nil
	}
	first := t.ranks[wrong[0]].outcome.Wrong
	return &noError{fmt.Sprintf("%s: found at %s; rank %d: %s", s.job.kind().wrong(), count(len(wrong), "rank"), wrong[0], first.First)}
}

func (s *session) table(t *tally) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	k := s.job.kind()
	below := k.table(s, w, t)
	if err := w.Flush(); err != nil {
		return err
	}
	b.WriteString(below)
	if len(t.wrong()) == 0 {
		fmt.Fprintln(&b, k.verdict(s))
	}
	for _, rank := range t.wrong() {
		f := t.ranks[rank].outcome.Wrong
		fmt.Fprintf(&b, "rank %d: WRONG %d times, first %s\n", rank, f.Count, f.First)
	}
	_, err := s.std.Out.Write(b.Bytes())
	return err
}

// title returns the algorithm, the transport and the losses of the run.
func (s *session) title() string {
	lost := ""
	if s.job.Link.Loss > 0 {
		lost = fmt.Sprintf(", losing %.4g %% of all multicasts", 100*s.job.Link.Loss)
	}
	return s.job.Algorithm + " over " + s.job.Link.name() + s.job.Link.words() + lost
}

// name spells the transport, and the interface or device that it uses.
func (l *link) name() string {
	words := []string{l.Transport}
	if l.Interface != "" && (l.Transport == overMcast || l.Transport == overHybrid) {
		words = append(words, "on", l.Interface)
	}
	if l.Device != "" {
		words = append(words, "on", l.Device)
	}
	if l.IPv6 {
		words = append(words, "(IPv6)")
	}
	return strings.Join(words, " ")
}

// spell spells a time with three digits.
func spell(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d >= u.unit {
			return digits(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

func spellSeconds(s float64) string { return spell(time.Duration(s * float64(time.Second))) }

// rate spells a rate in bytes a second with three digits.
func rate(bytes float64) string {
	for _, name := range []string{"GB", "MB", "kB"} {
		if unit := float64(units[name]); bytes >= unit {
			return digits(bytes/unit) + " " + name + "/s"
		}
	}
	return fmt.Sprintf("%.0f B/s", bytes)
}

func digits(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

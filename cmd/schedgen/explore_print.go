package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/explore"
)

// print prints what has been found for people.
func (c *exploreCmd) print(w io.Writer, h *ir.Header, calls int, r *explore.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", headerLine(h))
	open := ""
	if c.Open > 1 {
		open = fmt.Sprintf(", up to %d open at once", c.Open)
	}
	fmt.Fprintf(&b, "  calls        %d of every rank%s, then close\n", calls, open)
	fmt.Fprintf(&b, "  faults       %s\n", c.faults())
	fmt.Fprintf(&b, "  states       %d (%d of single ranks)\n", r.States, r.Local)
	fmt.Fprintf(&b, "  transitions  %d\n", r.Transitions)
	fmt.Fprintf(&b, "  depth        %d\n", r.Depth)
	if r.Searches > 1 {
		fmt.Fprintf(&b, "  searches     %d: a message that changed nothing when it came would have changed something later\n", r.Searches)
	}
	switch {
	case r.Violation != nil:
		tellViolation(&b, r.Violation)
	case r.Complete:
		b.WriteString("nothing is wrong in any state\n")
	default:
		fmt.Fprintf(&b, "not all states: stopped at --states %d; nothing is wrong in those\n", c.States)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// faults says what may go wrong.
func (c *exploreCmd) faults() string {
	parts := []string{fmt.Sprintf("%v losses, %d duplicates, %d early timers", c.Losses, c.Duplicates, c.Early)}
	for _, f := range []struct {
		on   bool
		text string
	}{{c.Crash, "one death"}, {c.Cancel, "one cancelled call"}, {c.NoMulticast, "no multicast"}} {
		if f.on {
			parts = append(parts, f.text)
		}
	}
	return strings.Join(parts, ", ")
}

func tellViolation(b *strings.Builder, v *explore.Violation) {
	fmt.Fprintf(b, "WRONG: %s\n", v.Problem)
	for i, line := range v.Story {
		fmt.Fprintf(b, "%6d  %s\n", i+1, line)
	}
	if len(v.Forever) == 0 {
		return
	}
	fmt.Fprintln(b, "and from there on, though nothing is lost any more:")
	for i, line := range v.Forever {
		fmt.Fprintf(b, "%6d  %s\n", len(v.Story)+i+1, line)
	}
}

// exploredReport is what has been found for machines.
type exploredReport struct {
	Schedule    string         `json:"schedule"`
	Ranks       int            `json:"ranks"`
	Root        int            `json:"root"`
	Chunks      int            `json:"chunks"`
	Params      map[string]int `json:"params"`
	Calls       int            `json:"calls"`
	States      int            `json:"states"`
	Transitions int            `json:"transitions"`
	Depth       int            `json:"depth"`
	Complete    bool           `json:"complete"` // all states have been met
	Searches    int            `json:"searches"` // 1, or more if something could not be left out
	Violation   *violation     `json:"violation,omitempty"`
}

type violation struct {
	Problem string   `json:"problem"`
	Story   []string `json:"story"`             // how it comes about
	Forever []string `json:"forever,omitempty"` // how it goes on, without end, if a call waits for ever
}

func exploredObject(h *ir.Header, calls int, r *explore.Report) exploredReport {
	o := exploredReport{
		Schedule: h.Name(), Ranks: h.Ranks, Root: h.Root, Chunks: h.Chunks, Params: paramObject(h), Calls: calls,
		States: r.States, Transitions: r.Transitions, Depth: r.Depth, Complete: r.Complete, Searches: r.Searches,
	}
	if v := r.Violation; v != nil {
		o.Violation = &violation{Problem: v.Problem, Story: v.Story, Forever: v.Forever}
		if o.Violation.Story == nil {
			o.Violation.Story = []string{}
		}
	}
	return o
}

// newSpinner returns a line of progress without an end in sight, which shows
// only on a terminal.
func newSpinner(std stdio) progress {
	if !isTerminal(std.Err) {
		return progress{}
	}
	return progress{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetDescription("exploring"),
	)}
}

// describe shows text and moves.
func (p progress) describe(text string) {
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Add(1)
	}
}

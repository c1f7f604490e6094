package explore

import (
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/internal/explore"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/ir"
)

// print prints the report as text.
func (c *Verb) print(w io.Writer, h *ir.Header, calls int, r *explore.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", source.HeaderLine(h))
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
		fmt.Fprintf(&b, "  searches     %d: a message that changed nothing when it arrived would have changed something later\n", r.Searches)
	}
	switch {
	case r.Violation != nil:
		tellViolation(&b, r.Violation)
	case r.Complete:
		b.WriteString("nothing is wrong in any state\n")
	default:
		fmt.Fprintf(&b, "not all states: stopped at --states %d; nothing is wrong in those states\n", c.States)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// faults tells the faults that may happen.
func (c *Verb) faults() string {
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
	fmt.Fprintln(b, "and from there on for ever, although nothing is lost any more:")
	for i, line := range v.Forever {
		fmt.Fprintf(b, "%6d  %s\n", len(v.Story)+i+1, line)
	}
}

// exploredReport is the JSON form of a report.
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
	Complete    bool           `json:"complete"` // all states have been visited
	Searches    int            `json:"searches"` // 1, or more if a message that was left out mattered
	Violation   *violation     `json:"violation,omitempty"`
}

type violation struct {
	Problem string   `json:"problem"`
	Story   []string `json:"story"`             // the events that lead to the problem
	Forever []string `json:"forever,omitempty"` // the events that repeat afterwards, if a call waits for ever
}

func exploredObject(h *ir.Header, calls int, r *explore.Report) exploredReport {
	o := exploredReport{
		Schedule: h.Name(), Ranks: h.Ranks, Root: h.Root, Chunks: h.Chunks, Params: source.ParamObject(h), Calls: calls,
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

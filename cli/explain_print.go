package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

func (e *explanation) print(w io.Writer) error {
	var b bytes.Buffer
	for _, n := range e.notes {
		fmt.Fprintf(&b, "note: %v\n", n)
	}
	fmt.Fprintf(&b, "%s: %v\n  transport   %s, %s\n  rule        %s\n", e.at.of.Collective, &e.at.of, linkName(&e.at.link), e.from, e.ruleWords())
	if reason := e.decision.Rule.Reason; reason != "" {
		fmt.Fprintf(&b, "  reason      %s\n", reason)
	}
	if e.at.of.Memory {
		fmt.Fprintf(&b, "  memory      %s\n  costs       %v\n", paceWords(e.at.of.Pace), e.paceFrom)
	}
	by := ""
	if e.named != nil {
		by = ", by --algorithm in place of the rule's"
	}
	runs := e.runs()
	fmt.Fprintf(&b, "  algorithm   %s%s\n\n", strings.TrimSpace(runs.Algorithm+" "+candidateWords(&runs.Params)), by)
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "MAKESPAN\tCANDIDATE")
	row := func(c *selection.Candidate, note string) {
		words := strings.TrimSpace(c.Algorithm + " " + candidateWords(&c.Params))
		fmt.Fprintf(t, "%s\t%s%s\n", makespanWords(c.Time), words, note)
	}
	row(&e.chosen, ", by the rules")
	if e.named != nil {
		row(e.named, ", by --algorithm")
	}
	for i := range e.others {
		row(&e.others[i], "")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nin the LogGP model with %v\n", e.machine)
	if e.at.of.Place == selection.OneHost {
		b.WriteString("The rules know that ranks of one host share its processors; the model does not.\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// makespanWords spells the time of a candidate.
func makespanWords(t loggp.Time) string {
	if t == loggp.Never {
		return "not computed"
	}
	return micros(t)
}

// paceWords spells what copies in memory cost.
func paceWords(p *wire.Pace) string {
	pull := fmt.Sprintf("%d ps by the system and %d ns a call", p.Pull, p.Call)
	if p.Pull == wire.MaxPace {
		pull = "not by the system"
	}
	cores := "1 core"
	if p.Cores > 1 {
		cores = fmt.Sprintf("%d cores", p.Cores)
	}
	return fmt.Sprintf("a byte %d ps through a ring, %s, %d ps to fold; a line of another core %d ns; %d ns to yield; %s",
		p.Ring, pull, p.Fold, p.Line, p.Yield, cores)
}

// paceObject is the JSON form of what copies in memory cost.
type paceObject struct {
	Ring  uint32 `json:"ring_ps"` // a byte through a ring
	Pull  uint32 `json:"pull_ps"` // a byte out of another rank's memory
	Call  uint32 `json:"call_ns"`
	Line  uint32 `json:"line_ns"` // a cache line that another core has written
	Fold  uint32 `json:"fold_ps"` // a byte of a vector
	Yield uint32 `json:"yield_ns"`
	Cores uint32 `json:"cores"`
	From  string `json:"from"`
}

// explainObject is the JSON form of an explanation.
type explainObject struct {
	Collective string            `json:"collective"`
	Transport  string            `json:"transport"`
	Ranks      int               `json:"ranks"`
	Bytes      int               `json:"bytes"`
	Hosts      int               `json:"hosts"` // hosts with several ranks; 0: none, or unknown
	Place      string            `json:"place"`
	Multicast  bool              `json:"multicast"`
	Memory     bool              `json:"memory"`
	Rings      bool              `json:"rings"`
	Pace       *paceObject       `json:"pace,omitempty"` // with memory: what copies cost
	Rule       json.RawMessage   `json:"rule"`
	BuiltIn    bool              `json:"built_in"` // the rule is a built-in one
	Line       int               `json:"line"`     // line in the file of the rule that decides or leaves the case to the built-in rules; 0: none
	Chosen     candidateObject   `json:"chosen"`
	Named      *candidateObject  `json:"named,omitempty"`
	Candidates []candidateObject `json:"candidates"`
	LogGP      loggpObject       `json:"loggp"`
	Notes      []noteObject      `json:"notes,omitempty"`
}

type candidateObject struct {
	Algorithm string         `json:"algorithm"`
	Params    map[string]int `json:"params"`
	Makespan  *int64         `json:"makespan_ns"` // null: too large to be computed
}

type noteObject struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

func newCandidateObject(c *selection.Candidate) candidateObject {
	return candidateObject{c.Algorithm, paramsOf(&c.Params), nanos(c.Time)}
}

func paramsOf(p *schedule.Params) map[string]int {
	all := map[string]int{"chunks": p.Chunks, "degree": p.Degree, "fan-in": p.FanIn, "fan-out": p.FanOut, "hosts": p.Hosts}
	for name, v := range all {
		if v == 0 {
			delete(all, name)
		}
	}
	return all
}

func (e *explanation) object() explainObject {
	d := &e.decision
	o := explainObject{
		Collective: e.at.of.Collective, Transport: e.at.link.Transport, Ranks: e.at.of.Ranks, Bytes: e.at.of.Bytes, Hosts: e.at.of.Hosts, Place: e.at.of.Place.String(),
		Multicast: e.at.of.Multicast, Memory: e.at.of.Memory, Rings: e.at.of.Rings, Rule: json.RawMessage(d.Rule.String()), BuiltIn: !d.Own || cmp.Or(d.From, d.Rule).Line == 0, Line: d.Rule.Line,
		Chosen: newCandidateObject(&e.chosen),
		LogGP:  newLoggpObject(e.at.of.Bytes, &e.machine),
	}
	if p := e.at.of.Pace; p != nil {
		o.Pace = &paceObject{p.Ring, p.Pull, p.Call, p.Line, p.Fold, p.Yield, p.Cores, e.paceFrom.String()}
	}
	if d.From != nil {
		o.Line = d.From.Line
	}
	if e.named != nil {
		o.Named = new(newCandidateObject(e.named))
	}
	for i := range e.others {
		o.Candidates = append(o.Candidates, newCandidateObject(&e.others[i]))
	}
	for _, n := range e.notes {
		o.Notes = append(o.Notes, noteObject{n.Line, n.Msg})
	}
	return o
}

package emit

import (
	"bytes"
	"cmp"
	_ "embed" // the parts of the page
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// Failure is a check that does not hold for a schedule, with its counterexample.
type Failure struct {
	Check  string           // the check's name
	Text   string           // the counterexample in words
	Places []fixpoint.Place // the slots concerned
	Path   []Step           // how it comes about: each step has the next as its reason
	World  fixpoint.Model   // the run that shows it; Lost is ignored
}

// Step is one link of a counterexample: a slot and the rank that sets it, or would have to. From is
// -1 if no rank does.
type Step struct {
	fixpoint.Place
	From int
}

// The parts of the page. The parts of the script are in the order in which they use each other.
var (
	//go:embed explorer/explorer.html
	explorerHTML string
	//go:embed explorer/explorer.css
	explorerCSS string
	//go:embed explorer/fixpoint.js
	fixpointJS string
	//go:embed explorer/words.js
	wordsJS string
	//go:embed explorer/extract.js
	extractJS string
	//go:embed explorer/diagram.js
	diagramJS string
	//go:embed explorer/explorer.js
	explorerJS string
)

// writeHTML prints one self-contained page that plays s. The reader can lose multicasts, change the
// root among s and o.Others, and follow the counterexamples of o.Failures. The page loads nothing.
func writeHTML(w io.Writer, s *ir.Schedule, o Options) error {
	if err := o.Extract.check(s.Ranks); err != nil {
		return err
	}
	data, err := explorerData(s, o)
	if err != nil {
		return err
	}
	page := strings.NewReplacer(
		"{{title}}", html.EscapeString(s.Name()+", "+headerFacts(&s.Header)),
		"{{style}}", explorerPalette()+explorerCSS,
		"{{data}}", data,
		"{{script}}", fixpointJS+wordsJS+extractJS+diagramJS+explorerJS,
	)
	_, err = page.WriteString(w, explorerHTML)
	return err
}

// explorerData returns the contents of the page as JSON without any "<", so that nothing in it can
// end the element around it.
func explorerData(s *ir.Schedule, o Options) (string, error) {
	all := byRoot(s, o.Others)
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"start\":%d,\n\"schedules\":[\n", slices.Index(all, s))
	for i, one := range all {
		if i > 0 {
			b.WriteString(",")
		}
		if err := ir.WriteJSON(&b, one); err != nil {
			return "", err
		}
	}
	failures := make([]pageFailure, 0, len(o.Failures))
	for i := range o.Failures {
		failures = append(failures, newPageFailure(&o.Failures[i]))
	}
	rows := make([]pageRow, 0, len(all))
	for _, one := range all {
		rows = append(rows, newPageRow(&one.Header))
	}
	extracts, err := pageExtracts(all, o.Extract)
	if err != nil {
		return "", err
	}
	rest, err := json.Marshal(struct {
		Rows     []pageRow     `json:"rows"`
		Kinds    []pageKind    `json:"kinds"`
		Extracts []pageExtract `json:"extracts"`
		Failures []pageFailure `json:"failures"`
		Command  string        `json:"command"`
	}{rows, pageKinds(), extracts, failures, o.Command})
	if err != nil {
		return "", err
	}
	b.WriteString("],\n" + string(rest[1:]))
	return strings.ReplaceAll(b.String(), "<", `\u003c`), nil
}

// pageRow holds the facts about a schedule's collective that the page's script needs.
type pageRow struct {
	Root   string       `json:"root"`   // the users' word for the root, "" if there is none
	Facts  []string     `json:"facts"`  // the parameters of the schedule
	Per    int          `json:"per"`    // chunks of a block
	Held   []pageBlocks `json:"held"`   // by rank: at enter
	Wanted []pageBlocks `json:"wanted"` // by rank: at the end
}

// pageBlocks are the blocks first, first+step …, count of them.
type pageBlocks struct {
	First int `json:"first"`
	Step  int `json:"step"`
	Count int `json:"count"`
}

func newPageRow(h *ir.Header) pageRow {
	out := pageRow{Root: h.RootWord(), Facts: factsOf(h), Per: h.BlockChunks()}
	for rank := range h.Ranks {
		out.Held = append(out.Held, pageBlocks(h.Held(rank).Blocks))
		out.Wanted = append(out.Wanted, pageBlocks(h.Wanted(rank).Blocks))
	}
	return out
}

// byRoot returns s and the others in the order of their roots, one for each root.
func byRoot(s *ir.Schedule, others []*ir.Schedule) []*ir.Schedule {
	all := []*ir.Schedule{s}
	for _, o := range others {
		if o.Root != s.Root {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *ir.Schedule) int { return a.Root - b.Root })
	return all
}

// pageFailure is a failure in the form that the page's script reads.
type pageFailure struct {
	Check   string     `json:"check"`
	Text    string     `json:"text"`
	Places  []pageStep `json:"places"`
	Path    []pageStep `json:"path"`
	Without []pageStep `json:"without"`
	AllLost bool       `json:"allLost"`
	Every   bool       `json:"every"`
}

type pageStep struct {
	Rank int    `json:"rank"`
	Slot string `json:"slot"`
	From int    `json:"from"`
}

func newPageFailure(f *Failure) pageFailure {
	out := pageFailure{
		Check: f.Check, Text: f.Text, AllLost: f.World.LoseMcast, Every: f.World.EveryRepair,
		Places: pagePlaces(f.Places), Without: pagePlaces(f.World.Without), Path: []pageStep{},
	}
	for _, st := range f.Path {
		out.Path = append(out.Path, pageStep{st.Rank, st.Slot.String(), st.From})
	}
	return out
}

func pagePlaces(places []fixpoint.Place) []pageStep {
	out := []pageStep{}
	for _, p := range places {
		out = append(out, pageStep{p.Rank, p.Slot.String(), -1})
	}
	return out
}

// explorerPalette returns the look of each kind of arrow as style variables.
func explorerPalette() string {
	var light, dark strings.Builder
	for _, l := range looks {
		fmt.Fprintf(&light, "  --%s: %s; --%s-width: %gpx;", l.id, l.light, l.id, l.width)
		if l.dash != "" {
			fmt.Fprintf(&light, " --%s-dash: %s;", l.id, l.dash)
		}
		light.WriteByte('\n')
		fmt.Fprintf(&dark, " --%s: %s;", l.id, l.dark)
	}
	return ":root {\n" + light.String() + "}\n@media (prefers-color-scheme: dark) { :root {" + dark.String() + " } }\n"
}

// pageKind is a kind of arrow in the form that the page's script reads.
type pageKind struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Many string `json:"many"` // the name if a message has several slots
	Open bool   `json:"open"`
}

func pageKinds() []pageKind {
	var out []pageKind
	for _, l := range looks {
		out = append(out, pageKind{l.id, l.name, cmp.Or(l.many, l.name), l.open})
	}
	return out
}

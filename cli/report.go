package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// reportPrinter prints the outcome of verify, schedule by schedule.
type reportPrinter interface {
	report(*verify.Report) error
	close(failed, total int) error
}

// printer returns a printer of objects with --json, of all checks for one schedule, or of a line
// for each of several schedules.
func (c *verifyCmd) printer(std terminal.Stdio, total int) reportPrinter {
	switch {
	case c.JSON:
		return &objectPrinter{std.Out}
	case total == 1:
		return &checkPrinter{w: std.Out}
	}
	return &linePrinter{w: std.Out}
}

// checkWord returns the word for the result of a check.
func checkWord(r *verify.Result) string {
	switch {
	case !r.Applies:
		return "n.a."
	case r.Err != nil:
		return "FAIL"
	}
	return "ok"
}

// counterexample returns the text of a failure without the name of the check.
func counterexample(err error) string {
	var f *verify.Failure
	if errors.As(err, &f) {
		return f.Text
	}
	return err.Error()
}

// checkPrinter prints every check of a schedule.
type checkPrinter struct {
	w   io.Writer
	how string // ": " and the rotation by which the schedule was proved, or ""
}

func (p *checkPrinter) report(r *verify.Report) error {
	var b strings.Builder
	b.WriteString(source.HeaderLine(&r.Header) + "\n")
	for i := range r.Results {
		b.WriteString(checkLines(&r.Results[i]))
	}
	if r.Terms.Digest != "" {
		fmt.Fprintf(&b, "  %-11s %-4s  %s\n", "tree", "", r.Terms.Digest)
	}
	if r.Period > 0 {
		p.how = ": " + r.How()
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

// checkLines returns a line with the result and, if the check failed, one with the counterexample.
func checkLines(r *verify.Result) string {
	line := strings.TrimRight(fmt.Sprintf("  %-11s %-4s  %s", r.Check, checkWord(r), r.Note), " ") + "\n"
	if r.Err != nil {
		line += "      " + counterexample(r.Err) + "\n"
	}
	return line
}

func (p *checkPrinter) close(failed, _ int) error {
	if failed > 0 {
		return nil // the error of the command tells it
	}
	_, err := fmt.Fprintln(p.w, "verified"+p.how)
	return err
}

// linePrinter prints a line for each schedule that verifies, and the failed checks of each other
// schedule. Consecutive schedules that differ only in the root share a line.
type linePrinter struct {
	w    io.Writer
	good []ir.Header // not yet printed
	tree string      // the digest of the folds of all schedules in good
}

func (p *linePrinter) report(r *verify.Report) error {
	good := r.Err() == nil
	if len(p.good) > 0 && (!good || p.good[0].Ranks != r.Header.Ranks || p.tree != r.Terms.Digest) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	if good {
		p.good, p.tree = append(p.good, r.Header), r.Terms.Digest
		return nil
	}
	var b strings.Builder
	b.WriteString("FAIL  " + source.HeaderLine(&r.Header) + "\n")
	for i := range r.Results {
		if r.Results[i].Err != nil {
			b.WriteString(checkLines(&r.Results[i]))
		}
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

// flush prints the line of the schedules in good.
func (p *linePrinter) flush() error {
	if len(p.good) == 0 {
		return nil
	}
	first, last := &p.good[0], &p.good[len(p.good)-1]
	line := source.HeaderLine(first)
	if first.Root != last.Root {
		old, all := fmt.Sprintf("root=%d", first.Root), fmt.Sprintf("root=%d..%d", first.Root, last.Root)
		line = strings.Replace(line, old, all, 1)
	}
	if p.tree != "" {
		line += "  tree " + p.tree
	}
	p.good = p.good[:0]
	_, err := fmt.Fprintln(p.w, "ok    "+line)
	return err
}

func (p *linePrinter) close(failed, total int) error {
	if err := p.flush(); err != nil || failed > 0 {
		return err
	}
	_, err := fmt.Fprintf(p.w, "%s verified\n", words.Count(int64(total), "schedule", "schedules"))
	return err
}

// objectPrinter prints a JSON object for each schedule, one a line.
type objectPrinter struct{ w io.Writer }

// reportObject is the JSON form of a report.
type reportObject struct {
	Schedule string         `json:"schedule"`
	Ranks    int            `json:"ranks"`
	Root     int            `json:"root"`
	Chunks   int            `json:"chunks"`
	Params   map[string]int `json:"params"`
	Verified bool           `json:"verified"`
	How      string         `json:"how"` // what was examined, as text
	Terms    *termsObject   `json:"terms,omitempty"`
	Checks   []checkObject  `json:"checks"`
}

// termsObject is the JSON form of the properties of a schedule's folds.
type termsObject struct {
	Tree      string `json:"tree"` // equal digests mean equal bits
	RankOrder bool   `json:"rank_order"`
	Position  bool   `json:"position"`
	InPlace   bool   `json:"in_place"`
}

type checkObject struct {
	Check          string `json:"check"`
	Result         string `json:"result"` // ok, FAIL or n.a.
	Note           string `json:"note,omitempty"`
	Counterexample string `json:"counterexample,omitempty"`
}

func (p *objectPrinter) report(r *verify.Report) error {
	o := reportObject{
		Schedule: r.Header.Name(), Ranks: r.Header.Ranks, Root: r.Header.Root, Chunks: r.Header.Chunks,
		Params: source.ParamObject(&r.Header), Verified: r.Err() == nil, How: r.How(),
	}
	if t := r.Terms; t.Digest != "" {
		o.Terms = &termsObject{Tree: t.Digest, RankOrder: t.RankOrder, Position: t.Position, InPlace: t.InPlace}
	}
	for i := range r.Results {
		res := &r.Results[i]
		check := checkObject{Check: res.Check, Result: checkWord(res), Note: res.Note}
		if res.Err != nil {
			check.Counterexample = counterexample(res.Err)
		}
		o.Checks = append(o.Checks, check)
	}
	return terminal.WriteJSON(p.w, o, "")
}

func (p *objectPrinter) close(int, int) error { return nil }

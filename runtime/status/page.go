package status

import (
	"bytes"
	_ "embed" // of the page
	"fmt"
	"html/template"
	"strings"

	"github.com/schedgen/schedgen/runtime"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// view is what the page shows.
type view struct {
	Title    string
	Findings []string
	Rows     []row
}

// row is one line of the table: an operation of a rank, or that it is in none.
type row struct {
	Class     string // out: in no operation; bad: failed, or without an answer
	URL       string
	Rank      string
	Operation string
	Detail    string
	Age       string
	Quiet     string
	Step      string
	WaitsFor  string
	Repairs   string
	Ended     string
}

func writePage(b *bytes.Buffer, reports []Report) error {
	v := view{Title: title(reports), Findings: Findings(reports)}
	for _, r := range reports {
		v.Rows = append(v.Rows, rowsOf(&r)...)
	}
	if err := page.Execute(b, v); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

// title says how many ranks the job has, and of how many there are reports.
func title(reports []Report) string {
	size := len(reports)
	for _, r := range reports {
		if len(r.States) > 0 {
			size = r.States[0].Size
		}
	}
	if len(reports) == 1 && size > 1 {
		return fmt.Sprintf("rank %d of %d", reports[0].Process, size)
	}
	if len(reports) < size {
		return fmt.Sprintf("%d of %d ranks", len(reports), size)
	}
	return fmt.Sprintf("%d ranks", size)
}

// rowsOf returns the lines of a process.
func rowsOf(r *Report) []row {
	if len(r.States) == 0 {
		return []row{{Class: "bad", URL: r.URL, Rank: fmt.Sprint(r.Process), Operation: r.Note}}
	}
	var rows []row
	for i := range r.States {
		s := &r.States[i]
		head := row{URL: r.URL, Rank: name(s), Repairs: fmt.Sprintf("%d made", s.Totals.Repairs), Ended: fmt.Sprint(s.Ended)}
		if r.Note != "" {
			head.Class, head.Detail = "bad", r.Note+"; this is what it said last"
		}
		rows = append(rows, head.of(s)...)
	}
	return rows
}

// name is a rank, and of which communicator if that is not the job's.
func name(s *runtime.State) string {
	if !derived(s) {
		return fmt.Sprint(s.Rank)
	}
	return fmt.Sprintf("%d (%d of communicator %d)", s.Process, s.Rank, s.Comm)
}

// of fills head in for the operations of s, or for its being in none.
func (head row) of(s *runtime.State) []row {
	switch {
	case s.Failure != "":
		head.Class, head.Operation = "bad", s.Failure
		return []row{head}
	case len(s.Open) == 0:
		head.Operation = fmt.Sprintf("none, %d goroutines inside calls", s.Callers)
		if head.Class == "" && s.Callers == 0 {
			head.Class, head.Operation = "out", "none, and no goroutine inside a call"
		}
		return []row{head}
	}
	var rows []row
	for i := range s.Open {
		r := head
		r.operation(s, &s.Open[i])
		rows = append(rows, r)
	}
	return rows
}

func (r *row) operation(s *runtime.State, o *runtime.Operation) {
	r.Operation = fmt.Sprintf("%d: %s", o.Seq, o.Name)
	if o.Root >= 0 {
		r.Detail = join("; ", fmt.Sprintf("root %d, %d bytes in %d chunks", o.Root, o.Bytes, o.Chunks), r.Detail)
	}
	if s.Callers == 0 {
		r.Detail = join("; ", r.Detail, "no goroutine inside a call")
	}
	if o.Age > 0 {
		r.Age = span(o.Age)
	}
	if o.Quiet > 0 {
		r.Quiet = span(o.Quiet)
	}
	r.Step = fmt.Sprintf("%d of %d rules", o.Fired, o.Rules)
	if lacks := Lacks(&o.Missing); lacks != "" {
		r.Step += ", lacks " + lacks
	}
	if o.Unsent > 0 {
		r.Step += fmt.Sprintf(", %d frames not sent", o.Unsent)
	}
	r.WaitsFor = waits(o)
	r.Repairs = join(", ", r.Repairs, some("%d due", o.Repairs), some("%d asked for", o.Asked))
}

// waits returns whom an operation waits for, and why.
func waits(o *runtime.Operation) string {
	of := func(format string, ranks []int) string {
		if len(ranks) == 0 {
			return ""
		}
		return fmt.Sprintf(format, Numbers(ranks))
	}
	return join("; ", of("%s", o.WaitsFor), of("not entered: %s", o.Absent), of("to take frames: %s", o.SendsTo),
		of("to enter: %s", o.Held.Postponed), of("to report: %s", o.Held.Yielding), of("to take multicasts: %s", o.Held.Window))
}

// some returns a number in words, "" if it is 0.
func some(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// join joins what is not empty.
func join(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

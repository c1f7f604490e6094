package status

import (
	"bytes"
	_ "embed" // for page.html
	"fmt"
	"html"
	"strings"

	"github.com/schedgen/schedgen/runtime"
)

// pageText is the page with {title}, {findings}, {rows} and {learned} to be filled in. A template
// would do the same. But it calls methods by name, so every program with a page would carry all
// methods of all its types: 5 MB.
//
//go:embed page.html
var pageText string

// row is one line of the table: an operation of a rank, or a rank that is in no operation.
type row struct {
	Class     string // "out": in no operation; "bad": failed, or does not answer
	URL       string
	Rank      string
	Operation string
	Detail    string
	Age       string
	Quiet     string
	Step      string
	WaitsFor  string
	Repairs   string
	Ended     string // operations and bytes of the communicator so far
}

// writePage writes the page. All text is escaped.
func writePage(b *bytes.Buffer, reports []Report, rates *rates) error {
	var rows strings.Builder
	for _, r := range reports {
		for _, row := range rowsOf(&r, rates) {
			row.write(&rows)
		}
	}
	fill := strings.NewReplacer("{title}", html.EscapeString(title(reports)), "{findings}", list(Findings(reports)), "{rows}", rows.String(), "{learned}", learnedTable(reports))
	_, err := fill.WriteString(b, pageText)
	return err
}

// learnedTable returns a table of what communicators have learned about algorithms, or "" if they have
// learned nothing. All ranks of a communicator have learned the same, so one of them tells it.
func learnedTable(reports []Report) string {
	var b strings.Builder
	for _, g := range groupsOf(reports) {
		for i := range g.states[0].Learned {
			l := &g.states[0].Learned[i]
			var tried []string
			for _, t := range l.Tried {
				tried = append(tried, t.String())
			}
			outcome := l.Algorithm
			switch {
			case l.Trying:
				outcome += ", being tried"
			case l.Less() > 0:
				outcome += fmt.Sprintf(", %d %% less time than %s", l.Less(), l.Tried[0].Algorithm)
			}
			fmt.Fprintf(&b, `<tr><td>%s<td class="n">%s<td>%s<td>%s<td class="n">%d<td class="n">%d</tr>`+"\n", html.EscapeString(g.title+l.Collective),
				sizeText(l.Bytes), html.EscapeString(outcome), html.EscapeString(strings.Join(tried, ", ")), l.Trials, l.Calls)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<h2>learned</h2>\n<table>\n<thead><tr><th>collective<th>up to<th>choice<th>the last trial<th>trials<th>calls</tr></thead>\n<tbody>\n" + b.String() + "</tbody>\n</table>\n"
}

// list returns the findings as a list, or a sentence if there is none.
func list(findings []string) string {
	if len(findings) == 0 {
		return "<p>Nothing has waited for a second.</p>\n"
	}
	var b strings.Builder
	b.WriteString("<ul>\n")
	for _, f := range findings {
		fmt.Fprintf(&b, "<li>%s</li>\n", html.EscapeString(f))
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// write writes the row. A cell without content shows a dash.
func (r *row) write(b *strings.Builder) {
	b.WriteString("<tr")
	if r.Class != "" {
		fmt.Fprintf(b, ` class="%s"`, r.Class)
	}
	rank, operation := html.EscapeString(r.Rank), html.EscapeString(r.Operation)
	if strings.HasPrefix(r.URL, "http://") || strings.HasPrefix(r.URL, "https://") { // no script
		rank = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(r.URL), rank)
	}
	if r.Detail != "" {
		operation += "<br><small>" + html.EscapeString(r.Detail) + "</small>"
	}
	fmt.Fprintf(b, `><td>%s<td>%s<td class="n">%s<td class="n">%s<td>%s<td>%s<td>%s<td>%s</tr>`+"\n", rank, operation,
		cell(r.Age), cell(r.Quiet), cell(r.Step), cell(r.WaitsFor), cell(r.Repairs), cell(r.Ended))
}

// cell returns the content of a cell.
func cell(text string) string {
	if text == "" {
		return "–"
	}
	return html.EscapeString(text)
}

// title says how many ranks the job has, and how many of them have reported.
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
	if len(reports) == 1 && len(reports[0].States) == 0 { // it does not know the size yet
		return fmt.Sprintf("rank %d", reports[0].Process)
	}
	if len(reports) < size {
		return fmt.Sprintf("%d of %d ranks", len(reports), size)
	}
	return fmt.Sprintf("%d ranks", size)
}

// rowsOf returns the rows of one process.
func rowsOf(r *Report, rates *rates) []row {
	if len(r.States) == 0 {
		return []row{{Class: "bad", URL: r.URL, Rank: fmt.Sprint(r.Process), Operation: r.Note}}
	}
	var rows []row
	for i := range r.States {
		s := &r.States[i]
		head := row{URL: r.URL, Rank: name(s), Repairs: some("%d made", s.Totals.Repairs), Ended: rates.describe(s)}
		if r.Note != "" {
			head.Class, head.Detail = "bad", r.Note+"; this is what it said last"
		}
		rows = append(rows, head.rowsOf(s)...)
	}
	return rows
}

// name returns the rank, and the communicator if it is not that of the job.
func name(s *runtime.State) string {
	if !derived(s) {
		return fmt.Sprint(s.Rank)
	}
	return fmt.Sprintf("%d (%d of communicator %d)", s.Process, s.Rank, s.Comm)
}

// rowsOf returns one row for each open operation of s, or one row that says that s has none. Each
// starts as a copy of head.
func (head row) rowsOf(s *runtime.State) []row {
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
		r.Detail = join("; ", fmt.Sprintf("root %d, %s in %s", o.Root, sizeText(o.Bytes), chunks(o.Chunks)), r.Detail)
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
	r.Step = join(", ", progress(o), fmt.Sprintf("%d of %d rules", o.Fired, o.Rules))
	if lacks := Lacks(&o.Missing); lacks != "" {
		r.Step += ", lacks " + lacks
	}
	if o.Unsent > 0 {
		r.Step += fmt.Sprintf(", %d frames not sent", o.Unsent)
	}
	r.WaitsFor = waits(o)
	r.Repairs = join(", ", r.Repairs, some("%d due", o.Repairs), some("%d asked for", o.Asked))
}

// progress says how much of a message has arrived, and how fast. It returns "" if the operation has
// no message.
func progress(o *runtime.Operation) string {
	if o.Root < 0 || o.Chunks == 0 || o.Bytes == 0 {
		return ""
	}
	has := o.Chunks - o.Missing.Chunks
	came := int(float64(o.Bytes) * float64(has) / float64(o.Chunks))
	text := fmt.Sprintf("%s of %s (%d %%)", sizeText(came), sizeText(o.Bytes), 100*has/o.Chunks)
	if seconds := float64(o.Age) / 1e9; seconds > 0 && o.Missing.Chunks > 0 && has > 0 {
		text += ", " + sizeText(int(float64(came)/seconds)) + "/s"
	}
	return text
}

// waits returns the ranks that an operation waits for, and the reason.
func waits(o *runtime.Operation) string {
	of := func(format string, ranks []int) string {
		if len(ranks) == 0 {
			return ""
		}
		return fmt.Sprintf(format, ranksText(ranks))
	}
	parts := []string{of("%s to send", o.WaitsFor), of("%s to begin the operation", o.Absent), of("%s to receive what is queued", o.SendsTo)}
	for i := range o.Waiting {
		parts = append(parts, held(&o.Waiting[i]))
	}
	return join("; ", parts...)
}

// some formats a number, or returns "" if it is 0.
func some[N int | uint64](format string, n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// join joins the parts that are not empty.
func join(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

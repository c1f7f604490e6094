package papers

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// WriteTable prints the figure for people: what the paper states beside ours, then a line for each
// value of X and a column for each series, then the notes.
func (f *Figure) WriteTable(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s  %s\n", f.ID, f.Title); err != nil {
		return err
	}
	if err := f.writeClaims(w); err != nil {
		return err
	}
	if err := f.writeSeries(w); err != nil {
		return err
	}
	for _, n := range f.Notes {
		if _, err := io.WriteString(w, "\n"+wrapped(n, 98)); err != nil {
			return err
		}
	}
	return nil
}

// wrapped breaks a text at spaces into lines of at most width characters.
func wrapped(text string, width int) string {
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
			b.WriteString("  ")
		case at+1+n > width:
			b.WriteString("\n  ")
			at = 0
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String() + "\n"
}

func (f *Figure) writeClaims(w io.Writer) error {
	if len(f.Claims) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\n  stated at\twhat\tpaper\tmodel\tsimulation\n")
	for _, c := range f.Claims {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", c.At, c.What, c.value(c.Stated), c.value(c.Model), c.value(c.Simulation))
	}
	return t.Flush()
}

// value returns a value with its unit.
func (c *Claim) value(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	if c.Unit == "" {
		return number(v)
	}
	return number(v) + " " + c.Unit
}

// number returns a value with four digits, so that the last bits of a processor's arithmetic do not
// show.
func number(v float64) string {
	switch {
	case math.Abs(v) < 5e-10: // the remainder of equal numbers
		return "0"
	case math.Abs(v) >= 1e4:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func (f *Figure) writeSeries(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\n  %v\t", f.X)
	for i := range f.Series {
		fmt.Fprintf(t, "%s: %s\t", f.Series[i].Kind, f.Series[i].Name)
	}
	fmt.Fprintf(t, "\n")
	for _, x := range f.xs() {
		fmt.Fprintf(t, "%s\t", number(x))
		for i := range f.Series {
			fmt.Fprintf(t, "%s\t", f.Series[i].at(x))
		}
		fmt.Fprintf(t, "\n")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "  (%v)\n", f.Y)
	return err
}

// xs returns all values of X, ascending.
func (f *Figure) xs() []float64 {
	var xs []float64
	for i := range f.Series {
		for _, p := range f.Series[i].Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// at returns the value at x as text, or "-" if the series has none.
func (s *Series) at(x float64) string {
	i := slices.IndexFunc(s.Points, func(p Point) bool { return p.X == x })
	if i < 0 || math.IsNaN(s.Points[i].Y) {
		return "-"
	}
	return number(s.Points[i].Y)
}

// WriteCSV prints a line for each value of each series, then the claims, under one header. Values
// have four digits.
func (f *Figure) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"figure", "kind", "series", "x", "y", "x_axis", "y_axis"}}
	for i := range f.Series {
		s := &f.Series[i]
		for _, p := range s.Points {
			if math.IsNaN(p.Y) {
				continue
			}
			rows = append(rows, []string{f.ID, s.Kind.String(), s.Name, number(p.X), number(p.Y), f.X.String(), f.Y.String()})
		}
	}
	for _, k := range f.Claims {
		for kind, v := range []float64{k.Stated, k.Model, k.Simulation} {
			if !math.IsNaN(v) {
				rows = append(rows, []string{f.ID, Kind(kind).String(), k.What, k.At, number(v), "statement", k.Unit})
			}
		}
	}
	return c.WriteAll(rows)
}

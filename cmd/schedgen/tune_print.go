package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/schedgen/schedgen/sim/fit"
)

// print tells what was measured, the parameters of models, and the rules.
func (t *tuned) print(w io.Writer) error {
	var b bytes.Buffer
	if t.machine != nil {
		t.printSizes(&b)
		t.printModels(&b)
	} else {
		fmt.Fprintf(&b, "LogGP model, not measured: %v\n\n", t.cmd.model())
	}
	t.printRules(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// printSizes prints what messages of each length take.
func (t *tuned) printSizes(b *bytes.Buffer) {
	fmt.Fprintf(b, "messages between 2 ranks over %s%s; µs, medians with 95 %% confidence intervals\n", t.link.Transport, t.link.words())
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "size\tone way\t\tsender\t\treceiver\t\tgap\t\trounds\t")
	for i := range t.machine.Sizes {
		s := &t.machine.Sizes[i]
		fmt.Fprintf(table, "%v\t", byteSize(s.Bytes))
		for _, v := range []fit.Interval{s.OneWay, s.Send, s.Recv, s.Gap} {
			fmt.Fprintf(table, "%s\t%s\t", threeDigits(v.Value/1e3), ends(v, 1e-3))
		}
		fmt.Fprintf(table, "%d\t\n", len(t.samples[i].RoundTrip))
	}
	_ = table.Flush() // into memory
	if left := t.wanted - len(t.machine.Sizes); left > 0 {
		fmt.Fprintf(b, "%s not measured: --budget was over\n", count(left, "longer size"))
	}
	if wide := t.unsettled(); wide > 0 {
		fmt.Fprintf(b, "at %s an interval is wider than --precision=%v asks for\n", count(wide, "size"), t.cmd.Precision)
	}
}

// unsettled counts sizes that were not measured as well as was asked for.
func (t *tuned) unsettled() (n int) {
	for i := range t.machine.Sizes {
		if !t.machine.Sizes[i].Settled(t.cmd.Precision, resolution) {
			n++
		}
	}
	return n
}

// quantity is a parameter that lines were fitted to.
type quantity struct {
	name         string // of the function of a message's length
	start, slope string // what the line's numbers are called
	pieces       []fit.Piece
}

func quantities(m *fit.Machine) []quantity {
	return []quantity{
		{"one way", "t0", "t_d", m.OneWay}, {"sender", "o_s", "O_s", m.Send},
		{"receiver", "o_r", "O_r", m.Recv}, {"gap", "g", "G", m.Gaps},
	}
}

// printModels prints the parameters, and lines where one does not fit.
func (t *tuned) printModels(b *bytes.Buffer) {
	m := t.machine
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row := func(model, name string, v fit.Interval, unit string) {
		fmt.Fprintf(table, "%s\t%s\t%s %s\t%s\n", model, name, threeDigits(v.Value), unit, ends(v, 1))
	}
	fmt.Fprintln(b)
	row("LogGP", "L", m.L, "ns")
	row("", "o", m.O, "ns")
	row("", "g", m.Gap, "ns")
	row("", "G", m.GPerByte, "ns/B")
	row("", "O", m.OPerByte, "ns/B")
	row("linear", "t0", m.T0, "ns")
	row("", "t_d", m.PerByte, "ns/B")
	_ = table.Flush() // into memory
	g := m.LogGP()
	fmt.Fprintf(b, "as flags: --L %dns --o %dns --g %dns --G %vns --O %vns\n", g.L, g.O, g.Gap, g.GPerByte, g.OPerByte)
	l := m.Linear()
	fmt.Fprintf(b, "          --model linear --t0 %dns --td %vns\n\n", l.T0, l.PerByte)
	for _, q := range quantities(m) {
		t.printPieces(b, &q)
	}
}

// printPieces says whether one line fits a quantity.
func (t *tuned) printPieces(b *bytes.Buffer, q *quantity) {
	if len(q.pieces) == 1 {
		word := "one line fits"
		if !q.pieces[0].Fits {
			word = "no four lines fit; one"
		}
		fmt.Fprintf(b, "%s: %s, off by %.0f %% at most\n", q.name, word, 100*q.pieces[0].Worst)
		return
	}
	fmt.Fprintf(b, "%s: one line does not fit, these do:\n", q.name)
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range q.pieces {
		p := &q.pieces[i]
		fmt.Fprintf(table, "  %v to %v\t%s = %s ns\t%s = %s ns/B\toff by %.0f %% at most\n",
			byteSize(t.machine.Sizes[p.From].Bytes), byteSize(t.machine.Sizes[p.To-1].Bytes),
			q.start, threeDigits(p.Line.Intercept.Value), q.slope, threeDigits(p.Line.Slope.Value), 100*p.Worst)
	}
	_ = table.Flush() // into memory
}

// printRules prints the rules that are better than the built-in ones.
func (t *tuned) printRules(b *bytes.Buffer) {
	if t.machine != nil {
		fmt.Fprintln(b)
	}
	lines := t.ruleLines()
	if len(lines) == 0 {
		fmt.Fprintln(b, "rules: none is better than the built-in ones")
	} else {
		fmt.Fprintf(b, "rules: %d measured, %d modelled; else the built-in ones\n", t.made.measured, t.made.modelled)
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
	if t.dropped > 0 {
		fmt.Fprintf(b, "candidates of %s were not timed: --budget was over\n", count(t.dropped, "case"))
	}
}

// ends spells an interval, in a unit.
func ends(v fit.Interval, unit float64) string {
	if math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) {
		return "[?]"
	}
	return fmt.Sprintf("[%s, %s]", threeDigits(v.Low*unit), threeDigits(v.High*unit))
}

// threeDigits spells a number with three digits that count, more before the point.
func threeDigits(v float64) string {
	if v == 0 {
		return "0"
	}
	places := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(v, 'f', min(max(places, 0), 5), 64)
}

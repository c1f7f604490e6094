package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/terminal"
)

// print prints the measured times, the parameters of the models and the rules.
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

// printSizes prints the times of messages of each size.
func (t *tuned) printSizes(b *bytes.Buffer) {
	fmt.Fprintf(b, "messages between 2 ranks over %s%s; µs, medians with 95 %% confidence intervals\n", t.link.Transport, keyOf(&t.link).suffix())
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
		fmt.Fprintf(b, "%s not measured: --budget was over\n", command.Count(left, "longer size"))
	}
	if wide := t.unsettled(); wide > 0 {
		fmt.Fprintf(b, "%s with an interval wider than --precision=%v allows\n", command.Count(wide, "size"), t.cmd.Precision)
	}
}

// unsettled returns the number of sizes that were not measured to the precision of the flags.
func (t *tuned) unsettled() (n int) {
	for i := range t.machine.Sizes {
		if !t.machine.Sizes[i].Settled(t.cmd.Precision, fit.Resolution) {
			n++
		}
	}
	return n
}

// quantity is a time of messages to which lines were fitted.
type quantity struct {
	fit.Quantity
	start, slope string // names of the line's intercept and slope
	pieces       []fit.Piece
}

func quantities(m *fit.Machine) []quantity {
	of := fit.Quantities()
	return []quantity{
		{of[0], "t0", "t_d", m.OneWay}, {of[1], "o_s", "O_s", m.Send},
		{of[2], "o_r", "O_r", m.Recv}, {of[3], "g", "G", m.Gaps},
	}
}

// printModels prints the parameters of the models, and the lines of each quantity.
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

// printPieces prints whether one line fits a quantity, and the lines if several do.
func (t *tuned) printPieces(b *bytes.Buffer, q *quantity) {
	if len(q.pieces) == 1 {
		word, rules := "one line fits", ""
		if !q.pieces[0].Fits {
			word = "up to four lines do not fit; one line"
			if t.made.modelled > 0 {
				rules = "; rules use the times themselves, not the line"
			}
		}
		fmt.Fprintf(b, "%s: %s, off by %.0f %% at most%s\n", q.Name, word, 100*q.pieces[0].Worst, rules)
		return
	}
	fmt.Fprintf(b, "%s: one line does not fit, these do:\n", q.Name)
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
	switch {
	case len(lines) > 0:
		fmt.Fprintf(b, "rules: %d measured, %d modelled; the built-in rules decide all other cases\n", t.made.measured, t.made.modelled)
	case len(t.misfits) == 0 || t.timed != nil:
		fmt.Fprintln(b, "rules: none is better than the built-in ones")
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
	t.printMisfits(b)
	if t.dropped > 0 {
		fmt.Fprintf(b, "candidates of %s were not timed: --budget was over\n", command.Count(t.dropped, "case"))
	}
}

// printMisfits prints why the model makes no rules: for each quantity the time that is most off.
func (t *tuned) printMisfits(b *bytes.Buffer) {
	if len(t.misfits) == 0 {
		return
	}
	what := "rules"
	if t.timed != nil {
		what = "modelled rules"
	}
	quantities := fit.Quantities()
	fmt.Fprintf(b, "%s: none, because %d of %d times were not measured well enough for a model\n",
		what, len(t.misfits), len(quantities)*len(t.machine.Sizes))
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, q := range quantities {
		worst, others := worstOf(t.misfits, q.Name)
		if worst == nil {
			continue
		}
		more := ""
		if others > 0 {
			more = "; and " + command.Count(others, "other size")
		}
		fmt.Fprintf(table, "  %s, %v\t%s µs\t%s\t%s%s\n", q.Name, byteSize(worst.Bytes),
			threeDigits(worst.Measured.Value/1e3), ends(worst.Measured, 1e-3), misfitWords(worst), more)
	}
	_ = table.Flush() // into memory
}

// worstOf returns the misfit of a quantity that is most off, or nil if it has none, and the number
// of its other misfits. The quantity "" stands for all quantities.
func worstOf(all []fit.Misfit, quantity string) (worst *fit.Misfit, others int) {
	n := 0
	for i := range all {
		if quantity != "" && all[i].Quantity != quantity {
			continue
		}
		if n++; worst == nil || all[i].Off > worst.Off {
			worst = &all[i]
		}
	}
	return worst, max(n-1, 0)
}

// misfitWords tells by how much a time is off, and how much is allowed.
func misfitWords(m *fit.Misfit) string {
	switch {
	case math.IsInf(m.Off, 1):
		return "too few rounds to tell"
	case m.Uncertain && m.Off > 10: // happens with values near zero
		return fmt.Sprintf("uncertain by more than 1000 %% (allowed: %.0f %%)", 100*m.Allowed)
	case m.Uncertain:
		return fmt.Sprintf("uncertain by %.0f %% (allowed: %.0f %%)", 100*m.Off, 100*m.Allowed)
	}
	return fmt.Sprintf("the model has %s µs, off by %.0f %% (allowed: %.0f %%)", threeDigits(m.Model/1e3), 100*m.Off, 100*m.Allowed)
}

// refusal returns an error if the measurement was too bad for a model and no candidates were to be
// timed.
func (t *tuned) refusal() error {
	if len(t.misfits) == 0 || t.timed != nil {
		return nil
	}
	worst, _ := worstOf(t.misfits, "")
	return terminal.Negative(fmt.Sprintf("no rules: %s not measured well enough; worst: %s, %v: %s; "+
		"measure again while the machine is idle, with a longer --budget, or leave sizes out with --size",
		command.Count(len(t.misfits), "time"), worst.Quantity, byteSize(worst.Bytes), misfitWords(worst)))
}

// ends spells the ends of an interval, multiplied by unit.
func ends(v fit.Interval, unit float64) string {
	if math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) {
		return "[?]"
	}
	return fmt.Sprintf("[%s, %s]", threeDigits(v.Low*unit), threeDigits(v.High*unit))
}

// threeDigits spells a number with three significant digits, and with all digits before the point.
func threeDigits(v float64) string {
	if v == 0 {
		return "0"
	}
	places := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(v, 'f', min(max(places, 0), 5), 64)
}

package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
)

// print prints the results, as a table or an object. It returns an error if data were wrong.
func (s *session) print(t *crew.Tally) error {
	write := s.table
	if s.flags.JSON {
		write = s.object
	}
	if err := write(t); err != nil {
		return err
	}
	wrong := t.Wrong()
	if len(wrong) == 0 {
		return nil
	}
	first := t.Ranks[wrong[0]].Outcome.Wrong
	return terminal.Negative(fmt.Sprintf("%s: found at %s; rank %d: %s", kindOf(rowOf(s.Job.Collective)).wrong.fill(s.Job.Collective), command.Count(len(wrong), "rank"), wrong[0], first.First))
}

func (s *session) table(t *crew.Tally) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := rowOf(s.Job.Collective)
	if row.Published {
		s.writeRates(w, t)
	} else {
		s.writeTimes(w, t, row)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if hasMessage(row) {
		s.writeSummary(&b, t, row)
	}
	writeLearned(&b, &s.Job, learnedBy(t))
	wrong := t.Wrong()
	if len(wrong) == 0 {
		fmt.Fprintln(&b, strings.ReplaceAll(kindOf(row).checked.fill(row.Name), "{sum}", s.Job.Sum))
	}
	for _, rank := range wrong {
		f := t.Ranks[rank].Outcome.Wrong
		fmt.Fprintf(&b, "rank %d: WRONG %d times, first %s\n", rank, f.Count, f.First)
	}
	_, err := s.std.Out.Write(b.Bytes())
	return err
}

// writeRates prints for each rank the numbers of messages published and received, and the rate.
func (s *session) writeRates(w io.Writer, t *crew.Tally) {
	fmt.Fprintf(w, "%s: %s of %v from each of %s\n", s.title(), command.Count(s.Job.Messages, "message"),
		byteSize(s.Job.Size), command.Count(len(t.Ranks), "rank"))
	fmt.Fprintln(w, "rank\tpublished\treceived\ttime\tmessages/s\tbytes\t")
	for rank := range t.Ranks {
		o := t.Ranks[rank].Outcome
		perSecond := float64(o.Received) / o.Elapsed.Seconds()
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%.0f\t%s\t\n", rank, s.Job.Messages, o.Received, spell(o.Elapsed),
			perSecond, rate(perSecond*float64(s.Job.Size)))
	}
}

// writeTimes prints for each rank the times of its calls, and how its chunks came if the schedule
// multicasts.
func (s *session) writeTimes(w io.Writer, t *crew.Tally, row *ir.Collective) {
	fmt.Fprintf(w, "%s: %s\n", s.title(), s.what(row))
	fmt.Fprint(w, "rank\tmedian\tp99\t")
	moves := hasMessage(row)
	if moves && s.proof.multicasts {
		fmt.Fprint(w, "   how the chunks came")
	}
	fmt.Fprintln(w)
	for rank := range t.Ranks {
		r := &t.Ranks[rank]
		fmt.Fprintf(w, "%d\t%s\t%s\t", rank, spell(crew.Quantile(r.Times, 50)), spell(crew.Quantile(r.Times, 99)))
		if words := s.notes(rank, r.Outcome, row); moves && len(words) > 0 {
			fmt.Fprint(w, "   ", strings.Join(words, ", "))
		}
		fmt.Fprintln(w)
	}
	if !moves {
		fmt.Fprintf(w, "max over ranks\t%s\t%s\t\n", spell(crew.Quantile(t.Slowest, 50)), spell(crew.Quantile(t.Slowest, 99)))
	}
}

// what tells what the run has done, and how often.
func (s *session) what(row *ir.Collective) string {
	j := &s.Job
	switch repeats := command.Count(j.Iterations, "iteration"); {
	case row.Blocks == nil:
		return command.Count(j.Iterations, j.Collective)
	case row.Broadcasts():
		return fmt.Sprintf("%v in %s, %s", byteSize(j.Size), command.Count(j.Params.Chunks, "chunk"), repeats)
	case j.Params.Chunks > 1:
		return fmt.Sprintf("%s of %s in %s each, %s", command.Count(row.Blocks(j.Params.Ranks), "block"), lengths(j), command.Count(j.Params.Chunks, "chunk"), repeats)
	default:
		return fmt.Sprintf("%s of %s, %s", command.Count(row.Blocks(j.Params.Ranks), "block"), lengths(j), repeats)
	}
}

// notes tells whether a rank is the root, how its chunks came, and what it has repaired.
func (s *session) notes(rank int, o *crew.Outcome, row *ir.Collective) (words []string) {
	root := row.Rooted && rank == s.Job.Params.Root
	if root {
		words = append(words, row.RootWord())
	}
	if s.proof.multicasts && !(root && row.Broadcasts()) {
		words = append(words, s.origins(o))
	}
	if o.Repairs > 0 {
		words = append(words, "repaired others "+command.Count(int(o.Repairs), "time"))
	}
	return words
}

// origins tells how the chunks of a rank came.
func (s *session) origins(o *crew.Outcome) string {
	switch all := o.McastChunks + o.PutChunks; {
	case all == 0:
		return "no chunks"
	case o.PutChunks == 0:
		return "all by multicast"
	case o.McastChunks == 0:
		return "all " + s.otherwise()
	default:
		return fmt.Sprintf("%d by multicast, %d %s", o.McastChunks, o.PutChunks, s.otherwise())
	}
}

// otherwise tells how chunks come that no multicast has brought.
func (s *session) otherwise() string {
	switch {
	case s.Job.Algorithm == "bcast/mcast-chain":
		return "by chain or repair"
	case s.proof.puts:
		return "by put or repair"
	}
	return "by repair"
}

// writeSummary prints the skew of the ranks and the throughput, and for a broadcast how many chunks
// came by multicast and when all ranks had replied.
func (s *session) writeSummary(w io.Writer, t *crew.Tally, row *ir.Collective) {
	bytes, to := s.Job.Size, "every rank"
	if row.Broadcasts() {
		if line := s.multicastLine(t); line != "" {
			fmt.Fprintln(w, line)
		}
	} else {
		bytes, to = movedBytes(&s.Job), "all ranks together"
	}
	k, slowest := t.Skew(), crew.Quantile(t.Slowest, 50)
	fmt.Fprintf(w, "skew: median over ranks %s; first rank %d %+.1f %%, last rank %d %+.1f %%\n",
		spell(k.Median), k.FirstRank, k.FirstPercent, k.LastRank, k.LastPercent)
	fmt.Fprintf(w, "throughput: %s to %s; the slowest rank takes %s (median)\n", rate(float64(bytes)/slowest.Seconds()), to, spell(slowest))
	if r := s.replied(t); r != nil {
		fmt.Fprintf(w, "all replied: %s after the root's call (median), p99 %s\n", spellSeconds(r.Median), spellSeconds(r.P99))
	}
}

// multicastLine tells how many chunks came by multicast. If the transport multicasts and the
// algorithm does not, it tells so.
func (s *session) multicastLine(t *crew.Tally) string {
	if !s.proof.multicasts {
		if s.Job.Link.Transport == overMcast && len(t.Ranks) > 1 {
			return fmt.Sprintf("multicast: %s does not use it; --algorithm bcast/mcast-acktree does", s.Job.Algorithm)
		}
		return ""
	}
	var by, others uint64
	for rank := range t.Ranks {
		if rank != s.Job.Params.Root {
			by += t.Ranks[rank].Outcome.McastChunks
			others += t.Ranks[rank].Outcome.PutChunks
		}
	}
	switch all := by + others; {
	case all == 0:
		return ""
	case others == 0:
		return fmt.Sprintf("multicast: the root sent each chunk once, and it reached all %s", command.Count(len(t.Ranks)-1, "other rank"))
	default:
		return fmt.Sprintf("multicast: brought %d of %d chunks to the other ranks; %d came %s", by, all, others, s.otherwise())
	}
}

// title returns the algorithm, the transport and the losses of the run.
func (s *session) title() string {
	lost := ""
	if s.Job.Link.Loss > 0 {
		lost = fmt.Sprintf(", losing %.4g %% of all multicasts", 100*s.Job.Link.Loss)
	}
	return s.Job.Algorithm + " over " + linkName(&s.Job.Link) + keyOf(&s.Job.Link).suffix() + lost
}

// linkName spells the transport, and the interface or device that it uses.
func linkName(l *crew.Link) string {
	words := []string{l.Transport}
	if l.Interface != "" && (l.Transport == overMcast || l.Transport == overHybrid) {
		words = append(words, "on", l.Interface)
	}
	if l.Device != "" {
		words = append(words, "on", l.Device)
	}
	if l.IPv6 {
		words = append(words, "(IPv6)")
	}
	return strings.Join(words, " ")
}

// spell spells a time with three digits.
func spell(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d >= u.unit {
			return digits(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

func spellSeconds(s float64) string { return spell(time.Duration(s * float64(time.Second))) }

// rate spells a rate in bytes a second with three digits.
func rate(bytes float64) string {
	for _, u := range []struct {
		name string
		unit float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if bytes >= u.unit {
			return digits(bytes/u.unit) + " " + u.name + "/s"
		}
	}
	return fmt.Sprintf("%.0f B/s", bytes)
}

func digits(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

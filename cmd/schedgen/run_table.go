package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// print prints the outcome, as a table or an object; the error says if
// anything was wrong.
func (s *session) print(t *tally) error {
	write := s.table
	if s.flags.JSON {
		write = s.object
	}
	if err := write(t); err != nil {
		return err
	}
	wrong := t.wrong()
	if len(wrong) == 0 {
		return nil
	}
	first := t.ranks[wrong[0]].outcome.Wrong
	what := map[string]string{"bcast": "wrong data", "barrier": "no barrier", "anycast": "wrong messages"}[s.job.Verb]
	return &noError{fmt.Sprintf("%s: found at %s; rank %d: %s", what, count(len(wrong), "rank"), wrong[0], first.First)}
}

func (s *session) table(t *tally) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	switch s.job.Verb {
	case "bcast":
		s.bcastRows(w, t)
	case "barrier":
		s.barrierRows(w, t)
	case "anycast":
		s.anycastRows(w, t)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.job.Verb == "bcast" {
		s.bcastSummary(&b, t)
	}
	if len(t.wrong()) == 0 {
		fmt.Fprintln(&b, s.verdict())
	}
	for _, rank := range t.wrong() {
		f := t.ranks[rank].outcome.Wrong
		fmt.Fprintf(&b, "rank %d: WRONG %d times, first %s\n", rank, f.Count, f.First)
	}
	_, err := s.std.Out.Write(b.Bytes())
	return err
}

// title says what was run.
func (s *session) title() string {
	lost := ""
	if s.job.Link.Loss > 0 {
		lost = fmt.Sprintf(", losing %.4g %% of all multicasts", 100*s.job.Link.Loss)
	}
	return s.job.Algorithm + " over " + s.job.Link.name() + s.job.Link.words() + lost
}

// name spells the transport, and where it multicasts.
func (l *link) name() string {
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

func (s *session) bcastRows(w io.Writer, t *tally) {
	fmt.Fprintf(w, "%s: %v in %s, %s\n", s.title(), byteSize(s.job.Size),
		count(s.job.Params.Chunks, "chunk"), count(s.job.Iterations, "iteration"))
	head := ""
	if s.proof.multicasts {
		head = "   how the chunks came"
	}
	fmt.Fprintf(w, "rank\tmedian\tp99\t%s\n", head)
	for rank := range t.ranks {
		r := &t.ranks[rank]
		words := ""
		if rank == s.job.Params.Root {
			words = "   root"
		} else if s.proof.multicasts {
			words = "   " + s.origins(r.outcome)
		}
		if n := r.outcome.Repairs; n > 0 {
			words += fmt.Sprintf(", repaired others %s", count(int(n), "time"))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", rank, spell(quantile(r.times, 50)), spell(quantile(r.times, 99)), words)
	}
}

// origins says how a rank's chunks came.
func (s *session) origins(o *outcome) string {
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

// otherwise says how chunks come that a multicast has not brought.
func (s *session) otherwise() string {
	switch {
	case s.job.Algorithm == "bcast/mcast-chain":
		return "by chain or repair"
	case s.proof.puts:
		return "by put or repair"
	}
	return "by repair"
}

func (s *session) bcastSummary(w io.Writer, t *tally) {
	if line := s.multicastLine(t); line != "" {
		fmt.Fprintln(w, line)
	}
	k := t.skew()
	fmt.Fprintf(w, "skew: median over ranks %s; first rank %d %+.1f %%, last rank %d %+.1f %%\n",
		spell(k.Median), k.FirstRank, k.FirstPercent, k.LastRank, k.LastPercent)
	slowest := quantile(t.slowest, 50)
	fmt.Fprintf(w, "throughput: %s to every rank, the last having all after %s (median)\n",
		rate(float64(s.job.Size)/slowest.Seconds()), spell(slowest))
	if r := s.replied(t); r != nil {
		fmt.Fprintf(w, "all replied: %s after the root's call (median), p99 %s\n", spellSeconds(r.Median), spellSeconds(r.P99))
	}
}

// multicastLine says what multicasts have brought to all ranks, or that there are none where there
// could be.
func (s *session) multicastLine(t *tally) string {
	if !s.proof.multicasts {
		if s.job.Link.Transport == overMcast && len(t.ranks) > 1 {
			return fmt.Sprintf("multicast: %s sends none; --algorithm bcast/mcast-acktree does", s.job.Algorithm)
		}
		return ""
	}
	var by, others uint64
	for rank := range t.ranks {
		if rank != s.job.Params.Root {
			by += t.ranks[rank].outcome.McastChunks
			others += t.ranks[rank].outcome.PutChunks
		}
	}
	switch all := by + others; {
	case all == 0:
		return ""
	case others == 0:
		return fmt.Sprintf("multicast: the root sent each chunk once, and it came to all %s", count(len(t.ranks)-1, "other rank"))
	default:
		return fmt.Sprintf("multicast: it brought %d of %d chunks to the other ranks; %d came %s", by, all, others, s.otherwise())
	}
}

func (s *session) barrierRows(w io.Writer, t *tally) {
	fmt.Fprintf(w, "%s: %s\n", s.title(), count(s.job.Iterations, "barrier"))
	fmt.Fprintln(w, "rank\tmedian\tp99\t")
	for rank := range t.ranks {
		r := &t.ranks[rank]
		fmt.Fprintf(w, "%d\t%s\t%s\t\n", rank, spell(quantile(r.times, 50)), spell(quantile(r.times, 99)))
	}
	fmt.Fprintf(w, "max over ranks\t%s\t%s\t\n", spell(quantile(t.slowest, 50)), spell(quantile(t.slowest, 99)))
}

func (s *session) anycastRows(w io.Writer, t *tally) {
	fmt.Fprintf(w, "%s: %s of %v from each of %s\n", s.title(), count(s.job.Messages, "message"),
		byteSize(s.job.Size), count(len(t.ranks), "rank"))
	fmt.Fprintln(w, "rank\tpublished\treceived\ttime\tmessages/s\tbytes\t")
	for rank := range t.ranks {
		o := t.ranks[rank].outcome
		perSecond := float64(o.Received) / o.Elapsed.Seconds()
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%.0f\t%s\t\n", rank, s.job.Messages, o.Received, spell(o.Elapsed),
			perSecond, rate(perSecond*float64(s.job.Size)))
	}
}

// verdict says what has been checked, and holds.
func (s *session) verdict() string {
	switch s.job.Verb {
	case "bcast":
		return fmt.Sprintf("SHA-256 %s at every rank after every broadcast", s.job.Sum)
	case "barrier":
		return "no rank left a barrier before the last had entered it"
	}
	return "every message came exactly once, unchanged and in its origin's order"
}

// spell prints a time with three digits.
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

// rate prints bytes a second with three digits.
func rate(bytes float64) string {
	for _, name := range []string{"GB", "MB", "kB"} {
		if unit := float64(units[name]); bytes >= unit {
			return digits(bytes/unit) + " " + name + "/s"
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

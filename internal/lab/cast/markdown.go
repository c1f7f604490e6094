//go:build linux

package cast

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/words"
)

const disclosure = `A file that cannot be compressed goes from one host to as many as stand in the table. Hosts are network
namespaces of one machine behind a bridge; both ends of each link are shaped, with queues of 128 KiB; frames are lost on
their way to each host by itself, those of TCP too. Hosts know each other's cards (ARP). Receivers have been started and, where they bind a port,
have bound it. Times are in seconds, from the start of the sender's process until the last host has the whole
file and the sender's process has ended, medians over rounds in which the tools took turns; behind each
the multiple of the wire's time, which is what one copy takes a link in full datagrams without heads. What
every host has got is verified by SHA-256. **Bold**: schedgen is above its goal, 1.1 times the wire's time without losses and 1.25 times
with them, or another tool is faster.

- schedgen: schedcast --serve and receive, as a user would call them who leaves the transport to them; each file is
  given to the disk (fsync) and checked before it is there, which no other tool here does. schedgen-tcp and
  schedgen-mcast: the same with --transport. No key.
- udpcast: --full-duplex, hello again each 100 ms, --max-bitrate of 95 % of the links' rate. udpcast-fec: with --fec 8x8/128 as
  well. Without --max-bitrate where links have no limit.
- uftp: told 95 % of the links' rate, or -1 where they have no limit, -r 0.1 and blocks of 1400 bytes.
- scp: one to each host, all at the same time, with aes128-gcm.
`

// writeFiles writes the table and the picture of the report.
func (r *results) writeFiles(about []string, v *Verb) error {
	all := lines(r.figures())
	return v.Write(map[string]func(io.Writer) error{
		"md":  func(w io.Writer) error { return writeMarkdown(w, about, all) },
		"svg": func(w io.Writer) error { return writeSVG(w, all) },
	})
}

func writeMarkdown(w io.Writer, about []string, all []*line) error {
	var b bytes.Buffer
	report.WriteHead(&b, "A file to many hosts", about, disclosure)
	for section := range sections(all) {
		writeTimes(&b, section)
	}
	writeCosts(&b, all)
	writeFailures(&b, all)
	_, err := w.Write(b.Bytes())
	return err
}

// sections yields the lines of each size, fault and rate.
func sections(all []*line) func(yield func([]*line) bool) {
	same := func(a, b *line) bool { return a.Bytes == b.Bytes && a.Fault == b.Fault && a.Rate == b.Rate }
	return func(yield func([]*line) bool) {
		for first := 0; first < len(all); {
			next := first + 1
			for next < len(all) && same(all[first], all[next]) {
				next++
			}
			if !yield(all[first:next]) {
				return
			}
			first = next
		}
	}
}

// measured returns the tools that were measured in a section.
func measured(section []*line) (names []string) {
	for _, name := range toolNames() {
		if slices.ContainsFunc(section, func(l *line) bool { return l.by[name] != nil }) {
			names = append(names, name)
		}
	}
	return names
}

var faultTitles = map[string]string{
	faultNone: "",
	faultSlow: ", one host with a link of a tenth of the rate: until the others have the file / until all have",
	faultDies: ", one host's processes are killed when it has half: until the others have the file / until the sender has ended",
	faultCut:  ", one host's link is cut when it has half: until the others have the file / until the sender has ended",
}

func writeTimes(w io.Writer, section []*line) {
	first, names := section[0], measured(section)
	fmt.Fprintf(w, "\n## %s, %s%s\n\n", words.Size(int64(first.Bytes)), units.Rate(first.Rate), faultTitles[first.Fault])
	titles := []string{"loss:", "hosts:", "wire:"}
	for _, name := range names {
		titles = append(titles, name+":")
	}
	report.WriteTitles(w, append(titles, "best other / "+ours+":")...)
	for _, l := range section {
		cells := []any{units.Loss(l.PerMille), l.Hosts, units.Seconds(l.wire())}
		for _, name := range names {
			text := l.by[name].time()
			if name == ours && l.missed() {
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		report.WriteCells(w, append(cells, l.advantage())...)
	}
}

// time returns the entry of the first table.
func (f *figure) time() string {
	if f == nil {
		return "-"
	}
	if why := f.failure(); why != "" {
		if strings.HasPrefix(why, "did not end") {
			return why
		}
		return "failed"
	}
	text := units.Seconds(f.seconds())
	if f.Fault != faultNone {
		return text + " / " + units.Seconds(f.median(func(r *row) float64 { return r.Ended }))
	}
	if f.Rate > 0 {
		text += fmt.Sprintf(" (%.2f)", f.seconds()/f.wire())
	}
	return text
}

// advantage returns the time of the fastest other tool divided by schedgen's time.
func (l *line) advantage() string {
	f, best := l.by[ours], l.fastest()
	if f == nil || best == nil || f.seconds() <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f, %s", best.seconds()/f.seconds(), best.tool)
}

// writeCosts writes the table of processor time, memory, and bytes on links.
func writeCosts(w io.Writer, all []*line) {
	fmt.Fprint(w, `
## What it took

Seconds of processors and MiB of memory at most, of the sender's processes, and of all receivers' and of the largest of them; MiB on
the sender's link, and on that of the receiver with most; what schedgen says it took from when all had come; the transport that it chose; where hosts
wrote; the share of the cores that other work took, before the measurement.

`)
	report.WriteTitles(w, "", "tool", "s:", "CPU, sender:", "CPU, receivers:", "memory, sender:", "memory, receiver:", "sent:", "received:", "told:",
		"by", "store", "others:")
	for _, l := range all {
		for _, name := range toolNames() {
			if f := l.by[name]; f != nil && f.seconds() > 0 {
				f.writeCost(w)
			}
		}
	}
}

func (f *figure) writeCost(w io.Writer) {
	number := func(format string, of func(*row) float64) string { return fmt.Sprintf(format, f.median(of)) }
	inMiB := func(of func(*row) int64) string {
		return number("%.0f", func(r *row) float64 { return float64(of(r)) / mib })
	}
	last := f.rows[len(f.rows)-1]
	report.WriteCells(w, f.cell, f.tool, units.Seconds(f.seconds()),
		number("%.2f", func(r *row) float64 { return r.SenderCPU }), number("%.2f", func(r *row) float64 { return r.ReceiversCPU }),
		inMiB(func(r *row) int64 { return r.SenderMemory }), inMiB(func(r *row) int64 { return r.ReceiversMemory }),
		inMiB(func(r *row) int64 { return r.Sent }), inMiB(func(r *row) int64 { return r.Received }),
		units.Seconds(f.median(func(r *row) float64 { return r.Told })), last.Way, last.Store, number("%.2f", func(r *row) float64 { return r.Others }))
}

// writeFailures writes the reasons for missing results.
func writeFailures(w io.Writer, all []*line) {
	title := "\n## Without a result\n\n"
	for _, l := range all {
		for _, name := range toolNames() {
			if f := l.by[name]; f != nil && f.failure() != "" {
				fmt.Fprintf(w, "%s- %v, %s: %s\n", title, f.cell, f.tool, f.failure())
				title = ""
			}
		}
	}
}

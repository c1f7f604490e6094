package status

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// A family is the samples of one name. Names follow the rules of Prometheus: they begin with
// schedgen_, and end with the unit, seconds or bytes. To the name of a counter _total is added.
type family struct {
	name  string
	kind  string // gauge, counter, histogram or info
	help  string
	write func(w *writer, r *Report)
}

// families are all metrics, in the order of the exposition.
var families = slices.Concat([]family{
	{"schedgen", info, "The transport of a process, as a label; always 1.", func(w *writer, r *Report) {
		if len(r.States) > 0 {
			w.sample("_info", 1, "process", strconv.Itoa(r.Process), "transport", r.States[0].Transport)
		}
	}},
},
	comms(gauge, []metric{
		{"ranks", "Ranks of the communicator.", func(s *runtime.State) float64 { return float64(s.Size) }},
		{"epoch", "Version of the membership; Shrink, Split and Dup make higher ones.", func(s *runtime.State) float64 { return float64(s.Epoch) }},
		{"failed", "Whether the communicator has failed or is closed.", func(s *runtime.State) float64 { return truth(s.Failure != "") }},
		{"callers", "Goroutines inside a call.", func(s *runtime.State) float64 { return float64(s.Callers) }},
		{"open_operations", "Operations that have begun and not ended.", func(s *runtime.State) float64 { return float64(len(s.Open)) }},
		{"queued_operations", "Operations that wait for room to begin.", func(s *runtime.State) float64 { return float64(s.Queued) }},
		{"last_operation", "Number of the last operation that has begun.", func(s *runtime.State) float64 { return float64(s.Begun) }},
		{"oldest_operation_age_seconds", "How long the oldest open operation has been open; 0 without any.", func(s *runtime.State) float64 { return oldest(s).Age / 1e9 }},
		{"oldest_operation_quiet_seconds", "How long nothing has come of what the oldest open operation waits for.", func(s *runtime.State) float64 { return oldest(s).Quiet / 1e9 }},
		{"missing_slots", "Slots that the oldest open operation waits for.", func(s *runtime.State) float64 { return oldest(s).Missing }},
		{"unsent_frames", "Frames of the oldest open operation that have not left.", func(s *runtime.State) float64 { return oldest(s).Unsent }},
		{"unread_messages", "Rootless messages that the process has not taken.", func(s *runtime.State) float64 { return float64(s.Unread) }},
		{"root_delay_seconds", "Greatest delay of adaptive broadcasts at present.", func(s *runtime.State) float64 { return s.Totals.RootDelay.Seconds() }},
	}),
	comms(counter, []metric{
		{"operations", "Collective operations completed.", func(s *runtime.State) float64 { return float64(s.Totals.Operations) }},
		{"mcast_chunks", "Chunks of collective operations that came by multicast first.", func(s *runtime.State) float64 { return float64(s.Totals.McastChunks) }},
		{"put_chunks", "Chunks of collective operations that came by put first.", func(s *runtime.State) float64 { return float64(s.Totals.PutChunks) }},
		{"other_stage_broadcasts", "Broadcasts for which an adaptive root has chosen the other second stage.", func(s *runtime.State) float64 { return float64(s.Totals.OtherStage) }},
		{"repairs", "Repair rules carried out.", func(s *runtime.State) float64 { return float64(s.Totals.Repairs) }},
		{"doubled_signals", "Signals sent as datagrams too.", func(s *runtime.State) float64 { return float64(s.Totals.Doubled) }},
		{"stale_frames", "Frames and datagrams dropped: of past operations, or not fitting.", func(s *runtime.State) float64 { return float64(s.Totals.Stale) }},
		{"published", "Rootless messages of this rank.", func(s *runtime.State) float64 { return float64(s.Totals.Published) }},
		{"delivered", "Rootless messages handed to this process.", func(s *runtime.State) float64 { return float64(s.Totals.Delivered) }},
		{"given", "Rootless messages put to ranks that had lost their multicasts.", func(s *runtime.State) float64 { return float64(s.Totals.Given) }},
	}),
	[]family{{"schedgen_operation_duration_seconds", histogram, "From the call or start of an operation to its end, by length of a block in bytes, up to and including the label; only with Observe.Latency.", writeLatencies}},
	processes(counter, []metric{
		{"lost_ranks", "Ranks of the job that are lost.", func(s *runtime.State) float64 { return float64(s.Totals.LostRanks) }},
	}),
	[]family{{"schedgen_transport_sent_bytes", counter, "Bytes sent, by put, multicast or shared memory. A put through memory counts once for each receiver.", func(w *writer, r *Report) {
		if len(r.States) > 0 {
			s := &r.States[0].Totals.Transport
			w.sample("_total", float64(s.PutBytes-s.MemoryBytes), "process", strconv.Itoa(r.Process), "by", "put")
			w.sample("_total", float64(s.McastBytes), "process", strconv.Itoa(r.Process), "by", "multicast")
			w.sample("_total", float64(s.MemoryBytes), "process", strconv.Itoa(r.Process), "by", "memory")
		}
	}}},
	processes(counter, []metric{
		{"transport_got_bytes", "Bytes received by put, over the network or through memory.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GotBytes) }},
		{"transport_put_frames", "Frames put.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.PutFrames) }},
		{"transport_got_frames", "Frames received by put.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GotFrames) }},
		{"transport_mcast_datagrams", "Datagrams multicast.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.McastFrames) }},
		{"transport_sent_datagrams", "Datagrams sent to one rank.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.DatagramFrames) }},
		{"transport_got_datagrams", "Datagrams received and looked at.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GotDatagrams) }},
		{"transport_foreign_datagrams", "Datagrams dropped: of another job, or not a frame.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Foreign) }},
		{"transport_torn_datagrams", "Datagrams dropped: cut short, or with inconsistent lengths.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Torn) }},
		{"transport_forged_datagrams", "Datagrams dropped: not from their sender's address.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Forged) }},
		{"transport_early_datagrams", "Datagrams dropped: held ones beyond the transport's limit.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Early) }},
		{"transport_injected_losses", "Datagrams dropped by injected loss.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Injected) }},
		{"transport_unsendable_datagrams", "Datagrams that the system refused to send.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Unsendable) }},
		{"transport_unauthenticated", "Datagrams dropped and connections closed: not sealed with the ranks' key.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Unauthenticated) }},
		{"transport_replayed_datagrams", "Datagrams dropped: sealed, but received before, too old to tell, or meant for other ranks.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Replayed) }},
		{"transport_groups", "Multicast groups joined for communicators.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Groups) }},
		{"transport_groups_refused", "Multicast groups that could not be joined, or in which nothing was received.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GroupsRefused) }},
		{"transport_rejected_connections", "Connections closed because they were not a rank's.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Rejected) }},
	}),
)

// The kinds of families.
const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
	info      = "info"
)

// metric is a gauge or counter with one value for each communicator or process.
type metric struct {
	name  string
	help  string
	value func(s *runtime.State) float64
}

// comms returns families with a sample for each communicator of a process.
func comms(kind string, all []metric) []family {
	return familiesOf(kind, all, func(m metric, w *writer, r *Report) {
		for s, labels := range r.communicators() {
			w.sample(suffix(kind), m.value(s), labels...)
		}
	})
}

// processes returns families with a sample for each process. They take it from the first state,
// because all states of a process share one transport.
func processes(kind string, all []metric) []family {
	return familiesOf(kind, all, func(m metric, w *writer, r *Report) {
		if len(r.States) > 0 {
			w.sample(suffix(kind), m.value(&r.States[0]), "process", strconv.Itoa(r.Process))
		}
	})
}

func familiesOf(kind string, all []metric, write func(m metric, w *writer, r *Report)) []family {
	var list []family
	for _, m := range all {
		list = append(list, family{"schedgen_" + m.name, kind, m.help, func(w *writer, r *Report) { write(m, w, r) }})
	}
	return list
}

// suffix returns what the sample of a family of a kind has after the family's name.
func suffix(kind string) string {
	if kind == counter {
		return "_total"
	}
	return ""
}

// communicators yields the states of a process with the labels of their samples. It leaves out a
// communicator that has a successor with the same number (Comm.Shrink), because no sample may appear
// twice. The successor stands later in States.
func (r *Report) communicators() func(yield func(*runtime.State, []string) bool) {
	return func(yield func(*runtime.State, []string) bool) {
		for i := range r.States {
			s := &r.States[i]
			if i+1 < len(r.States) && r.States[i+1].Comm == s.Comm {
				continue
			}
			if !yield(s, []string{"process", strconv.Itoa(s.Process), "comm", strconv.Itoa(int(s.Comm)), "rank", strconv.Itoa(s.Rank)}) {
				return
			}
		}
	}
}

func writeLatencies(w *writer, r *Report) {
	for s, labels := range r.communicators() {
		for _, l := range s.Latencies {
			length := "+Inf"
			if l.Bytes >= 0 {
				length = strconv.Itoa(l.Bytes)
			}
			of := append(slices.Clip(labels), "collective", l.Collective, "algorithm", l.Algorithm, "length", length)
			count := uint64(0)
			for i, n := range l.Counts {
				count += n
				w.sample("_bucket", float64(count), append(slices.Clip(of), "le", bound(runtime.LatencyBound(i)))...)
			}
			w.sample("_count", float64(count), of...)
			w.sample("_sum", l.Sum.Seconds(), of...)
		}
	}
}

// bound returns the value of the label le of a bucket.
func bound(d time.Duration) string {
	if d < 0 {
		return number(math.Inf(1))
	}
	return number(d.Seconds())
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// oldestState describes the oldest open operation, with times in nanoseconds.
type oldestState struct{ Age, Quiet, Missing, Unsent float64 }

func oldest(s *runtime.State) (of oldestState) {
	if len(s.Open) > 0 {
		o := &s.Open[0]
		of = oldestState{float64(o.Age), float64(o.Quiet), float64(o.Missing.Chunks + o.Missing.Signals), float64(o.Unsent)}
	}
	return of
}

// format is a format of an exposition.
type format struct {
	kind string // its media type
	open bool   // OpenMetrics, rather than the text format of Prometheus
}

// The formats. They differ in the names and kinds of families, and in the end.
var (
	openMetrics    = format{"application/openmetrics-text; version=1.0.0; charset=utf-8", true}
	prometheusText = format{"text/plain; version=0.0.4; charset=utf-8", false}
)

// formatFor returns the format that a request asks for by its header Accept: OpenMetrics if that is
// named with at least the weight of plain text.
func formatFor(accept string) format {
	open, text := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, _ := strings.Cut(part, ";")
		weight := 1.0
		for param := range strings.SplitSeq(params, ";") {
			if q, ok := strings.CutPrefix(strings.TrimSpace(param), "q="); ok {
				if given, err := strconv.ParseFloat(q, 64); err == nil {
					weight = given
				}
			}
		}
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "application/openmetrics-text":
			open = max(open, weight)
		case "text/plain":
			text = max(text, weight)
		}
	}
	if open > 0 && open >= text {
		return openMetrics
	}
	return prometheusText
}

// writer writes an exposition.
type writer struct {
	*bytes.Buffer
	format
	name string // of the present family
}

// writeMetrics writes all metrics of the reports. For a process that does not answer it writes only
// that the process is not up. The labels of a sample are the process and, for a communicator, its
// number and the rank of this process in it.
func writeMetrics(b *bytes.Buffer, reports []Report, f format) {
	w := &writer{Buffer: b, format: f}
	w.head(&family{name: "schedgen_up", kind: gauge, help: "Whether the process has joined and answers."})
	for _, r := range reports {
		w.sample("", truth(r.Note == ""), "process", strconv.Itoa(r.Process))
	}
	for i := range families {
		w.head(&families[i])
		for _, r := range reports {
			if r.Note == "" {
				families[i].write(w, &r)
			}
		}
	}
	if f.open {
		b.WriteString("# EOF\n")
	}
}

// head writes what stands before the samples of a family. In OpenMetrics a family is named without
// the suffix of its samples, and has a unit.
func (w *writer) head(f *family) {
	w.name = f.name
	name, kind := f.name, f.kind
	switch {
	case w.open:
	case kind == info:
		name, kind = name+"_info", gauge
	default:
		name += suffix(kind)
	}
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, kind)
	for _, unit := range []string{"seconds", "bytes"} {
		if w.open && strings.HasSuffix(name, "_"+unit) {
			fmt.Fprintf(w, "# UNIT %s %s\n", name, unit)
		}
	}
}

// escaper escapes the value of a label.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample writes one sample of the present family. labels alternates names and values.
func (w *writer) sample(suffix string, value float64, labels ...string) {
	w.WriteString(w.name + suffix)
	for i := 0; i < len(labels); i += 2 {
		w.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(w, `%s="%s"`, labels[i], escaper.Replace(labels[i+1]))
	}
	fmt.Fprintf(w, "} %s\n", number(value))
}

// number formats a value, or the bound of a bucket.
func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

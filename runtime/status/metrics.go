package status

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/runtime"
)

// The text format of Prometheus, version 0.0.4: for each metric a line of help, a line with its
// type, and a line for each sample. Units are seconds and bytes. The names of counters end in
// _total.

// metric is one metric of a communicator.
type metric struct {
	name  string
	help  string
	value func(s *runtime.State) float64
}

// counters and gauges describe a communicator, transports a process.
var (
	counters = []metric{
		{"operations", "Collective operations completed.", func(s *runtime.State) float64 { return float64(s.Totals.Operations) }},
		{"mcast_chunks", "Chunks of collective operations that came by multicast first.", func(s *runtime.State) float64 { return float64(s.Totals.McastChunks) }},
		{"put_chunks", "Chunks of collective operations that came by put first.", func(s *runtime.State) float64 { return float64(s.Totals.PutChunks) }},
		{"repairs", "Repair rules carried out.", func(s *runtime.State) float64 { return float64(s.Totals.Repairs) }},
		{"doubled_signals", "Signals sent as datagrams too.", func(s *runtime.State) float64 { return float64(s.Totals.Doubled) }},
		{"stale_frames", "Frames and datagrams dropped: of past operations, or not fitting.", func(s *runtime.State) float64 { return float64(s.Totals.Stale) }},
		{"published", "Rootless messages of this rank.", func(s *runtime.State) float64 { return float64(s.Totals.Published) }},
		{"delivered", "Rootless messages handed to this process.", func(s *runtime.State) float64 { return float64(s.Totals.Delivered) }},
		{"given", "Rootless messages put to ranks that had lost their multicasts.", func(s *runtime.State) float64 { return float64(s.Totals.Given) }},
	}
	gauges = []metric{
		{"ranks", "Ranks of the communicator.", func(s *runtime.State) float64 { return float64(s.Size) }},
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
		{"root_delay_seconds", "Present delay of adaptive broadcasts.", func(s *runtime.State) float64 { return s.Totals.RootDelay.Seconds() }},
	}
	transports = []metric{
		{"put_frames", "Frames put.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.PutFrames) }},
		{"put_bytes", "Bytes put, in frames and through memory.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.PutBytes) }},
		{"got_frames", "Frames received by put.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GotFrames) }},
		{"got_bytes", "Bytes received by put.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GotBytes) }},
		{"mcast_datagrams", "Datagrams multicast.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.McastFrames) }},
		{"mcast_bytes", "Bytes multicast.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.McastBytes) }},
		{"sent_datagrams", "Datagrams sent to one rank.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.DatagramFrames) }},
		{"got_datagrams", "Datagrams received and looked at.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GotDatagrams) }},
		{"foreign_datagrams", "Datagrams dropped: of another job, or not a frame.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Foreign) }},
		{"torn_datagrams", "Datagrams dropped: cut short, or with inconsistent lengths.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Torn) }},
		{"forged_datagrams", "Datagrams dropped: not from their sender's address.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Forged) }},
		{"early_datagrams", "Datagrams dropped: held ones beyond the transport's limit.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Early) }},
		{"injected_losses", "Datagrams dropped by injected loss.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Injected) }},
		{"unsendable_datagrams", "Datagrams that the system refused to send.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Unsendable) }},
		{"unauthenticated", "Datagrams dropped and connections closed: not sealed with the ranks' key.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Unauthenticated) }},
		{"replayed_datagrams", "Datagrams dropped: sealed, but received before, too old to tell, or meant for other ranks.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Replayed) }},
		{"groups", "Multicast groups joined for communicators.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Groups) }},
		{"groups_refused", "Multicast groups that could not be joined, or in which nothing was received.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.GroupsRefused) }},
		{"rejected_connections", "Connections closed because they were not a rank's.", func(s *runtime.State) float64 { return float64(s.Totals.Transport.Rejected) }},
	}
)

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

// writeMetrics writes all metrics of the reports. For a process that does not answer it writes only
// that the process is not up. The labels of a sample are the process and, for a communicator, its
// number and the rank of this process in it.
func writeMetrics(b *bytes.Buffer, reports []Report) error {
	head(b, "schedgen_up", "gauge", "Whether the process answers.")
	for _, r := range reports {
		sample(b, "schedgen_up", truth(r.Note == ""), "process", fmt.Sprint(r.Process))
	}
	head(b, "schedgen_info", "gauge", "The transport of a process, as a label; always 1.")
	for _, r := range reports {
		if r.Note == "" && len(r.States) > 0 {
			sample(b, "schedgen_info", 1, "process", fmt.Sprint(r.Process), "transport", r.States[0].Transport)
		}
	}
	for _, m := range counters {
		m.write(b, "schedgen_"+m.name+"_total", "counter", reports, ofComm)
	}
	for _, m := range gauges {
		m.write(b, "schedgen_"+m.name, "gauge", reports, ofComm)
	}
	for _, m := range transports {
		m.write(b, "schedgen_transport_"+m.name+"_total", "counter", reports, ofProcess)
	}
	return nil
}

// write writes a metric of every state for which labels returns a value other than nil.
func (m *metric) write(b *bytes.Buffer, name, kind string, reports []Report, labels func(states []runtime.State, at int) []string) {
	head(b, name, kind, m.help)
	for _, r := range reports {
		for i := 0; r.Note == "" && i < len(r.States); i++ {
			if l := labels(r.States, i); l != nil {
				sample(b, name, m.value(&r.States[i]), l...)
			}
		}
	}
}

// ofComm leaves out a communicator that has a successor with the same number (Comm.Shrink), because
// no sample may appear twice. The successor stands later in states.
func ofComm(states []runtime.State, at int) []string {
	s := &states[at]
	if at+1 < len(states) && states[at+1].Comm == s.Comm {
		return nil
	}
	return []string{"process", fmt.Sprint(s.Process), "comm", fmt.Sprint(s.Comm), "rank", fmt.Sprint(s.Rank)}
}

// ofProcess returns labels for the first state of a process only, because all its states share one
// transport.
func ofProcess(states []runtime.State, at int) []string {
	if at > 0 {
		return nil
	}
	return []string{"process", fmt.Sprint(states[at].Process)}
}

func head(b *bytes.Buffer, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// escaper escapes the value of a label.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample writes one sample. labels alternates names and values.
func sample(b *bytes.Buffer, name string, value float64, labels ...string) {
	b.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(b, `%s="%s"`, labels[i], escaper.Replace(labels[i+1]))
	}
	fmt.Fprintf(b, "} %s\n", strconv.FormatFloat(value, 'g', -1, 64))
}

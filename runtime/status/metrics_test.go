package status_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/status"
)

// The grammar of OpenMetrics 1.0 and of Prometheus' text format 0.0.4, as far as this package uses
// it.
var (
	metaLine   = regexp.MustCompile(`^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\"]|\\\\|\\n|\\")+)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\} (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(,|$)`)
)

// suffixes are what the names of samples add to the names of their families, by format and type.
var suffixes = map[bool]map[string][]string{
	true:  {"gauge": {""}, "counter": {"_total"}, "info": {"_info"}, "histogram": {"_bucket", "_count", "_sum"}},
	false: {"gauge": {""}, "counter": {""}, "histogram": {"_bucket", "_count", "_sum"}},
}

// exposition is what a scrape says.
type exposition struct {
	values map[string]float64 // by name and labels
	kinds  map[string]string  // types, by the name of a family
	helps  map[string]string
	names  map[string][]string // names of labels, by the name of a family
}

// parse reads an exposition. Every family has its help, its type, in OpenMetrics perhaps its unit,
// and then all of its samples, each once.
func parse(t *testing.T, text string, open bool) exposition {
	t.Helper()
	all := exposition{map[string]float64{}, map[string]string{}, map[string]string{}, map[string][]string{}}
	text, ends := strings.CutSuffix(text, "# EOF\n")
	require.Equal(t, open, ends)
	name := ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		meta, sample := metaLine.FindStringSubmatch(line), sampleLine.FindStringSubmatch(line)
		switch {
		case meta != nil && meta[1] == "HELP":
			name = meta[2]
			require.NotContains(t, all.helps, name, "line %d", i)
			all.helps[name] = meta[3]
		case meta != nil && meta[1] == "TYPE":
			require.Equal(t, name, meta[2])
			require.NotContains(t, all.kinds, name)
			require.Contains(t, suffixes[open], meta[3])
			require.Equal(t, !open && meta[3] == "counter", strings.HasSuffix(name, "_total"), name)
			all.kinds[name] = meta[3]
		case meta != nil:
			require.True(t, open)
			require.Equal(t, name, meta[2])
			require.True(t, strings.HasSuffix(name, "_"+meta[3]), line)
		case sample != nil:
			suffix, ours := strings.CutPrefix(sample[1], name)
			require.True(t, ours, line)
			require.Contains(t, suffixes[open][all.kinds[name]], suffix, line)
			value, err := strconv.ParseFloat(sample[3], 64)
			require.NoError(t, err)
			for _, label := range labels(t, sample[2]) {
				if label != "le" && !slices.Contains(all.names[name], label) {
					all.names[name] = append(all.names[name], label)
				}
			}
			key := sample[1] + "{" + sample[2] + "}"
			require.NotContains(t, all.values, key)
			all.values[key] = value
		default:
			t.Fatalf("line %d is none of the format: %q", i, line)
		}
	}
	return all
}

// labels returns the names of labels.
func labels(t *testing.T, text string) (names []string) {
	for rest := text; rest != ""; {
		m := labelPair.FindStringSubmatch(rest)
		require.NotNil(t, m, rest)
		require.NotContains(t, names, m[1])
		names = append(names, m[1])
		rest = rest[len(m[0]):]
	}
	return names
}

// scrape returns the metrics of reports in one of the formats.
func scrape(t *testing.T, open bool, reports []status.Report) exposition {
	t.Helper()
	accept, want := "text/plain;version=0.0.4", "text/plain; version=0.0.4; charset=utf-8"
	if open {
		accept, want = "application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	kind, body := accepted(t, accept, reports)
	require.Equal(t, want, kind)
	return parse(t, body, open)
}

func accepted(t *testing.T, accept string, reports []status.Report) (kind, body string) {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	status.Handler(fixed(reports)).ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
	return w.Header().Get("Content-Type"), w.Body.String()
}

func TestMetrics(t *testing.T) {
	reports := stuckReports()
	reports[2].States = append(reports[2].States, runtime.State{Comm: 1, First: 2, Process: 2, Rank: 0, Size: 1, Transport: "tcp", Failure: "closed"})
	reports[1].States[0].Transport = "a\"b\\c\nd"
	totals := &reports[1].States[0].Totals
	totals.Transport.PutBytes, totals.Transport.MemoryBytes, totals.Transport.McastBytes = 1<<60, 1<<59, 7
	totals.LostRanks = 1
	reports[0].States[0].Totals.Repairs, reports[0].States[0].Epoch = 3, 5
	for _, open := range []bool{true, false} {
		got := scrape(t, open, reports).values
		for key, want := range map[string]float64{
			`schedgen_up{process="0"}`:                                             1,
			`schedgen_up{process="3"}`:                                             0,
			`schedgen_info{process="1",transport="a\"b\\c\nd"}`:                    1,
			`schedgen_repairs_total{process="0",comm="0",rank="0"}`:                3,
			`schedgen_epoch{process="0",comm="0",rank="0"}`:                        5,
			`schedgen_operations_total{process="0",comm="0",rank="0"}`:             11,
			`schedgen_lost_ranks_total{process="1"}`:                               1,
			`schedgen_transport_sent_bytes_total{process="1",by="put"}`:            1 << 59,
			`schedgen_transport_sent_bytes_total{process="1",by="memory"}`:         1 << 59,
			`schedgen_transport_sent_bytes_total{process="1",by="multicast"}`:      7,
			`schedgen_oldest_operation_age_seconds{process="0",comm="0",rank="0"}`: 4.25,
			`schedgen_missing_slots{process="0",comm="0",rank="0"}`:                1,
			`schedgen_failed{process="2",comm="1",rank="0"}`:                       1,
			`schedgen_failed{process="2",comm="0",rank="2"}`:                       0,
			`schedgen_open_operations{process="2",comm="0",rank="2"}`:              0,
			`schedgen_ranks{process="2",comm="0",rank="2"}`:                        4,
		} {
			require.Contains(t, got, key)
			require.InDelta(t, want, got[key], 0, key)
		}
		require.NotContains(t, got, `schedgen_transport_groups_total{process="3"}`, "nothing is known of it")
	}
}

// measured returns the reports of two ranks that have broadcast, with samples
// of all families.
func measured(t *testing.T) []status.Report {
	net, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	var comms [2]*runtime.Comm
	for r := range comms {
		comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: net[r], Observe: runtime.Observe{Latency: true}})
		require.NoError(t, err)
	}
	for _, c := range comms {
		require.NoError(t, c.Bcast(t.Context(), make([]byte, 1000), 0)) // the root does not wait
	}
	var reports []status.Report
	for _, c := range comms {
		reports = append(reports, status.Tell(c))
	}
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
	return reports
}

// A histogram has cumulative buckets up to +Inf, which is the count.
func TestLatencies(t *testing.T) {
	s := state(1, 4)
	counts := make([]uint64, 27)
	counts[0], counts[4], counts[26] = 3, 2, 1
	s.Latencies = []runtime.Latency{
		{Collective: "bcast", Algorithm: "bcast/chain", Bytes: 256, Counts: counts, Sum: 90 * time.Second},
		{Collective: "bcast", Algorithm: "bcast/chain", Bytes: -1, Counts: counts, Sum: time.Second},
	}
	for _, open := range []bool{true, false} {
		got := scrape(t, open, []status.Report{report(s)}).values
		const of = `{process="1",comm="0",rank="1",collective="bcast",algorithm="bcast/chain",length="256"`
		for key, want := range map[string]float64{
			`_bucket` + of + `,le="5.12e-07"}`:                   3,
			`_bucket` + of + `,le="4.096e-06"}`:                  3,
			`_bucket` + of + `,le="8.192e-06"}`:                  5,
			`_bucket` + of + `,le="+Inf"}`:                       6,
			`_count` + of + `}`:                                  6,
			`_sum` + of + `}`:                                    90,
			`_sum` + strings.Replace(of, "256", "+Inf", 1) + `}`: 1,
		} {
			require.Contains(t, got, `schedgen_operation_duration_seconds`+key)
			require.InDelta(t, want, got[`schedgen_operation_duration_seconds`+key], 0, key)
		}
	}
	require.Negative(t, runtime.LatencyBound(len(counts)-1))
}

// A scraper gets the format that it prefers, and the older one if it names none.
func TestFormats(t *testing.T) {
	const open, text = "application/openmetrics-text", "text/plain"
	for accept, want := range map[string]string{
		"": text, "*/*": text, "text/html,*/*;q=0.8": text, "text/plain": text, "nonsense;q=x, ;;": text,
		"application/openmetrics-text; version=1.0.0": open, "Application/OpenMetrics-Text": open,
		"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1": open,
		"application/openmetrics-text;q=0.2,text/plain;q=0.7":                                       text, "application/openmetrics-text;q=0": text,
	} {
		kind, body := accepted(t, accept, stuckReports())
		require.Equal(t, want, strings.SplitN(kind, ";", 2)[0], accept)
		require.Equal(t, want == open, strings.HasSuffix(body, "\n# EOF\n"), accept)
	}
}

// The table of docs/operating.md has the families of a scrape. SCHEDGEN_UPDATE=1 writes it anew.
func TestMetricsAreDocumented(t *testing.T) {
	got := scrape(t, false, measured(t))
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(got.kinds)) {
		require.NotEmpty(t, got.names[name], "%s has no samples", name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, got.kinds[name], strings.Join(got.names[name], ", "), got.helps[name])
	}
	const path, begin, end = "../../docs/operating.md", "<!-- metrics -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, begins := strings.Cut(string(text), begin)
	table, after, ends := strings.Cut(rest, end)
	require.True(t, begins && ends)
	if os.Getenv("SCHEDGEN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644))
		return
	}
	require.Equal(t, b.String(), table, "SCHEDGEN_UPDATE=1 writes the table")
}

// While a communicator is shrunk, two have the same number; no sample may appear twice.
func TestMetricsOfACommunicatorThatIsShrunk(t *testing.T) {
	old, shrunk := state(1, 4), state(1, 3)
	shrunk.Epoch = 2
	got := scrape(t, true, []status.Report{{Process: 1, States: []runtime.State{old, shrunk}}})
	require.InDelta(t, 3, got.values[`schedgen_ranks{process="1",comm="0",rank="1"}`], 0)
}

func TestNoReports(t *testing.T) {
	for path, want := range map[string]string{"/metrics": "schedgen_up", "/status.json": "[]\n", "/": "0 ranks"} {
		code, _, body := get(t, status.Handler(fixed(nil)), path)
		require.Equal(t, 200, code)
		require.Contains(t, body, want, path)
	}
}

func TestParserIsStrict(t *testing.T) {
	for _, bad := range []string{`a 1`, `a{x="1} 1`, `a{x="\q"} 1`, `# TYPE a`, `9a{} 1`} {
		require.False(t, sampleLine.MatchString(bad) && labelPair.MatchString(sampleLine.FindStringSubmatch(bad)[2]) || metaLine.MatchString(bad), bad)
	}
}

// Health is bad if a communicator has failed, but not if it has a successor, and not because a
// process is slow to answer.
func TestHealth(t *testing.T) {
	failed := state(1, 4)
	failed.Failure = "rank 2: rank lost: reset"
	shrunk := state(1, 3)
	shrunk.Epoch = 2
	for _, c := range []struct {
		reports []status.Report
		code    int
		want    string
	}{
		{nil, 200, "0 ranks\n"},
		{[]status.Report{report(state(1, 4))}, 200, "rank 1 of 4\n"},
		{stuckReports()[:1], 200, "rank 0 of 4\nrank 0 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 1\n"},
		{[]status.Report{report(failed)}, 503, "rank 1 of 4\nrank 1 failed: rank 2: rank lost: reset\n"},
		{[]status.Report{{Process: 1, States: []runtime.State{failed, shrunk}}}, 200, "rank 1 of 4\nrank 1 failed: rank 2: rank lost: reset\n"},
		{[]status.Report{{Process: 1, Note: "has been joining for 3.0 s"}}, 200, "rank 1\nrank 1: has been joining for 3.0 s\n"},
	} {
		code, kind, body := get(t, status.Handler(fixed(c.reports)), "/healthz")
		require.Equal(t, c.code, code, c.want)
		require.Equal(t, "text/plain; charset=utf-8", kind)
		require.Equal(t, c.want, body)
	}
}

// The health of a communicator follows its calls.
func TestHealthOfACommunicator(t *testing.T) {
	net, err := mem.New(1, mem.Options{})
	require.NoError(t, err)
	c, err := runtime.Join(t.Context(), runtime.Config{Transport: net[0]})
	require.NoError(t, err)
	h := status.Handler(status.Of(c))
	code, _, _ := get(t, h, "/healthz")
	require.Equal(t, 200, code)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, c.Barrier(ended))
	code, _, body := get(t, h, "/healthz")
	require.Equal(t, 503, code)
	require.Contains(t, body, "rank 0 failed: ")
	require.Contains(t, body, "the context had ended before the call")
	require.NoError(t, c.Close())
}

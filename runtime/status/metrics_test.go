package status_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
)

// The grammar of Prometheus' text format, version 0.0.4, as far as this package uses it.
var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\]|\\\\|\\n)+)$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\} (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(,|$)`)
)

// exposition maps the name and labels of a sample to its value.
type exposition map[string]float64

// parse reads an exposition. Every metric has its help, its type, and then all of its samples, each
// once.
func parse(t *testing.T, text string) exposition {
	require.True(t, strings.HasSuffix(text, "\n"))
	all, seen := exposition{}, map[string]bool{}
	name, kind := "", ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch help, typ, sample := helpLine.FindStringSubmatch(line), typeLine.FindStringSubmatch(line), sampleLine.FindStringSubmatch(line); {
		case help != nil:
			require.False(t, seen[help[1]], "line %d: %s twice", i, help[1])
			name, kind, seen[help[1]] = help[1], "", true
		case typ != nil:
			require.Equal(t, name, typ[1])
			require.Empty(t, kind)
			kind = typ[2]
			require.Equal(t, kind == "counter", strings.HasSuffix(name, "_total"), name)
		case sample != nil:
			require.Equal(t, name, sample[1])
			require.NotEmpty(t, kind)
			value, err := strconv.ParseFloat(sample[3], 64)
			require.NoError(t, err)
			key := sample[1] + "{" + labels(t, sample[2]) + "}"
			require.NotContains(t, all, key)
			all[key] = value
		default:
			t.Fatalf("line %d is none of the format: %q", i, line)
		}
	}
	return all
}

func labels(t *testing.T, text string) string {
	seen := map[string]bool{}
	for rest := text; rest != ""; {
		m := labelPair.FindStringSubmatch(rest)
		require.NotNil(t, m, rest)
		require.False(t, seen[m[1]], m[1])
		seen[m[1]] = true
		rest = rest[len(m[0]):]
	}
	return text
}

func TestMetrics(t *testing.T) {
	reports := stuckReports()
	reports[2].States = append(reports[2].States, runtime.State{Comm: 1, First: 2, Process: 2, Rank: 0, Size: 1, Transport: "tcp", Failure: "closed"})
	reports[1].States[0].Transport = "a\"b\\c\nd"
	reports[1].States[0].Totals.Transport.PutBytes = 1 << 60
	reports[0].States[0].Totals.Repairs = 3
	code, kind, body := get(t, status.Handler(fixed(reports)), "/metrics")
	require.Equal(t, 200, code)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", kind)
	got := parse(t, body)
	for key, want := range map[string]float64{
		`schedgen_up{process="0"}`:                                             1,
		`schedgen_up{process="3"}`:                                             0,
		`schedgen_info{process="1",transport="a\"b\\c\nd"}`:                    1,
		`schedgen_repairs_total{process="0",comm="0",rank="0"}`:                3,
		`schedgen_operations_total{process="0",comm="0",rank="0"}`:             11,
		`schedgen_transport_put_bytes_total{process="1"}`:                      1 << 60,
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
	require.NotContains(t, got, `schedgen_transport_put_bytes_total{process="3"}`, "nothing is known of it")
}

// While a communicator is shrunk, two have the same number; no sample may appear twice.
func TestMetricsOfACommunicatorThatIsShrunk(t *testing.T) {
	old, shrunk := state(1, 4), state(1, 3)
	shrunk.Epoch = 2
	_, _, body := get(t, status.Handler(fixed([]status.Report{{Process: 1, States: []runtime.State{old, shrunk}}})), "/metrics")
	require.InDelta(t, 3, parse(t, body)[`schedgen_ranks{process="1",comm="0",rank="1"}`], 0)
}

func TestNoReports(t *testing.T) {
	for path, want := range map[string]string{"/metrics": "schedgen_up", "/status.json": "[]\n", "/": "0 ranks"} {
		code, _, body := get(t, status.Handler(fixed(nil)), path)
		require.Equal(t, 200, code)
		require.Contains(t, body, want, path)
	}
}

func TestParserIsStrict(t *testing.T) {
	for _, bad := range []string{`a 1`, `a{x="1} 1`, `a{x="\q"} 1`, `# TYPE a summary`, `9a{} 1`} {
		require.False(t, sampleLine.MatchString(bad) && labelPair.MatchString(sampleLine.FindStringSubmatch(bad)[2]) || typeLine.MatchString(bad), bad)
	}
}

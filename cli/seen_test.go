package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/status"
)

// traced runs a command line with --trace and returns the events of the file.
func traced(t *testing.T, code int, args string) (events []map[string]any) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.json")
	got, _, said := execute(t, args+" --trace "+name)
	require.Equal(t, code, got, said)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &events), "%s", text)
	return events
}

// countPhase returns the number of events of a phase, by process.
func countPhase(events []map[string]any, phase string) map[int]int {
	n := make(map[int]int)
	for _, e := range events {
		if e["ph"] == phase {
			n[int(e["pid"].(float64))]++
		}
	}
	return n
}

// TestTraceOfRuns checks that ranks write the operations of each to one file, as processes and as
// goroutines.
func TestTraceOfRuns(t *testing.T) {
	for args, want := range map[string]int{
		"run barrier -p 3 --iterations 20 --transport tcp":           21,
		"run barrier -p 3 --iterations 20 --transport mem":           21,
		"run bcast -p 3 --iterations 4 --size 100kB --transport tcp": 11, // each after a barrier, one to warm up, and a barrier
		"run anycast -p 3 --messages 5 --transport mem":              2,
	} {
		events := traced(t, terminal.Good, args)
		each := map[int]int{0: want, 1: want, 2: want}
		require.Equal(t, each, countPhase(events, "B"), args)
		require.Equal(t, each, countPhase(events, "E"), args)
	}
}

// TestTraceIsOfOneClock checks that times of all ranks are of one clock: no rank leaves a barrier
// before all have begun it.
func TestTraceIsOfOneClock(t *testing.T) {
	began, ended := map[float64]float64{}, map[float64]float64{}
	on := map[[2]any]float64{}
	for _, e := range traced(t, terminal.Good, "run barrier -p 4 --iterations 50 --transport tcp") {
		track := [2]any{e["pid"], e["tid"]}
		switch ts, _ := e["ts"].(float64); e["ph"] {
		case "B":
			seq := e["args"].(map[string]any)["seq"].(float64)
			on[track] = seq
			began[seq] = max(began[seq], ts)
		case "E":
			if seq := on[track]; ended[seq] == 0 || ts < ended[seq] {
				ended[seq] = ts
			}
		}
	}
	require.Len(t, began, 51)
	for seq, last := range began {
		require.Less(t, last, ended[seq], seq)
	}
}

// TestTraceOfAFailedRun checks that a failed run leaves a complete trace.
func TestTraceOfAFailedRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "message.rank1"), 0o777)) // where a file would be
	events := traced(t, terminal.Bad, "run bcast -p 3 --size 1 --iterations 3 --transport tcp --output "+dir)
	require.Len(t, countPhase(events, "B"), 3)
}

// TestTraceOfAnInterruptedRun checks that ranks which are called off complete the trace.
func TestTraceOfAnInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	name := filepath.Join(t.TempDir(), "trace.json")
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if text, err := os.ReadFile(name); err == nil && len(countPhase(wholeLines(text), "B")) == 3 {
				return
			}
		}
	}()
	code, _, said := invoke(ctx, nil, strings.Fields("run bcast -p 3 --size 4MiB --iterations 1000000000 --transport tcp --trace "+name)...)
	require.Equal(t, terminal.Interrupted, code, said)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var events []map[string]any
	require.NoError(t, json.Unmarshal(text, &events), "%s", text)
	require.Len(t, countPhase(events, "B"), 3)
}

// wholeLines returns the events of a trace that is being written.
func wholeLines(text []byte) (events []map[string]any) {
	for line := range bytes.Lines(text) {
		var e map[string]any
		if json.Unmarshal(bytes.TrimRight(line, ",\n"), &e) == nil {
			events = append(events, e)
		}
	}
	return events
}

func TestBadTraceAndStatus(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	const barrier, rank = "run barrier -p 2 --transport tcp --iterations 1", "rank bcast -p 1 --rank 0 --coordinator 127.0.0.1:0 --transport tcp --size 1"
	for _, verb := range []string{barrier, rank} {
		for args, want := range map[string]string{
			"--trace /no/such/folder/trace.json": "--trace: open /no/such/folder/trace.json: no such file or directory",
			"--trace /dev/null":                  "--trace=/dev/null: must be a regular file",
			"--status " + l.Addr().String():      fmt.Sprintf("--status=%v: serve the status: listen tcp %v: bind: address already in use", l.Addr(), l.Addr()),
			"--status-host ranks.example":        "--status-host: needs --status",
			"--status 127.0.0.1:99999":           "--status=127.0.0.1:99999: serve the status: listen tcp: address 99999: invalid port",
			"--status 127.0.0.1:1:2":             "--status=127.0.0.1:1:2: serve the status: listen tcp",
		} {
			code, _, said := execute(t, verb+" "+args)
			require.Equal(t, terminal.Bad, code, said)
			require.Contains(t, said, want)
		}
	}
}

// pageOf returns the address of the page in a line that a program printed.
func pageOf(t *testing.T, line string) string {
	_, at, ok := strings.Cut(line, "schedgen: status at ")
	require.True(t, ok, line)
	return strings.TrimSpace(at)
}

// look reads a page until done returns true for its reports.
func look(t *testing.T, at string, done func(reports []status.Report) bool) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	for {
		res, err := client.Get(at + "status.json")
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, errors.Join(err, res.Body.Close()))
		var reports []status.Report
		require.NoError(t, json.Unmarshal(body, &reports), "%s", body)
		if done(reports) {
			return
		}
		require.NoError(t, t.Context().Err())
	}
}

// TestReachable replaces an unspecified address by an address that other hosts can use.
func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:81": "127.0.0.1:81", "[::]:82": "127.0.0.1:82", "[::1]:83": "[::1]:83"} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		require.NoError(t, err)
		got, err := reachable(a, "127.0.0.1:7777")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := reachable(&net.TCPAddr{IP: net.IPv4zero}, "nowhere")
	require.ErrorContains(t, err, "find the address of this host")
}

// TestFetchIsOfTheRightRank rejects answers that do not come from the page of the right rank.
func TestFetchIsOfTheRightRank(t *testing.T) {
	answer := "[]"
	mux := http.NewServeMux()
	mux.HandleFunc(ownPath+"/status.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, bytes.NewBufferString(answer)) })
	s, err := status.Serve(t.Context(), ":0", mux)
	require.NoError(t, err)
	at := s.Addr().String()
	for text, want := range map[string]string{
		"[]": "is the page of another rank", `[{"process":2}]`: "is the page of another rank", "nonsense": "200 OK: invalid character", `[{"process":3},{}]`: "is the page of another rank",
	} {
		answer = text
		_, err := fetch(t.Context(), 3, at)
		require.ErrorContains(t, err, want)
	}
	answer = `[{"process":3,"note":"joining"}]`
	r, err := fetch(t.Context(), 3, at)
	require.NoError(t, err)
	require.Equal(t, "joining", r.Note)
	require.NoError(t, s.Close())
	_, err = fetch(t.Context(), 3, at)
	require.ErrorContains(t, err, "connection refused")
}

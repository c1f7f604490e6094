package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/status"
)

func fixed(reports []status.Report) status.Source {
	return func(context.Context) []status.Report { return reports }
}

func get(t *testing.T, h http.Handler, path string) (code int, kind, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Header().Get("Content-Type"), w.Body.String()
}

// operation is one that waits for a signal.
func operation(seq uint64, from ...int) runtime.Operation {
	return runtime.Operation{WaitsFor: from, OpState: core.OpState{
		Name: "barrier/hsb", Seq: seq, Root: -1, Age: 4.25e9, Quiet: 4e9, Fired: 1, Rules: 2,
		Missing: core.Missing{Runs: []core.Run{{First: ir.Signal(1), Last: ir.Signal(1)}}, Signals: 1},
	}}
}

func state(rank, size int, open ...runtime.Operation) runtime.State {
	s := runtime.State{Process: rank, Rank: rank, Size: size, Transport: "tcp", Begun: 11, Ended: 11, Open: open}
	s.Totals.Operations = 11
	for _, o := range open {
		s.Begun, s.Callers = o.Seq, 1
	}
	return s
}

func report(s runtime.State) status.Report {
	return status.Report{Process: s.Process, States: []runtime.State{s}}
}

// stuckReports are of a job of four: rank 2 has not called, and rank 3 does not answer.
func stuckReports() []status.Report {
	return []status.Report{
		report(state(0, 4, operation(12, 1))), report(state(1, 4, operation(12, 2, 3))), report(state(2, 4)),
		{Process: 3, Note: "no answer for 7.0 s"},
	}
}

func TestFindings(t *testing.T) {
	bcast := func(seq uint64, root int) runtime.Operation {
		o := operation(seq, 0)
		o.Name, o.Root, o.Bytes, o.Chunks = "bcast/chain", root, 100, 7
		o.Missing = core.Missing{Runs: []core.Run{{First: ir.Chunk(3), Last: ir.Chunk(6)}}, Chunks: 4}
		return o
	}
	said := operation(12, 1)
	said.Absent = []int{3}
	root := bcast(12, 0)
	root.Missing, root.WaitsFor, root.Unsent, root.SendsTo = core.Missing{}, nil, 3, []int{1}
	failed := state(0, 2)
	failed.Failure = "rank 1: rank lost: reset"
	other := failed
	other.Rank, other.Process = 1, 1
	watching := state(0, 2, operation(12, 1))
	watching.Watch = &core.Watch{Rank: 1, Quiet: 20e9, Limit: 30e9}
	suspecting := state(0, 2)
	suspecting.Peers = []core.Peer{{Rank: 1, State: "suspected", Cause: "refused"}, {Rank: 2, State: "left"}}
	young := operation(12, 1)
	young.Age = 5e8
	half := state(1, 2, operation(3, 0))
	half.Comm, half.First, half.Process = 2, 1, 3
	otherHalf := state(0, 2)
	otherHalf.Comm, otherHalf.First, otherHalf.Process, otherHalf.Begun = 2, 1, 1, 2

	var many []status.Report
	var lacking, notes []string
	var joining []status.Report
	for rank := range 20 {
		joining = append(joining, status.Report{Process: rank, Note: "has been joining for 3.0 s"})
		if rank < 8 {
			notes = append(notes, fmt.Sprintf("rank %d: has been joining for 3.0 s", rank))
		}
	}
	for rank := range 100 {
		many = append(many, report(state(rank, 100, operation(12, (rank+1)%100))))
		if rank < 8 {
			lacking = append(lacking, fmt.Sprintf("rank %d is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank %d", rank, rank+1))
		}
	}
	for name, c := range map[string]struct {
		reports []status.Report
		want    []string
	}{
		"nothing":    {nil, nil},
		"idle":       {[]status.Report{report(state(0, 1))}, nil},
		"fast":       {[]status.Report{report(state(0, 2, young)), report(state(1, 2))}, nil},
		"one absent": {stuckReports(), []string{"rank 3: no answer for 7.0 s", "rank 2 has not called operation 12, barrier/hsb, and no goroutine inside a call: ranks 0-1 have been in it for 4.2 s"}},
		"said":       {[]status.Report{report(state(0, 4, said))}, []string{"rank 3 has said not to have called operation 12, barrier/hsb: rank 0 has been in it for 4.2 s"}},
		"all inside": {[]status.Report{report(state(0, 2, root)), report(state(1, 2, bcast(12, 0)))}, []string{
			"rank 0 is in operation 12, bcast/chain from rank 0, 100 bytes in 7 chunks, for 4.2 s: 3 frames have not left, they go to rank 1",
			"rank 1 is in operation 12, bcast/chain from rank 0, 100 bytes in 7 chunks, for 4.2 s: it lacks c3-c6, from rank 0",
		}},
		"mismatch": {[]status.Report{report(state(0, 2, bcast(12, 0))), report(state(1, 2, bcast(12, 1)))}, []string{
			"operation 12 is bcast/chain from rank 0, 100 bytes in 7 chunks at rank 0, and bcast/chain from rank 1, 100 bytes in 7 chunks at rank 1",
		}},
		"failed": {[]status.Report{report(failed), report(other)}, []string{"ranks 0-1 failed: rank 1: rank lost: reset"}},
		"silent": {[]status.Report{report(watching), report(state(1, 2, operation(12, 0)))}, []string{
			"rank 1 has given rank 0 no sign of life for 20.0 s; it is lost after 30.0 s",
			"rank 0 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 1",
			"rank 1 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 0",
		}},
		"old": {[]status.Report{report(state(0, 3, operation(12, 1))), report(state(1, 3, operation(12, 2))), {Process: 2, Note: "has ended", States: []runtime.State{state(2, 3)}}}, []string{
			"rank 2: has ended",
			"rank 1 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 2",
			"rank 0 is in operation 12, barrier/hsb, for 4.2 s: it lacks s1, from rank 1",
		}},
		"many":      {many, append(lacking, "and 92 ranks more are in it")},
		"joining":   {joining, append(notes, "and 12 ranks more that have not answered")},
		"suspected": {[]status.Report{report(suspecting)}, []string{"rank 1 takes no connections of rank 0: refused"}},
		"a part": {[]status.Report{{Process: 1, States: []runtime.State{state(1, 4), otherHalf}}, {Process: 3, States: []runtime.State{state(3, 4), half}}}, []string{
			"communicator 2 of process 1: rank 0 has not called operation 3, barrier/hsb, and no goroutine inside a call: rank 1 has been in it for 4.2 s",
		}},
	} {
		require.Equal(t, c.want, status.Findings(c.reports), name)
	}
}

func TestNumbers(t *testing.T) {
	for want, all := range map[string][]int{"": nil, "3": {3}, "0-2, 5": {0, 1, 2, 5}, "1-2": {1, 2}, "1, 3, 5-9": {1, 3, 5, 6, 7, 8, 9}} {
		require.Equal(t, want, status.Numbers(all))
	}
}

func TestJSON(t *testing.T) {
	code, kind, body := get(t, status.Handler(fixed(stuckReports())), "/status.json")
	require.Equal(t, 200, code)
	require.Equal(t, "application/json", kind)
	var again []status.Report
	require.NoError(t, json.Unmarshal([]byte(body), &again))
	require.Len(t, again, 4)
	require.Equal(t, operation(12, 1).Missing, again[0].States[0].Open[0].Missing)
	require.Contains(t, body, `"missing":{"runs":["s1"],"chunks":0,"signals":1}`)
	require.JSONEq(t, body, status.Var(fixed(stuckReports())).String())
	var _ expvar.Var = status.Var(fixed(nil))
}

// The page shows every rank, and what comes from elsewhere cannot become a part of it.
func TestPage(t *testing.T) {
	reports := stuckReports()
	reports[2].States[0].Failure = `<script>alert(1)</script>`
	reports[1].URL = "javascript:alert(1)"
	code, kind, body := get(t, status.Handler(fixed(reports)), "/")
	require.Equal(t, 200, code)
	require.Equal(t, "text/html; charset=utf-8", kind)
	for _, want := range []string{"4 ranks", "12: barrier/hsb", "4.2 s", "1 of 2 rules, lacks s1", "no answer for 7.0 s", "&lt;script&gt;"} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "<script")
	require.NotContains(t, body, `href="javascript`)
	require.NotRegexp(t, `(src|href)="https?:`, body, "nothing is loaded from elsewhere")
}

func TestOnlyReads(t *testing.T) {
	h := status.Handler(fixed(nil))
	for _, c := range []struct {
		method, path string
		code         int
	}{{"POST", "/", 405}, {"DELETE", "/status.json", 405}, {"HEAD", "/", 200}, {"GET", "/other", 404}} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		require.Equal(t, c.code, w.Code, c.method+" "+c.path)
	}
}

func TestAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"9000": "127.0.0.1:9000", ":9000": "127.0.0.1:9000", "0.0.0.0:1": "0.0.0.0:1", "[::1]:80": "[::1]:80", "host:80": "host:80",
	} {
		require.Equal(t, want, status.Address(addr))
	}
}

// A server serves what a communicator is in, names an address that is taken, and leaves
// nothing behind.
func TestServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	net, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	var comms [2]*runtime.Comm
	for r := range comms {
		comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: net[r]})
		require.NoError(t, err)
	}
	s, err := status.Serve(t.Context(), ":0", status.Handler(status.Of(comms[0])))
	require.NoError(t, err)
	require.Contains(t, s.Addr().String(), "127.0.0.1:")
	req, err := comms[0].StartBarrier(t.Context())
	require.NoError(t, err)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + s.Addr().String() + "/status.json")
	require.NoError(t, err)
	var reports []status.Report
	body, err := io.ReadAll(res.Body)
	require.NoError(t, errors.Join(err, res.Body.Close()))
	require.NoError(t, json.Unmarshal(body, &reports))
	require.Equal(t, "barrier/dissemination", reports[0].States[0].Open[0].Name)
	require.Equal(t, []int{1}, reports[0].States[0].Open[0].WaitsFor)

	_, err = status.Serve(t.Context(), s.Addr().String(), nil)
	require.ErrorContains(t, err, s.Addr().String())
	require.ErrorContains(t, err, "address already in use")
	require.NoError(t, comms[1].Barrier(t.Context()))
	require.NoError(t, req.Wait(t.Context()))
	require.NoError(t, errors.Join(s.Close(), s.Close(), comms[0].Close(), comms[1].Close()))
	_, err = client.Get("http://" + s.Addr().String())
	require.Error(t, err)
}

package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
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

// operation is an operation that waits for a signal.
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

// stuckReports are the reports of a job of four: rank 2 has not called, and rank 3 does not answer.
func stuckReports() []status.Report {
	return []status.Report{
		report(state(0, 4, operation(12, 1))), report(state(1, 4, operation(12, 2, 3))), report(state(2, 4)),
		{Process: 3, Note: "no answer for 7.0 s"},
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
}

// The page shows every rank, and text from elsewhere cannot inject markup.
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

// A server shows the operation that a communicator is in, names an address that is in use, and
// leaves no goroutine behind.
func TestServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	net, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	var comms [2]*runtime.Comm
	for r := range comms {
		comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: net[r]})
		require.NoError(t, err)
	}
	at := porttest.Hold(t)
	s, err := status.Serve(t.Context(), at[strings.LastIndex(at, ":"):], status.Handler(status.Of(comms[0])))
	require.NoError(t, err)
	require.Equal(t, at, s.Addr().String())
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

// Nothing that a request has started still runs when the server is closed.
func TestCloseWaitsForAnswers(t *testing.T) {
	defer goleak.VerifyNone(t)
	asked, ended := make(chan struct{}), make(chan struct{})
	s, err := status.Serve(t.Context(), ":0", status.Handler(func(ctx context.Context) []status.Report {
		close(asked)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		close(ended)
		return nil
	}))
	require.NoError(t, err)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if res, err := client.Get("http://" + s.Addr().String()); err == nil {
			res.Body.Close()
			t.Error("an answer of a server that was closed")
		}
	})
	<-asked
	require.NoError(t, s.Close())
	select {
	case <-ended:
	default:
		t.Error("the answer is still being made")
	}
}

// The page lists what ranks have learned once, since all have learned the same.
func TestPageOfWhatIsLearned(t *testing.T) {
	learned := []runtime.Learned{
		{Collective: "allreduce", Bytes: 4096, Algorithm: "allreduce/two-shot", Trials: 1, Calls: 300, Tried: []runtime.Tried{{Algorithm: "allreduce/star", Time: 4e4}, {Algorithm: "allreduce/two-shot", Time: 3e4}}},
		{Collective: "barrier", Algorithm: "barrier/hsb", Trying: true, Calls: 3, Tried: []runtime.Tried{{Algorithm: "barrier/hsb"}, {Algorithm: "barrier/dissemination", Degree: 3}}},
	}
	var reports []status.Report
	for rank := range 2 {
		s := state(rank, 2)
		s.Learned = learned
		reports = append(reports, report(s))
	}
	_, _, body := get(t, status.Handler(fixed(reports)), "/")
	require.Equal(t, 1, strings.Count(body, `<tr><td>allreduce<td class="n">4 KiB<td>allreduce/two-shot, 25 % less time than allreduce/star<td>allreduce/star 40µs, allreduce/two-shot 30µs<td class="n">1<td class="n">300</tr>`), body)
	require.Contains(t, body, "<td>barrier/hsb, being tried<td>barrier/hsb 0s, barrier/dissemination degree=3 0s")
	_, _, body = get(t, status.Handler(fixed(stuckReports())), "/")
	require.NotContains(t, body, "learned")
}

package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/schedgen/schedgen/internal/clock"
)

// Handler serves the reports of src:
//
//	/             a page for people, which reloads itself every two seconds
//	/status.json  the reports as JSON
//	/metrics      the reports as metrics, in the format of OpenMetrics or the text format of
//	              Prometheus, as the request asks
//	/healthz      whether every communicator works: the code is 503 if one has failed; the text says
//	              what holds the ranks up, as the page does
//
// It answers only GET and HEAD, and changes nothing. A [Server] also refuses a request that names
// another host; a caller with a server of its own must check that itself.
func Handler(src Source) http.Handler {
	mux := http.NewServeMux()
	rates := &rates{now: clock.System{}.Now}
	mux.HandleFunc("GET /{$}", answer(src, func(a *reply, _ *http.Request, reports []Report) error {
		a.kind = "text/html; charset=utf-8"
		return writePage(&a.body, reports, rates)
	}))
	mux.HandleFunc("GET /status.json", answer(src, func(a *reply, _ *http.Request, reports []Report) error {
		a.kind = "application/json"
		return writeJSON(&a.body, reports)
	}))
	mux.HandleFunc("GET /metrics", answer(src, func(a *reply, r *http.Request, reports []Report) error {
		f := formatFor(strings.Join(r.Header.Values("Accept"), ","))
		a.kind = f.kind
		writeMetrics(&a.body, reports, f)
		return nil
	}))
	mux.HandleFunc("GET /healthz", answer(src, func(a *reply, _ *http.Request, reports []Report) error {
		a.kind = "text/plain; charset=utf-8"
		if anyFailed(reports) {
			a.code = http.StatusServiceUnavailable
		}
		fmt.Fprintln(&a.body, strings.Join(append([]string{title(reports)}, Findings(reports)...), "\n"))
		return nil
	}))
	return mux
}

// reply is the answer to a request.
type reply struct {
	code int
	kind string // media type
	body bytes.Buffer
}

// answer serves what write makes of the reports of src: either all of it or an error.
func answer(src Source, write func(*reply, *http.Request, []Report) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := reply{code: http.StatusOK}
		if err := write(&a, r, src(r.Context())); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Content-Length", fmt.Sprint(a.body.Len()))
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		w.WriteHeader(a.code)
		_, _ = w.Write(a.body.Bytes()) // an error here means that the client has disconnected
	}
}

// anyFailed reports whether a communicator has failed or is closed, and no other has taken its
// place.
func anyFailed(reports []Report) bool {
	for _, r := range reports {
		for s := range r.communicators() {
			if r.Note == "" && s.Failure != "" {
				return true
			}
		}
	}
	return false
}

func writeJSON(b *bytes.Buffer, reports []Report) error {
	if reports == nil {
		reports = []Report{}
	}
	if err := json.NewEncoder(b).Encode(reports); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

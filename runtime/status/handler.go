package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/schedgen/schedgen/runtime/clock"
)

// Handler serves what src knows:
//
//	/             a page for people, which loads itself again every two seconds
//	/status.json  the reports
//	/metrics      the same as metrics, in Prometheus' text format
//
// It only answers GET and HEAD, and changes nothing. Serve also refuses requests that were sent to
// another host's name; with a server of your own, that is up to you.
func Handler(src Source) http.Handler {
	mux := http.NewServeMux()
	rates := &rates{now: clock.System{}.Now}
	mux.HandleFunc("GET /{$}", answer("text/html; charset=utf-8", src, func(b *bytes.Buffer, reports []Report) error {
		return writePage(b, reports, rates)
	}))
	mux.HandleFunc("GET /status.json", answer("application/json", src, writeJSON))
	mux.HandleFunc("GET /metrics", answer("text/plain; version=0.0.4; charset=utf-8", src, writeMetrics))
	return mux
}

// answer writes what the source says as write does, all of it or an error.
func answer(kind string, src Source, write func(*bytes.Buffer, []Report) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		if err := write(&b, src(r.Context())); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Length", fmt.Sprint(b.Len()))
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(b.Bytes()) // who asked has gone
	}
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

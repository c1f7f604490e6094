package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/schedgen/schedgen/internal/clock"
)

// Handler serves the reports of src:
//
//	/             a page for people, which reloads itself every two seconds
//	/status.json  the reports as JSON
//	/metrics      the reports as metrics, in the text format of Prometheus
//
// It answers only GET and HEAD, and changes nothing. A [Server] also refuses a request that names
// another host; a caller with a server of its own must check that itself.
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

// answer serves what write makes of the reports of src: either all of it or an error.
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
		_, _ = w.Write(b.Bytes()) // an error here means that the client has disconnected
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

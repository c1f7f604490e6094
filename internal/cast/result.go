package cast

import (
	"time"

	"github.com/schedgen/schedgen/internal/cast/pack"
)

// Result is the outcome of a cast to hosts.
type Result struct {
	What      string     `json:"what"`
	Transport string     `json:"transport,omitempty"` // transport of the first round; "" if no receiver has come
	Bytes     int64      `json:"bytes"`               // bytes of the files, with holes, or of the stream
	Sent      int64      `json:"sent"`                // bytes broadcast
	Seconds   float64    `json:"seconds"`             // from the first round to the end
	Skipped   int64      `json:"skipped,omitempty"`   // entries that could not be sent
	Setup     *Setup     `json:"setup,omitempty"`     // how To started the receivers; nil for Serve
	Total     float64    `json:"total,omitempty"`     // seconds from the first connection to the end
	Error     string     `json:"error,omitempty"`
	Receivers []Receiver `json:"receivers"`

	began time.Time // when the first round began
}

// Receiver is the outcome of a cast at one host.
type Receiver struct {
	Name    string `json:"name"`
	Outcome        // Rank is 0 if the receiver has not come
	// Command says why the command after the cast failed. It is empty if the command succeeded.
	Command string `json:"command,omitempty"`
	// Lacks says what the host lacks, if the cast only compares.
	Lacks *pack.Lacking `json:"lacks,omitempty"`
}

func newResult(p *Payload, transport string, took time.Duration, sent int64, all []Receiver) *Result {
	r := &Result{What: p.Name, Transport: transport, Bytes: sent, Sent: sent, Seconds: took.Seconds(), Receivers: all}
	if p.Totals != nil {
		r.Bytes = p.Totals.Bytes
	}
	if !p.streams() {
		r.Skipped = int64(p.Origin.Skipped()) + p.Origin.Gone()
	}
	return r
}

// Failed returns the number of receivers that do not have everything or whose command failed.
func (r *Result) Failed() (n int) {
	for i := range r.Receivers {
		if !r.Receivers[i].Done || r.Receivers[i].Command != "" {
			n++
		}
	}
	return n
}

// done returns the names of the receivers that have everything. A nil result has none.
func (r *Result) done() map[string]bool {
	names := map[string]bool{}
	if r != nil {
		for i := range r.Receivers {
			names[r.Receivers[i].Name] = r.Receivers[i].Done
		}
	}
	return names
}

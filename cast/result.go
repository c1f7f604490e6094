package cast

import (
	"time"

	"github.com/schedgen/schedgen/cast/pack"
)

// Result is how a cast to hosts has ended.
type Result struct {
	What      string     `json:"what"`
	Transport string     `json:"transport,omitempty"` // way of the first round; "" if nobody has come
	Bytes     int64      `json:"bytes"`               // of files, with holes; of a stream those that were broadcast
	Sent      int64      `json:"sent"`                // bytes that were broadcast
	Seconds   float64    `json:"seconds"`             // from the first round on
	Skipped   int64      `json:"skipped,omitempty"`   // entries that could not be sent
	Setup     *Setup     `json:"setup,omitempty"`     // of receivers that were started by ssh
	Total     float64    `json:"total,omitempty"`     // seconds, from the first connection on
	Error     string     `json:"error,omitempty"`
	Receivers []Receiver `json:"receivers"`

	began time.Time // the first round
}

// Receiver is how a cast has ended at one host.
type Receiver struct {
	Name    string `json:"name"`
	Outcome        // rank 0: it has not come
	// Command says why the command after the cast has failed.
	Command string `json:"command,omitempty"`
	// Lacks says what the host lacks, if hosts only compare what they have.
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

// Failed returns how many receivers do not have everything, or whose command has failed.
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

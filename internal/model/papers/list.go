package papers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/schedule"
)

// Options say how to make a figure.
type Options struct {
	Seed  uint64 // of losses, noise and arrivals
	Quick bool   // fewer runs and points, for tests
	Ranks Runner // runs ranks on this machine; nil: no curves of kind Run
}

// Job is an operation that a Runner times.
type Job struct {
	// "barrier", "bcast", "bcast_ack", "anycast" or "anycast_loop", as for the verb bench
	Operation string
	Algorithm string
	Params    schedule.Params
	Bytes     int // length of the message; 0 for a barrier
}

// Runner starts ranks on this machine, times an operation, and returns the mean over iterations of
// the time until the last rank returns, in µs.
type Runner func(ctx context.Context, j Job) (float64, error)

// Entry is a figure that can be made.
type Entry struct {
	ID    string // paper and figure: "000/4"
	Title string
	make  func(ctx context.Context, o Options) (*Figure, error)
}

// List returns all figures, by paper.
func List() []Entry {
	return slices.Concat(figures000(), figures001(), figures002(), figures003(), figures004())
}

// Find returns the figures with the given name: one figure by its ID, all figures of a paper by its
// number, or all figures by "". It fails if there are none.
func Find(name string) ([]Entry, error) {
	if name == "" {
		return List(), nil
	}
	found := slices.DeleteFunc(List(), func(e Entry) bool {
		paper, _, _ := strings.Cut(e.ID, "/")
		return e.ID != name && paper != name
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("no figure %q", name)
	}
	return found, nil
}

// Make makes the figure. It fails if ctx ends, or if a Runner fails.
func (e *Entry) Make(ctx context.Context, o Options) (*Figure, error) {
	f, err := e.make(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("figure %s: %w", e.ID, err)
	}
	f.ID, f.Title = e.ID, e.Title
	return f, nil
}

package cli

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
)

// linearFlag is a flag whose value describes the linear model of paper 004, such as "150us,80ns":
// t0, and t_d of a byte.
type linearFlag struct{ model sim.Linear }

// UnmarshalText reads t0 and t_d.
func (f *linearFlag) UnmarshalText(text []byte) error {
	first, second, two := strings.Cut(string(text), ",")
	if !two {
		return fmt.Errorf("%q: must be two times t0,td, such as 150us,80ns", text)
	}
	var t0 duration
	var td perByte
	if err := t0.UnmarshalText([]byte(first)); err != nil {
		return err
	}
	if err := td.UnmarshalText([]byte(second)); err != nil {
		return err
	}
	f.model = sim.Linear{T0: sim.Time(t0), PerByte: sim.PerByte(td)}
	return nil
}

// linearTime is the time at which the last call of a schedule returns in the linear model.
type linearTime struct {
	model    sim.Linear
	bytes    int
	makespan sim.Time // with asynchronous sends: the t0 of a rank's sends overlap
	sync     sim.Time // with synchronous sends: each begins when the one before has arrived
}

// time runs s in the model, with blocks of the given bytes. A fold takes the time fold for each
// byte. It returns nil if the flag was not given.
func (f *linearFlag) time(s *ir.Schedule, bytes int, fold sim.PerByte) (*linearTime, error) {
	if f == nil {
		return nil, nil
	}
	t := &linearTime{model: f.model, bytes: bytes}
	for _, of := range []struct {
		sync bool
		to   *sim.Time
	}{{false, &t.makespan}, {true, &t.sync}} {
		model := f.model
		model.Sync = of.sync
		r, err := sim.Run(sim.Of(s), sim.Config{Model: model, Bytes: bytes, Fold: fold})
		if err != nil {
			return nil, fmt.Errorf("--linear: %w", err)
		}
		*of.to = r.Makespan
	}
	return t, nil
}

// line returns the line that cost prints of t, or "" if t is nil.
func (t *linearTime) line(h *ir.Header) string {
	if t == nil {
		return ""
	}
	of := ""
	if h.HasMessage() {
		of = fmt.Sprintf(" for %v", byteSize(t.bytes))
	}
	return fmt.Sprintf(`  linear       %s%s in the linear model, with synchronous sends,
               %s with asynchronous ones: t0 %s, t_d %g ns
`, micros(loggp.Time(t.sync)), of, micros(loggp.Time(t.makespan)), micros(loggp.Time(t.model.T0)), float64(t.model.PerByte)/1000)
}

// linearObject is the JSON form of linearTime. Times are in nanoseconds, TD in nanoseconds a byte.
type linearObject struct {
	Makespan *int64  `json:"makespan_ns"`      // null if some rank never returns
	Sync     *int64  `json:"sync_makespan_ns"` // with synchronous sends
	Bytes    int     `json:"bytes"`
	T0       int64   `json:"t0"`
	TD       float64 `json:"td"`
}

func (t *linearTime) object() *linearObject {
	if t == nil {
		return nil
	}
	return &linearObject{nanos(loggp.Time(t.makespan)), nanos(loggp.Time(t.sync)), t.bytes, int64(t.model.T0), float64(t.model.PerByte) / 1000}
}

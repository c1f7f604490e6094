package main

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
	"github.com/schedgen/schedgen/sim/loggp"
)

// linearFlag is the linear model of paper 004 on the command line, "150us,80ns":
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

// linearTime is when the last call of a schedule returns in the linear model.
type linearTime struct {
	model    sim.Linear
	bytes    int
	makespan sim.Time
}

// run runs s in the model, with a message of so many bytes.
func (f *linearFlag) run(s *ir.Schedule, bytes int) (*linearTime, error) {
	if f == nil {
		return nil, nil
	}
	r, err := sim.Run(sim.Of(s), sim.Config{Model: f.model, Bytes: bytes})
	if err != nil {
		return nil, fmt.Errorf("--linear: %w", err)
	}
	return &linearTime{f.model, bytes, r.Makespan}, nil
}

// line is what cost prints of it, "" if it was not asked for.
func (t *linearTime) line(h *ir.Header) string {
	if t == nil {
		return ""
	}
	of := ""
	if h.HasMessage() {
		of = fmt.Sprintf(" for %v", byteSize(t.bytes))
	}
	return fmt.Sprintf("  linear       %s%s in the linear model: t0 %s, t_d %g ns\n",
		micros(loggp.Time(t.makespan)), of, micros(loggp.Time(t.model.T0)), float64(t.model.PerByte)/1000)
}

// linearObject is the same for machines: nanoseconds, and nanoseconds a byte.
type linearObject struct {
	Makespan *int64  `json:"makespan_ns"` // null: some rank never returns
	Bytes    int     `json:"bytes"`
	T0       int64   `json:"t0"`
	TD       float64 `json:"td"`
}

func (t *linearTime) object() *linearObject {
	if t == nil {
		return nil
	}
	return &linearObject{nanos(loggp.Time(t.makespan)), t.bytes, int64(t.model.T0), float64(t.model.PerByte) / 1000}
}

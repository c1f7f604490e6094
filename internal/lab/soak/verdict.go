//go:build linux

package soak

import (
	"fmt"
	"time"
)

// moment is what the lasting processes use in one second: means of their samples.
type moment struct {
	Transport   string
	Second      int64   // since the beginning
	Memory      float64 // bytes
	Descriptors float64
	Goroutines  float64
	Operations  int64 // so far, of all ranks

	samples int
}

// add adds a sample to the means.
func (m *moment) add(s *sample, operations int64) {
	m.samples++
	mean := func(of *float64, value float64) { *of += (value - *of) / float64(m.samples) }
	mean(&m.Memory, float64(s.Memory))
	mean(&m.Descriptors, float64(s.Descriptors))
	mean(&m.Goroutines, float64(s.Goroutines))
	m.Operations = operations
}

// measure is a quantity that must not grow: its mean in the last quarter of the time may exceed that
// in the second quarter by a share, and by some more.
type measure struct {
	name, unit string
	of         func(*moment) float64 // in the unit
	share      float64
	more       float64 // in the unit
}

var measures = []measure{
	{"memory", "MiB", func(m *moment) float64 { return m.Memory / (1 << 20) }, 0.2, 8},
	{"descriptors", "", func(m *moment) float64 { return m.Descriptors }, 0.1, 2},
	{"goroutines", "", func(m *moment) float64 { return m.Goroutines }, 0.1, 2},
}

// leastTime is the time from which on growth is judged. A process warms up before.
const leastTime = time.Minute

// quarter returns the mean in a quarter of the time, from 0, or 0 if there are no samples in it.
func (q *measure) quarter(all []moment, time int64, number int64) (mean float64) {
	n := 0.0
	for i := range all {
		if s := all[i].Second; 4*s >= number*time && 4*s < (number+1)*time {
			n++
			mean += (q.of(&all[i]) - mean) / n
		}
	}
	return mean
}

// grown returns how a measure has grown beyond its margin, or "" if it has not. time is in seconds.
func (q *measure) grown(all []moment, time int64) string {
	second, last := q.quarter(all, time, 1), q.quarter(all, time, 3)
	if last <= second*(1+q.share)+q.more {
		return ""
	}
	return fmt.Sprintf("%s has grown: %.1f %s in the second quarter of the time, %.1f in the last", q.name, second, q.unit, last)
}

// faults returns what was wrong.
func (r *run) faults() (all []string) {
	if r.failed != "" {
		return []string{r.failed}
	}
	if r.cmd.Time < leastTime {
		return nil
	}
	for i := range measures {
		if why := measures[i].grown(r.moments, int64(r.cmd.Time/time.Second)); why != "" {
			all = append(all, why)
		}
	}
	return all
}

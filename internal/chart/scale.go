package chart

import (
	"math"
	"strconv"
)

// scale maps the values of an axis to pixels.
type scale struct {
	log      bool    // the bounds are logarithms to base 10
	min, max float64 // values at the ends
	from, to float64 // pixels of the ends
}

// scale returns the scale of an axis. A logarithmic one extends a little beyond the values. A linear
// one begins at 0, unless it is cut. of returns the least and the largest value of a point.
func (c *Chart) scale(log, cut bool, from, to float64, of func(*Line, int, Point) (least, most float64)) scale {
	s := scale{min: math.Inf(1), max: math.Inf(-1), from: from, to: to}
	for i := range c.Lines {
		l := &c.Lines[i]
		for k, at := range l.At {
			least, most := of(l, k, at)
			s.min, s.max = min(s.min, least), max(s.max, most)
		}
	}
	const wide = 10 // so many times the least value is the largest where logarithms are better
	switch {
	case s.max < s.min: // no points
		s.min, s.max = 0, 1
	case log && s.min > 0 && (s.max > wide*s.min || c.At != nil):
		s.log, s.min, s.max = true, math.Log10(s.min)-0.03, math.Log10(s.max)+0.03
	case cut:
		margin := 0.04 * (s.max - s.min)
		s.min, s.max = s.min-margin, s.max+margin
	default:
		s.min, s.max = min(0, s.min), s.max*1.04
	}
	if !(s.max > s.min) {
		s.max = s.min + 1
	}
	return s
}

// place returns the pixel of a value.
func (s *scale) place(v float64) float64 {
	if s.log {
		v = math.Log10(v)
	}
	return s.from + (v-s.min)/(s.max-s.min)*(s.to-s.from)
}

// placed is a tick: a pixel and the text beside it.
type placed struct {
	place float64
	label string
}

// ticks returns the ticks of a scale, at given values or at round ones.
func (s *scale) ticks(at []float64) (all []placed) {
	for _, v := range at {
		all = append(all, placed{s.place(v), strconv.FormatFloat(v, 'f', -1, 64)})
	}
	if at != nil {
		return all
	}
	found := linearTicks(s.min, s.max)
	if s.log {
		found = logTicks(s.min, s.max)
	}
	for _, t := range found {
		all = append(all, placed{s.place(t.value), t.label})
	}
	return all
}

// labelEvery returns the least number so that the labels of every so many ticks do not overlap in a
// line.
func labelEvery(all []placed) int {
	const digit = 6.0 // about its width in pixels
	every := 1
	for ; every < len(all); every++ {
		fits, free := true, math.Inf(-1)
		for i := 0; i < len(all); i += every {
			if all[i].label == "" {
				continue
			}
			half := digit / 2 * float64(len(all[i].label))
			fits = fits && all[i].place-half >= free
			free = all[i].place + half + 2
		}
		if fits {
			break
		}
	}
	return every
}

// tick is a value and its text, which may be empty.
type tick struct {
	value float64
	label string
}

// linearTicks returns a tick at every multiple of a step, which is 1, 2 or 5 times a power of ten.
// There are four to ten ticks, with as few digits as possible.
func linearTicks(lo, hi float64) []tick {
	if !(hi > lo) {
		return nil
	}
	const fewest = 4 // least number of steps between the ends
	power := math.Floor(math.Log10((hi - lo) / fewest))
	step := math.Pow(10, power)
	for _, digit := range []float64{5, 2} {
		if digit*step <= (hi-lo)/fewest {
			step *= digit
			break
		}
	}
	var ticks []tick
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		ticks = append(ticks, tick{k * step, strconv.FormatFloat(k*step, 'f', max(0, -int(power)), 64)})
	}
	return ticks
}

// logTicks returns ticks at the powers of ten between two logarithms, and at twice and five times
// these.
func logTicks(lo, hi float64) []tick {
	var ticks []tick
	for power := math.Floor(lo); power <= hi; power++ {
		for _, digit := range []float64{1, 2, 5} {
			at := power + math.Log10(digit)
			if at < lo || at > hi {
				continue
			}
			t := tick{value: math.Pow(10, power) * digit}
			if digit == 1 || hi-lo < 2.5 {
				t.label = strconv.FormatFloat(t.value, 'f', max(0, -int(power)), 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// linearTicks sets a label at every multiple of a step, which is 1, 2 or 5 times a power of ten.
// There are four to ten labels, with as few digits as possible.
type linearTicks struct{}

// Ticks returns the ticks between two values.
func (linearTicks) Ticks(lo, hi float64) []plot.Tick {
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
	var ticks []plot.Tick
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		label := strconv.FormatFloat(k*step, 'f', max(0, -int(power)), 64)
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label})
	}
	return ticks
}

// logTicks sets ticks at the powers of ten, and at twice and five times these.
type logTicks struct{}

// Ticks returns the ticks between the logarithms of two values.
func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(lo); power <= hi; power++ {
		for _, digit := range []float64{1, 2, 5} {
			at := power + math.Log10(digit)
			if at < lo || at > hi {
				continue
			}
			tick := plot.Tick{Value: at}
			if digit == 1 || hi-lo < 2.5 {
				tick.Label = strconv.FormatFloat(math.Pow(10, power)*digit, 'f', max(0, -int(power)), 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

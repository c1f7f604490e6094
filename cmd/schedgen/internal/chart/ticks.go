package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// logTicks marks the powers of ten, and twice and five times these.
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

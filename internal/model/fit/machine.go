package fit

import (
	"math"

	"github.com/schedgen/schedgen/sim"
)

// Machine is the result of fitting times of messages of several lengths: the parameters of models,
// in nanoseconds and nanoseconds a byte, and how well lines fit.
type Machine struct {
	Sizes []Size // in ascending order of Bytes

	// The parameters of LogGP, from lines through all sizes.
	L, O, Gap Interval // latency, overhead o, gap g
	GPerByte  Interval // G
	OPerByte  Interval // O

	// The parameters of the linear model of paper 004, from a line through all sizes.
	T0, PerByte Interval

	Send, Recv, Gaps []Piece // overheads and gap over the bytes beyond the first
	OneWay           []Piece // time of a message over its bytes
}

// NewMachine returns the parameters of a machine with the given times. sizes has at least one
// element and is in ascending order of Bytes.
//
// The overhead and the gap of LogGP are the values of the lines at one byte. The overhead is the
// mean of the sender's and the receiver's. L is the time of a message of one byte minus the
// overheads, by the lines of short messages.
func NewMachine(sizes []Size) *Machine {
	m := &Machine{Sizes: sizes}
	of := func(first int, quantity func(*Size) Interval) ([]Piece, Line) {
		points := make([]Point, len(sizes))
		for i := range sizes {
			points[i] = Point{float64(max(sizes[i].Bytes-first, 0)), quantity(&sizes[i])}
		}
		return Pieces(points), Rising(points)
	}
	var send, recv, gap, way Line
	m.Send, send = of(1, func(s *Size) Interval { return s.Send })
	m.Recv, recv = of(1, func(s *Size) Interval { return s.Recv })
	m.Gaps, gap = of(1, func(s *Size) Interval { return s.Gap })
	m.OneWay, way = of(0, func(s *Size) Interval { return s.OneWay })
	m.O = Interval{
		(send.Intercept.Value + recv.Intercept.Value) / 2,
		(send.Intercept.Low + recv.Intercept.Low) / 2, (send.Intercept.High + recv.Intercept.High) / 2,
	}.atLeast(0)
	m.OPerByte = send.Slope.atLeast(0) // ends of intervals may be below
	m.Gap, m.GPerByte = gap.Intercept.atLeast(0), gap.Slope.atLeast(0)
	m.T0, m.PerByte = way.Intercept.atLeast(0), way.Slope.atLeast(0)
	first := m.OneWay[0].Line
	m.L = first.Intercept.plus(first.Slope.Value).less(m.Send[0].Line.Intercept).less(m.Recv[0].Line.Intercept).atLeast(0)
	return m
}

// LogGP returns the LogGP model with one line for each parameter, in whole nanoseconds and
// picoseconds a byte.
func (m *Machine) LogGP() sim.LogGP {
	return sim.LogGP{
		L: whole(m.L.Value), O: whole(m.O.Value), Gap: whole(m.Gap.Value),
		GPerByte: sim.PerByte(whole(1000 * m.GPerByte.Value)), OPerByte: sim.PerByte(whole(1000 * m.OPerByte.Value)),
	}
}

// Linear returns the model of paper 004.
func (m *Machine) Linear() sim.Linear {
	return sim.Linear{T0: whole(m.T0.Value), PerByte: sim.PerByte(whole(1000 * m.PerByte.Value))}
}

// PLogP returns a model that has the measured values at each length, even if no line fits them,
// except that no message takes less than a shorter one. A message in the model takes exactly the
// measured time. The receiver's part is that time minus the sender's overhead and L, as in LogGP,
// where bytes arrive while the receiver receives. If overheads overlap, L is 0 and the sender's
// overhead counts.
func (m *Machine) PLogP() sim.PLogP {
	return m.plogp(func(v Interval) Interval { return v })
}

// PLogPEnds returns the same models with all measured values at the lower, and at the upper, ends
// of their intervals.
func (m *Machine) PLogPEnds() (low, high sim.PLogP) {
	return m.plogp(func(v Interval) Interval { return around(v.Low, v.Half()) }), m.plogp(func(v Interval) Interval { return around(v.High, v.Half()) })
}

func (m *Machine) plogp(end func(Interval) Interval) sim.PLogP {
	of := func(quantity func(*Size) Interval) []float64 {
		points := make([]Point, len(m.Sizes))
		for i := range m.Sizes {
			points[i].Y = end(quantity(&m.Sizes[i]))
		}
		return monotone(points)
	}
	ways, sends := of(func(s *Size) Interval { return s.OneWay }), of(func(s *Size) Interval { return s.Send })
	recvs, gaps := of(func(s *Size) Interval { return s.Recv }), of(func(s *Size) Interval { return s.Gap })
	p := sim.PLogP{L: whole(ways[0] - sends[0] - recvs[0])}
	for i := range m.Sizes {
		way := whole(ways[i])
		send := min(whole(sends[i]), max(way-p.L, 0))
		p.Sizes = append(p.Sizes, sim.PLogPSize{Bytes: m.Sizes[i].Bytes, Send: send, Recv: max(way-send-p.L, 0), Gap: whole(gaps[i])})
	}
	return p
}

// monotone returns values that never fall, with the least sum of weighted squares of deviations.
// Values that would fall become their weighted mean (pool adjacent violators; Barlow, Bartholomew,
// Bremner and Brunk, Statistical Inference under Order Restrictions, 1972).
func monotone(points []Point) []float64 {
	type pool struct {
		value, weight float64
		n             int
	}
	var pools []pool
	for i := range points {
		next := pool{points[i].Y.Value, points[i].weight(), 1}
		for len(pools) > 0 && pools[len(pools)-1].value > next.value {
			last := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			sum := last.weight + next.weight
			next = pool{(last.value*last.weight + next.value*next.weight) / sum, sum, last.n + next.n}
		}
		pools = append(pools, next)
	}
	values := make([]float64, 0, len(points))
	for _, p := range pools {
		for range p.n {
			values = append(values, p.value)
		}
	}
	return values
}

// whole returns the nearest whole number that is not negative.
func whole(v float64) sim.Time { return sim.Time(math.Round(max(v, 0))) }

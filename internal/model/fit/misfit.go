package fit

import "math"

// Resolution is the resolution of clocks in nanoseconds. No interval need be narrower, and no model
// need be closer.
const Resolution = 20

// Known bounds the interval of a value that counts as measured: half its width is at most this part
// of the value, or [Resolution].
const Known = 0.25

// Quantity is one of the quantities measured for a message of some length.
type Quantity struct {
	Name string // "one way", "sender", "receiver" or "gap"
	Of   func(*Size) Interval
}

// Quantities returns the four quantities that are measured at each length.
func Quantities() [4]Quantity {
	return [...]Quantity{
		{"one way", func(s *Size) Interval { return s.OneWay }},
		{"sender", func(s *Size) Interval { return s.Send }},
		{"receiver", func(s *Size) Interval { return s.Recv }},
		{"gap", func(s *Size) Interval { return s.Gap }},
	}
}

// Misfit is a length at which the measurements of a quantity are no basis for a model.
type Misfit struct {
	Quantity string
	Bytes    int
	Measured Interval // nanoseconds
	// Uncertain says that the interval is too wide. Otherwise it is narrow enough, but measurements
	// contradict each other: a longer message took so much less time that a model in which times
	// never fall misses this one.
	Uncertain bool
	Model     float64 // the value of the model, in nanoseconds
	// Off is half the width of the interval if that is too wide, and otherwise the distance of the
	// model from the measured value. Allowed is the maximum for Off. Both are parts of the value.
	Off, Allowed float64
}

// Misfits returns the lengths at which the measurements are no basis for the model of
// [Machine.PLogP], by quantity and length. It returns nil if the model fits. A length fits if, for
// each quantity,
//
//   - half the width of its interval is at most [Known] of its value, or [Resolution];
//   - the model, in which times never fall, is within the interval, or beyond it by at most
//     [Tolerance] of the value or [Resolution].
func (m *Machine) Misfits() (all []Misfit) {
	for _, q := range Quantities() {
		points := make([]Point, len(m.Sizes))
		for i := range m.Sizes {
			points[i].Y = q.Of(&m.Sizes[i])
		}
		model := monotone(points)
		for i := range m.Sizes {
			v := points[i].Y
			of := Misfit{Quantity: q.Name, Bytes: m.Sizes[i].Bytes, Measured: v, Model: model[i]}
			scale := max(math.Abs(v.Value), Resolution)
			off, slack := math.Abs(v.Value-model[i]), max(points[i].slack(), v.Half()+Resolution)
			switch {
			case !v.Settled(Known, Resolution):
				of.Uncertain, of.Off, of.Allowed = true, v.Half()/scale, Known
			case off > slack:
				of.Off, of.Allowed = off/scale, slack/scale
			default:
				continue
			}
			all = append(all, of)
		}
	}
	return all
}

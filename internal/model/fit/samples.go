package fit

// Samples are times of messages of one length between two ranks, in nanoseconds. Entries with the
// same index were measured one after the other.
type Samples struct {
	Bytes     int
	RoundTrip []float64 // a message, and one of the same length back
	Send      []float64 // the sender's call, with no earlier message on its way
	Receive   []float64 // the receiver's call, for a message that has already come
	Flood     []float64 // Burst messages without a pause, and one back
}

// Burst is the number of messages of Flood.
const Burst = 10

// Size is the costs of a message of Bytes bytes, in nanoseconds.
type Size struct {
	Bytes  int
	OneWay Interval // half a round trip
	Send   Interval // o_s, the time of the sender's processor
	Recv   Interval // o_r, the time of the receiver's processor
	Gap    Interval // g, the time between two messages in a row
}

// Size returns the medians. The gap is the time that each message of Flood but the first has added
// to a round trip: (PRTT(n, 0, m) - PRTT(1, 0, m)) / (n-1) of Hoefler, Lichei and Rehm
// ("Low-overhead LogGP parameter assessment for modern interconnection networks", 2007).
func (s *Samples) Size() Size {
	gaps := make([]float64, min(len(s.RoundTrip), len(s.Flood)))
	for i := range gaps {
		gaps[i] = (s.Flood[i] - s.RoundTrip[i]) / (Burst - 1)
	}
	median := func(samples []float64) Interval { return Median(append([]float64(nil), samples...)) }
	return Size{
		Bytes:  s.Bytes,
		OneWay: median(s.RoundTrip).scaled(0.5),
		Send:   median(s.Send), Recv: median(s.Receive),
		Gap: Median(gaps).atLeast(0),
	}
}

// Settled reports whether half the width of each interval is at most the given part of its value,
// or at most most nanoseconds.
func (s *Size) Settled(part, most float64) bool {
	return s.OneWay.Settled(part, most) && s.Send.Settled(part, most) && s.Recv.Settled(part, most) && s.Gap.Settled(part, most)
}

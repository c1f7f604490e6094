package fit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// TestMachineOfALine checks that samples of a linear machine give its parameters.
func TestMachineOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
		l, o, g, perByte, cpu := number("L", 100, 1e5), number("o", 50, 1e4), number("g", 50, 1e4), number("G", 0.1, 100), number("O", 0, 1)
		var sizes []Size
		for bytes := 1; bytes <= 1<<20; bytes *= 2 {
			further := float64(bytes - 1)
			send, recv, gap := o+further*cpu, o+further*(cpu+perByte), g+further*perByte
			s := Samples{Bytes: bytes}
			for range 10 {
				trip := 2 * (send + l + recv)
				s.RoundTrip, s.Flood = append(s.RoundTrip, trip), append(s.Flood, trip+(Burst-1)*gap)
				s.Send, s.Receive = append(s.Send, send), append(s.Receive, recv)
			}
			sizes = append(sizes, s.Size())
		}
		m := NewMachine(sizes)
		for _, of := range []struct {
			want float64
			got  Interval
		}{{l, m.L}, {o, m.O}, {g, m.Gap}, {perByte, m.GPerByte}, {2*o + l - perByte - 2*cpu, m.T0}, {perByte + 2*cpu, m.PerByte}} {
			require.InEpsilon(t, of.want, of.got.Value, 1e-4)
		}
		require.InDelta(t, cpu, m.OPerByte.Value, 1e-4)
		for _, pieces := range [][]Piece{m.Send, m.Recv, m.Gaps, m.OneWay} {
			require.Len(t, pieces, 1)
		}
		require.InEpsilon(t, l, float64(m.LogGP().L), 0.01)
		require.InDelta(t, 1000*perByte, float64(m.LogGP().GPerByte), 1+perByte)
		require.InDelta(t, m.T0.Value, float64(m.Linear().T0), 0.5)
	})
}

// TestPLogPTakesMeasuredValues checks that in the fitted model a message takes the measured time,
// if longer messages take no less.
func TestPLogPTakesMeasuredValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sizes []Size
		var last Size
		for i := range rapid.IntRange(1, 12).Draw(t, "sizes") {
			more := func(name string, than Interval) Interval {
				return Exactly(than.Value + rapid.Float64Range(0, 1e5).Draw(t, name))
			}
			last = Size{1 << i, more("one way", last.OneWay), more("send", last.Send), more("receive", last.Recv), more("gap", last.Gap)}
			sizes = append(sizes, last)
		}
		m := NewMachine(sizes).PLogP()
		spec, err := schedule.New("bcast/linear", schedule.Params{Ranks: 2})
		require.NoError(t, err)
		for i := range sizes {
			r, err := sim.Run(spec, sim.Config{Model: m, Bytes: sizes[i].Bytes})
			require.NoError(t, err)
			require.InDelta(t, sizes[i].OneWay.Value, float64(r.Makespan), 1.5)
			require.InDelta(t, sizes[i].Gap.Value, float64(m.Sizes[i].Gap), 0.5)
		}
	})
}

// TestPLogPOfAnOutlier checks that one length with a disturbance counts less than lengths that are
// known well.
func TestPLogPOfAnOutlier(t *testing.T) {
	var sizes []Size
	for bytes := 1; bytes <= 1024; bytes *= 2 {
		v := around(8000+float64(bytes), 100)
		sizes = append(sizes, Size{bytes, v, v.scaled(0.5), v.scaled(0.25), v})
	}
	sizes[0].OneWay, sizes[5].Gap = around(20_000, 13_000), around(60_000, 40_000)
	m := NewMachine(sizes)
	p := m.PLogP()
	for i, s := range p.Sizes {
		require.InEpsilon(t, float64(8000+sizes[i].Bytes), float64(s.Send+p.L+s.Recv), 0.05, "%d bytes", sizes[i].Bytes)
		require.InEpsilon(t, float64(8000+sizes[i].Bytes), float64(s.Gap), 0.05, "%d bytes", sizes[i].Bytes)
	}
	require.InEpsilon(t, 2000, m.L.Value, 0.2)
	low, high := m.PLogPEnds()
	for i := 1; i < len(p.Sizes); i++ {
		require.Less(t, low.Sizes[i].Gap, p.Sizes[i].Gap)
		require.Less(t, p.Sizes[i].Gap, high.Sizes[i].Gap)
		way := func(p *sim.PLogP) sim.Time { return p.Sizes[i].Send + p.L + p.Sizes[i].Recv }
		require.Less(t, way(&low), way(&p))
		require.Less(t, way(&p), way(&high))
	}
}

// TestMonotone checks that values that are level or fall become their weighted mean, and values
// that rise stay.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := make([]Point, rapid.IntRange(1, 20).Draw(t, "points"))
		for i := range points {
			points[i].Y = around(rapid.Float64Range(1, 100).Draw(t, "y"), rapid.Float64Range(0.1, 10).Draw(t, "half"))
		}
		got := monotone(points)
		require.Len(t, got, len(points))
		sum, want := 0.0, 0.0
		for i := range points {
			require.True(t, i == 0 || got[i-1] <= got[i]*(1+1e-12))
			sum += points[i].weight() * got[i]
			want += points[i].weight() * points[i].Y.Value
		}
		require.InEpsilon(t, want, sum, 1e-9)
	})
	require.Equal(t, []float64{1, 2.5, 2.5, 4}, monotone([]Point{{1, around(1, 1e9)}, {2, around(3, 1e9)}, {3, around(2, 1e9)}, {4, around(4, 1e9)}}))
}

// TestSettled checks that a size is settled when all its intervals are.
func TestSettled(t *testing.T) {
	var s Samples
	for i := range 30 {
		v := 1000 + float64(i%3)
		s.RoundTrip, s.Flood = append(s.RoundTrip, v), append(s.Flood, 10*v)
		s.Send, s.Receive = append(s.Send, v), append(s.Receive, v)
	}
	size := s.Size()
	require.True(t, size.Settled(0.01, 0))
	require.InDelta(t, 1001, size.Gap.Value, 1)
	require.Equal(t, 500.5, size.OneWay.Value)
	for i := range s.Receive {
		s.Receive[i] *= 1 + float64(i)
	}
	size = s.Size()
	require.False(t, size.Settled(0.01, 0))
	require.Equal(t, 1000.0, s.Receive[0], "samples stay in their order")
}

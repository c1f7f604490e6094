package sim

import (
	"errors"
	"fmt"
	"math/bits"
)

// PLogP is the parameterised LogP model of Kielmann, Bal and Verstoep ("Fast measurement of LogP
// parameters for message passing platforms", 2000). Overheads and gap are functions of a message's
// length, given at some lengths. Between two lengths they are linear. A message shorter than all
// given lengths costs as much as the shortest. A longer one is on the line of the last two, or
// costs as much as the last if that line falls.
type PLogP struct {
	L     Time        // latency of the network, for all messages
	Sizes []PLogPSize // at least one, in ascending order of Bytes
}

// PLogPSize is the costs of a message of Bytes bytes.
type PLogPSize struct {
	Bytes int
	Send  Time // time of the sender's CPU
	Recv  Time // time of the receiver's CPU, from L after the sender's is done
	Gap   Time // time between the starts of two such messages at an interface
}

func (m PLogP) check(bytes int) error {
	if len(m.Sizes) == 0 {
		return errors.New("PLogP model: no length of a message is given")
	}
	if err := checkParams("PLogP model", bytes, []Time{m.L}, nil); err != nil {
		return err
	}
	for i := range m.Sizes {
		s := &m.Sizes[i]
		if s.Bytes < 0 || i > 0 && s.Bytes <= m.Sizes[i-1].Bytes {
			return fmt.Errorf("PLogP model: %d bytes: lengths must be ascending, from 0", s.Bytes)
		}
		if err := checkParams(fmt.Sprintf("PLogP model at %d bytes", s.Bytes), bytes, []Time{s.Send, s.Recv, s.Gap}, nil); err != nil {
			return err
		}
	}
	return m.checkBeyond(bytes)
}

// checkBeyond returns an error if costs beyond the last length could overflow.
func (m PLogP) checkBeyond(bytes int) error {
	last := len(m.Sizes) - 1
	if last == 0 || bytes <= m.Sizes[last].Bytes {
		return nil
	}
	a, b := m.Sizes[last-1], m.Sizes[last]
	times := float64(bytes-b.Bytes) / float64(b.Bytes-a.Bytes)
	for _, rise := range []Time{b.Send - a.Send, b.Recv - a.Recv, b.Gap - a.Gap} {
		if float64(rise)*times > maxTime {
			return fmt.Errorf("PLogP model and %d bytes: times could exceed %d ns", bytes, int64(maxSum))
		}
	}
	return nil
}

func (m PLogP) cost(bytes int, _ bool) cost {
	s := m.at(max(bytes, 1))
	return cost{sendCPU: s.Send, out: s.Gap, latency: s.Send + m.L, recvCPU: s.Recv, in: s.Gap}
}

// at returns the costs of a message of bytes bytes.
func (m PLogP) at(bytes int) PLogPSize {
	i := 0
	for i < len(m.Sizes) && m.Sizes[i].Bytes < bytes {
		i++
	}
	switch {
	case i == 0 || len(m.Sizes) == 1:
		return m.Sizes[0]
	case i == len(m.Sizes):
		i--
	}
	a, b := &m.Sizes[i-1], &m.Sizes[i]
	line := func(from, to Time) Time {
		if bytes > b.Bytes && to < from {
			return to
		}
		return from + portion(to-from, bytes-a.Bytes, b.Bytes-a.Bytes)
	}
	return PLogPSize{bytes, line(a.Send, b.Send), line(a.Recv, b.Recv), line(a.Gap, b.Gap)}
}

// portion returns t·part/whole, rounded towards 0. It uses whole numbers, so that the result is the
// same on every machine.
func portion(t Time, part, whole int) Time {
	if t < 0 {
		return -portion(-t, part, whole)
	}
	high, low := bits.Mul64(uint64(t), uint64(part))
	q, _ := bits.Div64(high, low, uint64(whole))
	return Time(q)
}

// String returns the parameters at the first and the last length, in ns.
func (m PLogP) String() string {
	text := fmt.Sprintf("PLogP L=%d", m.L)
	for i, s := range m.Sizes {
		if i == 0 || i == len(m.Sizes)-1 {
			text += fmt.Sprintf(" %dB: os=%d or=%d g=%d", s.Bytes, s.Send, s.Recv, s.Gap)
		}
	}
	return text
}

package sim

import "fmt"

// Linear is the model of paper 004, equation 1: a message of n bytes arrives T0 + n·PerByte after
// its send began. A sender's messages share its link, one after the other. A receive takes no time,
// and a receiver's link accepts any amount, as in the paper.
type Linear struct {
	T0      Time    // t0, the initial latency
	PerByte PerByte // t_d, the time of a byte
	// Sync says that a send begins when the one before has arrived, as in the paper's equation 2.
	// Otherwise sends are only separated by the time of a message on the link, as in equations 4
	// and 5.
	Sync bool
}

func (m Linear) check(bytes int) error {
	return checkParams("linear model", bytes, []Time{m.T0}, []PerByte{m.PerByte})
}

func (m Linear) cost(bytes int, near bool) cost {
	wire := m.PerByte.timeOf(bytes)
	c := cost{out: wire, latency: m.T0 + wire}
	if m.Sync {
		c.out = c.latency
	}
	return c
}

// String returns the parameters, such as "t0=50000 td=80", in ns.
func (m Linear) String() string {
	text := fmt.Sprintf("t0=%d td=%v", m.T0, m.PerByte)
	if m.Sync {
		text += " sync"
	}
	return text
}

package sim

import (
	"errors"
	"fmt"
	"strconv"
)

// Model gives the costs of sending and receiving a message.
type Model interface {
	// check returns an error if the parameters are invalid, or if the time of the longest message,
	// of bytes bytes, could overflow.
	check(bytes int) error
	// cost returns the cost of a message of bytes bytes, which may be 0. near says that both its
	// ranks are on one host.
	cost(bytes int, near bool) cost
	// String returns the parameters.
	String() string
}

// cost is the cost of a message: how long it keeps parts of its sender and receiver busy, and how
// long after the start of the send it can be received.
type cost struct {
	sendCPU, out Time
	latency      Time
	recvCPU, in  Time
	check        Time // time of the sender's CPU after the last send of a rule
}

// PerByte is a time for each byte, in picoseconds. For a rate of B bits a second it is 8e12/B.
type PerByte int64

// timeOf returns the time of n bytes in whole nanoseconds, rounded up.
func (p PerByte) timeOf(n int) Time { return Time((int64(p)*int64(n) + 999) / 1000) }

// String returns the time in ns, such as "0.8".
func (p PerByte) String() string { return strconv.FormatFloat(float64(p)/1000, 'f', -1, 64) }

// LogGP is the model of Alexandrov, Ionescu, Schauser and Scheiman (1995). See the package
// documentation.
type LogGP struct {
	L        Time    // latency of the network
	O        Time    // overhead o: the CPU time of a send, and of a receive
	Gap      Time    // gap g: time between the starts of two messages of one byte at an interface
	GPerByte PerByte // gap G of every further byte at an interface
	OPerByte PerByte // overhead O of every further byte at a CPU, in addition to the G of a receive
	// Check is additional CPU time after the sends of a rule: the store barrier and the sequence
	// check of paper 003, section 4.
	Check Time
	Near  *LogGP // for messages between ranks of one host; nil: the same as others
}

// DefaultLogGP returns the default parameters of LogGOPSim.
func DefaultLogGP() LogGP { return LogGP{L: 2500, O: 1500, Gap: 1000, GPerByte: 6000} }

// String returns the parameters as in the literature, such as "L=2500 o=1500 g=1000 G=6", in ns. O,
// and the parameters of a host, follow if they are set.
func (m LogGP) String() string {
	text := fmt.Sprintf("L=%d o=%d g=%d G=%v", m.L, m.O, m.Gap, m.GPerByte)
	if m.OPerByte != 0 {
		text += fmt.Sprintf(" O=%v", m.OPerByte)
	}
	if m.Near != nil {
		text += " near: " + m.Near.String()
	}
	return text
}

func (m LogGP) check(bytes int) error {
	err := checkParams(m.String(), bytes, []Time{m.L, m.O, m.Gap, m.Check}, []PerByte{m.GPerByte, m.OPerByte})
	if err != nil || m.Near == nil {
		return err
	}
	if m.Near.Near != nil {
		return errors.New("LogGP model: a host has no hosts in it")
	}
	return m.Near.check(bytes)
}

func (m LogGP) cost(bytes int, near bool) cost {
	if near && m.Near != nil {
		return m.Near.cost(bytes, false)
	}
	further := max(bytes, 1) - 1
	wire, cpu := m.GPerByte.timeOf(further), m.OPerByte.timeOf(further)
	return cost{
		sendCPU: m.O + cpu, out: m.Gap + wire,
		latency: m.O + cpu + m.L,
		recvCPU: m.O + cpu + wire, in: m.Gap + wire,
		check: m.Check,
	}
}

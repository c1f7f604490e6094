package sim

import (
	"errors"
	"fmt"
	"strconv"
)

// Model says what the sending and the receiving of a message take.
type Model interface {
	// check returns an error for parameters that are no model, or with which what
	// the longest message takes, of so many bytes, could overflow.
	check(bytes int) error
	// cost returns what a message of so many bytes takes, which may have none. If
	// near, both its ranks are on one host.
	cost(bytes int, near bool) cost
	// String spells the parameters.
	String() string
}

// cost is what a message takes: times for which what sends or receives it is
// taken, and how long after the begin of the send it can be received.
type cost struct {
	sendCPU, out Time
	latency      Time
	recvCPU, in  Time
	check        Time // taken of the sender's CPU if its rule sends nothing else
}

// PerByte is a time for each byte, in picoseconds: of a rate of B bits a second
// it is 8e12/B.
type PerByte int64

// of returns the time of n bytes in whole nanoseconds, rounded up.
func (p PerByte) of(n int) Time { return Time((int64(p)*int64(n) + 999) / 1000) }

// String spells the time in ns, "0.8".
func (p PerByte) String() string { return strconv.FormatFloat(float64(p)/1000, 'f', -1, 64) }

// LogGP is the model of Alexandrov, Ionescu, Schauser and Scheiman (1995); see the
// package's comment.
type LogGP struct {
	L        Time    // latency of the network
	O        Time    // overhead o: the CPU's part in a send, and in a receive
	Gap      Time    // gap g: between the beginnings of two messages of one byte at an interface
	GPerByte PerByte // gap G of every further byte at an interface
	OPerByte PerByte // overhead O of every further byte at a CPU, beside the G that a receive takes
	// Check is what the CPU takes besides, after what a rule sends: the store barrier
	// and the sequence check of paper 003, section 4.
	Check Time
	Near  *LogGP // of messages between ranks of one host, if it is not nil
}

// DefaultLogGP returns the parameters that LogGOPSim takes unless told otherwise.
func DefaultLogGP() LogGP { return LogGP{L: 2500, O: 1500, Gap: 1000, GPerByte: 6000} }

// String spells the parameters as the literature does, "L=2500 o=1500 g=1000 G=6",
// in ns; O, and what differs on a host, stand behind them if they are there.
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
	wire, cpu := m.GPerByte.of(further), m.OPerByte.of(further)
	return cost{
		sendCPU: m.O + cpu, out: m.Gap + wire,
		latency: m.O + cpu + m.L,
		recvCPU: m.O + cpu + wire, in: m.Gap + wire,
		check: m.Check,
	}
}

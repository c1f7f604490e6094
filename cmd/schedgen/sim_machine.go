package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// machineFlags choose the modelled machine.
type machineFlags struct {
	Model string   `default:"loggp" enum:"loggp,linear,links" help:"loggp, linear or links."`
	L     duration `name:"L" default:"2.5us" placeholder:"TIME" help:"loggp: latency of the network; default 2.5us."`
	O     duration `name:"o" default:"1.5us" placeholder:"TIME" help:"loggp, links: the CPU's part in a send, and in a receive; default 1.5us."`
	Gap   duration `name:"g" default:"1us" placeholder:"TIME" help:"loggp: gap between messages at an interface; default 1us."`
	GByte perByte  `name:"G" default:"6ns" placeholder:"TIME" help:"loggp: gap of every further byte; default 6ns."`
	OByte perByte  `name:"O" default:"0ns" placeholder:"TIME" help:"loggp: overhead of every further byte; default 0ns."`
	Near  string   `placeholder:"L,o,g,G" help:"loggp: the parameters between ranks of one host, such as 300ns,200ns,100ns,0.1ns."`

	T0   duration `name:"t0" default:"50us" placeholder:"TIME" help:"linear: initial latency; default 50us."`
	TD   perByte  `name:"td" default:"80ns" placeholder:"TIME" help:"linear: the time of a byte; default 80ns, 100 Mbit/s."`
	Sync bool     `help:"linear: a send begins when the one before has come."`

	Rate  bitRate  `default:"1Gbit" placeholder:"RATE" help:"links: bits a second of a host's link each way; default 1Gbit."`
	Delay duration `default:"5us" placeholder:"TIME" help:"links: delay of each link; default 5us."`
	Loop  duration `default:"500ns" placeholder:"TIME" help:"links: from rank to rank on one host; default 500ns."`

	Fold      perByte  `name:"fold" default:"0.2ns" placeholder:"TIME" help:"What a fold takes for each byte of each operand but the first; default 0.2ns, 5 GB/s."`
	Switch    bitRate  `placeholder:"RATE" help:"Bits a second that cross the switch in all; default: as many as come."`
	FanoutLag duration `name:"fanout-time" placeholder:"TIME" help:"What a multicast takes longer than a put, however many receive it."`
	On        *int     `name:"on-hosts" placeholder:"H" help:"The ranks are on so many hosts, in blocks; default --hosts, else each on its own."`
}

// faultFlags say what differs from rank to rank and from message to message.
type faultFlags struct {
	Loss      float64  `placeholder:"P" help:"Probability that a rank misses a multicast."`
	Unready   bool     `help:"Ranks that have not called when a multicast comes miss it."`
	Repair    duration `placeholder:"TIME" help:"Make repairs, with this base timeout."`
	Noise     duration `placeholder:"TIME" help:"A message is late by up to so much."`
	Skew      duration `placeholder:"TIME" help:"Ranks call up to so much later."`
	RootFirst duration `placeholder:"TIME" help:"All but the root call so much later; where there is no root, all but rank 0."`
	OneLate   duration `placeholder:"TIME" help:"One of the ranks that --root-first delays calls so much later."`
	RootDelay string   `default:"none" placeholder:"POLICY" help:"What the root waits for: none, a time, peer (one rank that has called) or barrier (all of them); default none."`
}

// config returns what is simulated at a point.
func (c *simCmd) config(p *point) (sim.Config, error) {
	config := sim.Config{
		Bytes: p.bytes, Fold: sim.PerByte(c.Fold), Switch: c.Switch.perByte(), Fanout: sim.Time(c.FanoutLag),
		Loss: c.Loss, Unready: c.Unready, Repair: sim.Time(c.Repair), Noise: sim.Time(c.Noise),
		Arrival: sim.Arrival{Others: sim.Time(c.RootFirst), Late: sim.Time(c.OneLate), Skew: sim.Time(c.Skew)},
		Path:    c.Path,
	}
	for _, param := range p.header.Params {
		if param.Name == "hosts" {
			config.Hosts = param.Value
		}
	}
	if c.On != nil {
		if config.Hosts = *c.On; *c.On < 1 {
			return config, fmt.Errorf("--on-hosts=%d: must be at least 1", *c.On)
		}
	}
	var err error
	if config.Model, err = c.model(); err != nil {
		return config, err
	}
	return config, c.rootDelay(&config, p)
}

func (c *simCmd) model() (sim.Model, error) {
	switch c.Model {
	case "linear":
		return sim.Linear{T0: sim.Time(c.T0), PerByte: sim.PerByte(c.TD), Sync: c.Sync}, nil
	case "links":
		l := sim.Link{Rate: int64(c.Rate), Delay: sim.Time(c.Delay)}
		return sim.Links{O: sim.Time(c.O), Loop: sim.Time(c.Loop), Up: l, Down: l}, nil
	}
	m := sim.LogGP{L: sim.Time(c.L), O: sim.Time(c.O), Gap: sim.Time(c.Gap), GPerByte: sim.PerByte(c.GByte), OPerByte: sim.PerByte(c.OByte)}
	if c.Near == "" {
		return m, nil
	}
	words := strings.Split(c.Near, ",")
	if len(words) != 4 {
		return nil, fmt.Errorf("--near=%s: must be four times L,o,g,G, such as 300ns,200ns,100ns,0.1ns", c.Near)
	}
	var times [3]duration
	var g perByte
	for i := range times {
		if err := times[i].UnmarshalText([]byte(words[i])); err != nil {
			return nil, fmt.Errorf("--near=%s: %w", c.Near, err)
		}
	}
	if err := g.UnmarshalText([]byte(words[3])); err != nil {
		return nil, fmt.Errorf("--near=%s: %w", c.Near, err)
	}
	m.Near = &sim.LogGP{L: sim.Time(times[0]), O: sim.Time(times[1]), Gap: sim.Time(times[2]), GPerByte: sim.PerByte(g)}
	return m, nil
}

// rootDelay adds what the root waits for.
func (c *simCmd) rootDelay(config *sim.Config, p *point) error {
	if c.RootDelay == "barrier" {
		spec, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: p.header.Ranks, Degree: 2})
		config.Before = spec
		return err
	}
	var err error
	config.Delay, err = c.rootWait()
	return err
}

// rootWait returns what the root alone waits for.
func (c *simCmd) rootWait() (sim.Delay, error) {
	switch c.RootDelay {
	case "none", "barrier":
		return sim.Delay{}, nil
	case "peer":
		return sim.Delay{Peer: true}, nil
	}
	var d duration
	if err := d.UnmarshalText([]byte(c.RootDelay)); err != nil {
		return sim.Delay{}, fmt.Errorf("--root-delay=%s: must be none, peer, barrier or a time, such as 20us", c.RootDelay)
	}
	return sim.Delay{Fixed: sim.Time(d)}, nil
}

// duration is a time of a model on the command line, not negative.
type duration sim.Time

// UnmarshalText reads "2.5us".
func (d *duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	if err != nil || t < 0 {
		return fmt.Errorf("%q is no time: must be a number and a unit, such as 2.5us (ns, us, ms, s)", text)
	}
	*d = duration(t.Nanoseconds())
	return nil
}

// perByte is the time of a byte on the command line.
type perByte sim.PerByte

// UnmarshalText reads "6ns" or "0.08ns", to a picosecond.
func (p *perByte) UnmarshalText(text []byte) error {
	number, isNano := strings.CutSuffix(string(text), "ns")
	ns, err := strconv.ParseFloat(number, 64)
	if err != nil || !isNano || !(ns >= 0) || ns > 1e9 {
		return fmt.Errorf("%q is no time of a byte: must be nanoseconds, such as 6ns or 0.08ns", text)
	}
	*p = perByte(math.Round(ns * 1000))
	return nil
}

// bitRate is bits a second on the command line.
type bitRate int64

// UnmarshalText reads "100Mbit", "1.5Gbit" or "1000bit".
func (r *bitRate) UnmarshalText(text []byte) error {
	number, isRate := strings.CutSuffix(string(text), "bit")
	scale := 1.0
	for unit, by := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if n, ok := strings.CutSuffix(number, unit); ok {
			number, scale = n, by
			break
		}
	}
	bits, err := strconv.ParseFloat(number, 64)
	if bits *= scale; err != nil || !isRate || !(bits >= 1) || bits > 1e15 {
		return fmt.Errorf("%q is no rate: must be a number and a unit, such as 100Mbit (bit, kbit, Mbit, Gbit)", text)
	}
	*r = bitRate(bits)
	return nil
}

// perByte returns the time of a byte, 0 for a rate that was not given.
func (r bitRate) perByte() sim.PerByte {
	if r == 0 {
		return 0
	}
	return sim.PerByte(math.Ceil(8e12 / float64(r)))
}

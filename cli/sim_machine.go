package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// machineFlags are the flags for the modelled machine. The tag models names the models that use a
// flag; all models use one without it.
type machineFlags struct {
	Model string   `default:"loggp" enum:"loggp,linear,links,network" help:"loggp, linear, links or network, see above; default loggp, or network with --network."`
	L     duration `name:"L" default:"2.5us" placeholder:"TIME" models:"loggp" help:"loggp: latency of the network; default 2.5us."`
	O     duration `name:"o" default:"1.5us" placeholder:"TIME" models:"loggp,links,network" help:"loggp, links, network: CPU time of a send, and of a receive; default 1.5us."`
	Gap   duration `name:"g" default:"1us" placeholder:"TIME" models:"loggp" help:"loggp: gap between messages at an interface; default 1us."`
	GByte perByte  `name:"G" default:"6ns" placeholder:"TIME" models:"loggp" help:"loggp: gap for each byte after the first; default 6ns."`
	OByte perByte  `name:"O" default:"0ns" placeholder:"TIME" models:"loggp" help:"loggp: CPU time for each byte after the first; default 0ns."`
	Near  string   `placeholder:"L,o,g,G" models:"loggp" help:"loggp: parameters between ranks of one host, such as 300ns,200ns,100ns,0.1ns."`

	T0   duration `name:"t0" default:"50us" placeholder:"TIME" models:"linear" help:"linear: latency of a message; default 50us."`
	TD   perByte  `name:"td" default:"80ns" placeholder:"TIME" models:"linear" help:"linear: time of a byte; default 80ns, which is 100 Mbit/s."`
	Sync bool     `models:"linear" help:"linear: a send begins when the one before has arrived."`

	Rate  bitRate  `default:"1Gbit" placeholder:"RATE" models:"links" help:"links: bits a second of a host's link in each direction; default 1Gbit."`
	Delay duration `default:"5us" placeholder:"TIME" models:"links" help:"links: delay of each link; default 5us."`
	Loop  duration `default:"500ns" placeholder:"TIME" models:"links" help:"links: delay from rank to rank on one host; default 500ns."`

	networkFlag

	Fold      perByte  `name:"fold" default:"0.2ns" placeholder:"TIME" help:"Time of a fold for each byte of each operand after the first; default 0.2ns, which is 5 GB/s."`
	Switch    bitRate  `placeholder:"RATE" models:"loggp,linear,links" help:"Bits a second that can cross the switch in total; default no limit."`
	FanoutLag duration `name:"fanout-time" placeholder:"TIME" help:"Time that a multicast takes longer than a put, for any number of receivers."`
	On        *int     `name:"on-hosts" placeholder:"H" models:"loggp,linear,links" help:"Number of hosts that the ranks are on, in blocks; default --hosts, else one host for each rank."`
}

// AfterApply refuses a flag that the chosen model does not use. A network chooses its model.
func (f *machineFlags) AfterApply(k *kong.Context) error {
	chosen := func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == "model" }
	switch {
	case f.Network == "" && f.Model == "network":
		return errors.New("--model=network: needs --network")
	case f.Network != "" && f.Model != "network" && slices.ContainsFunc(k.Path, chosen):
		return fmt.Errorf("--network: not with --model %s", f.Model)
	case f.Network != "":
		f.Model = "network"
	}
	for _, given := range k.Path {
		if given.Flag == nil || !given.Flag.Tag.Has("models") {
			continue
		}
		if models := strings.Split(given.Flag.Tag.Get("models"), ","); !slices.Contains(models, f.Model) {
			needs := "--model " + strings.Join(models, " or ")
			if others, ok := strings.CutSuffix(needs, " or network"); ok {
				needs = others + " or --network"
			}
			return fmt.Errorf("--%s: needs %s", given.Flag.Name, needs)
		}
	}
	return nil
}

// faultFlags are the flags for losses and for delays of messages and calls.
type faultFlags struct {
	Loss      float64  `placeholder:"P" help:"Probability that a rank misses a multicast."`
	Unready   bool     `help:"A rank misses multicasts that arrive before it has called."`
	Repair    duration `placeholder:"TIME" help:"Repair losses, with this base timeout."`
	Noise     duration `placeholder:"TIME" help:"Delay each message by a random time up to this one."`
	Skew      duration `placeholder:"TIME" help:"Delay the call of each rank by a random time up to this one."`
	RootFirst duration `placeholder:"TIME" help:"Delay the calls of all ranks but the root by this time; without a root, of all ranks but rank 0."`
	OneLate   duration `placeholder:"TIME" help:"Delay the call of one rank other than the root by this time."`
	RootDelay string   `default:"none" placeholder:"POLICY" help:"What the root waits for before it starts: none, a time, peer (one rank that has called), adaptive (one rank, but at most a time that changes from run to run of --runs; if it often loses the multicast, bcast/mcast-chain becomes bcast/mcast-binomial) or barrier (all ranks); default none."`
}

// config returns the configuration of the simulator for a point.
func (c *simCmd) config(p *point) (sim.Config, error) {
	config := sim.Config{
		Bytes: p.bytes, Fold: sim.PerByte(c.Fold), Switch: c.Switch.perByte(), Fanout: sim.Time(c.FanoutLag),
		Loss: c.Loss, Unready: c.Unready, Repair: sim.Time(c.Repair), Noise: sim.Time(c.Noise),
		Arrival: sim.Arrival{Others: sim.Time(c.RootFirst), Late: sim.Time(c.OneLate), Skew: sim.Time(c.Skew)},
		Path:    c.Path,
	}
	for _, param := range p.header.Params {
		if param.Name == "hosts" && c.net == nil {
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

// model returns the modelled machine.
func (c *machineFlags) model() (sim.Model, error) {
	switch c.Model {
	case "linear":
		return sim.Linear{T0: sim.Time(c.T0), PerByte: sim.PerByte(c.TD), Sync: c.Sync}, nil
	case "network":
		return sim.Network{O: sim.Time(c.O), Net: c.net}, nil
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

// rootDelay sets what the root waits for.
func (c *simCmd) rootDelay(config *sim.Config, p *point) error {
	if c.RootDelay == "barrier" {
		spec, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: p.header.Ranks, Degree: 2})
		config.Before = spec
		return err
	}
	var err error
	if config.Delay, err = c.rootWait(); err == nil && config.Delay.Adaptive {
		err = otherwise(config, p.programs)
	}
	return err
}

// otherwise adds the schedule that an adaptive root chooses if many ranks lose its multicasts.
func otherwise(config *sim.Config, programs sim.Programs) error {
	spec, ok := programs.(*schedule.Spec)
	if !ok {
		return nil
	}
	alg, params := spec.Algorithm(), spec.Params()
	name, lost := alg.Otherwise()
	if name == "" || params.Chunks != 1 {
		return nil
	}
	other, err := schedule.New(name, params)
	config.Otherwise, config.Lost = other, lost
	return err
}

// rootWait returns the delay of the root for all policies but barrier, which is not a delay but a
// schedule that runs before.
func (c *simCmd) rootWait() (sim.Delay, error) {
	switch c.RootDelay {
	case "none", "barrier":
		return sim.Delay{}, nil
	case "peer":
		return sim.Delay{Peer: true}, nil
	case "adaptive":
		return sim.Delay{Adaptive: true}, nil
	}
	var d duration
	if err := d.UnmarshalText([]byte(c.RootDelay)); err != nil {
		return sim.Delay{}, fmt.Errorf("--root-delay=%s: must be none, peer, adaptive, barrier or a time, such as 20us", c.RootDelay)
	}
	return sim.Delay{Fixed: sim.Time(d)}, nil
}

// duration is a flag's value for a time of a model. It is not negative.
type duration sim.Time

// UnmarshalText reads "2.5us".
func (d *duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	if err != nil || t < 0 {
		return fmt.Errorf("%q is not a time: it must be a number and a unit, such as 2.5us (ns, us, ms, s)", text)
	}
	*d = duration(t.Nanoseconds())
	return nil
}

// perByte is a flag's value for the time of a byte.
type perByte sim.PerByte

// UnmarshalText reads "6ns" or "0.08ns". It rounds to picoseconds.
func (p *perByte) UnmarshalText(text []byte) error {
	number, isNano := strings.CutSuffix(string(text), "ns")
	ns, err := strconv.ParseFloat(number, 64)
	if err != nil || !isNano || !(ns >= 0) || ns > 1e9 {
		return fmt.Errorf("%q is not a time of a byte: it must be in nanoseconds, such as 6ns or 0.08ns", text)
	}
	*p = perByte(math.Round(ns * 1000))
	return nil
}

// bitRate is a flag's value for a rate in bits a second.
type bitRate int64

// UnmarshalText reads "100Mbit", "1.5Gbit" or "1000bit".
func (r *bitRate) UnmarshalText(text []byte) error {
	rate, err := network.ParseRate(string(text))
	*r = bitRate(rate)
	return err
}

// perByte returns the time of a byte, or 0 for a rate that was not given.
func (r bitRate) perByte() sim.PerByte {
	if r == 0 {
		return 0
	}
	return sim.PerByte(math.Ceil(8e12 / float64(r)))
}

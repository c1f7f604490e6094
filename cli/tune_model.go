package cli

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// multicastFlags describe the multicasts of the modelled network.
type multicastFlags struct {
	Multicast bool      `help:"Make the modelled rules for a network with multicast."`
	Loss      *float64  `placeholder:"X" help:"With --multicast: probability that a rank misses a multicast, from 0 to 1; default 0."`
	FanoutLag *duration `placeholder:"TIME" help:"With --multicast: additional time of a multicast compared with a put; default 0."`
	Repair    *duration `placeholder:"TIME" help:"With --multicast: base timeout of repairs; default 20ms."`
}

// check returns an error for flags that do not fit.
func (f *multicastFlags) check() error {
	for _, of := range []struct {
		name  string
		given bool
	}{{"loss", f.Loss != nil}, {"fanout-lag", f.FanoutLag != nil}, {"repair", f.Repair != nil}} {
		if of.given && !f.Multicast {
			return fmt.Errorf("--%s: needs --multicast", of.name)
		}
	}
	if f.Loss != nil && !(*f.Loss >= 0 && *f.Loss <= 1) {
		return fmt.Errorf("--loss=%v: must be in 0..1", *f.Loss)
	}
	return nil
}

// on returns a model with the multicasts of the flags.
func (f *multicastFlags) on(m sim.Model) sim.Model {
	if !f.Multicast || m == nil {
		return m
	}
	lossy := selection.Lossy{Model: m, Repair: 20_000_000}
	if f.Loss != nil {
		lossy.Loss = *f.Loss
	}
	if f.FanoutLag != nil {
		lossy.Fanout = sim.Time(*f.FanoutLag)
	}
	if f.Repair != nil {
		lossy.Repair = sim.Time(*f.Repair)
	}
	return lossy
}

// modelFlags are the flags that give a model in place of a measurement.
type modelFlags struct {
	FromModel bool      `help:"Measure nothing; make rules for the machine that the next five flags describe."`
	L         *duration `name:"L" placeholder:"TIME" help:"With --from-model: latency of the network; default 2.5us."`
	O         *duration `name:"o" placeholder:"TIME" help:"With --from-model: CPU time of a send, and of a receive; default 1.5us."`
	Gap       *duration `name:"g" placeholder:"TIME" help:"With --from-model: gap between messages at an interface; default 1us."`
	GByte     *perByte  `name:"G" placeholder:"TIME" help:"With --from-model: gap for each byte after the first; default 6ns."`
	OByte     *perByte  `name:"O" placeholder:"TIME" help:"With --from-model: CPU time for each byte after the first; default 0ns."`
}

// model returns the model that the flags give.
func (f *modelFlags) model() sim.LogGP {
	m := sim.DefaultLogGP()
	for _, of := range []struct {
		flag *duration
		to   *sim.Time
	}{{f.L, &m.L}, {f.O, &m.O}, {f.Gap, &m.Gap}} {
		if of.flag != nil {
			*of.to = sim.Time(*of.flag)
		}
	}
	if f.GByte != nil {
		m.GPerByte = sim.PerByte(*f.GByte)
	}
	if f.OByte != nil {
		m.OPerByte = sim.PerByte(*f.OByte)
	}
	return m
}

// dropIdle removes the flags that have no effect with --from-model.
func (c *tuneCmd) dropIdle(std terminal.Stdio) {
	if !c.FromModel {
		return
	}
	for _, of := range []struct {
		name  string
		given bool
	}{
		{"transport", c.Transport != ""}, {"ipv6", c.IPv6}, {"interface", c.Interface != ""}, {"device", c.Device != ""},
		{"netns", c.Netns}, {"key-file", c.KeyFile != ""}, {"encrypt", c.Encrypt},
	} {
		if of.given {
			std.Idle(of.name, "--from-model measures nothing")
		}
	}
	c.tuneLink, c.Netns = tuneLink{}, false
}

// checkModel checks that the flags go together. timed and drawn tell whether other flags ask for
// timed candidates and for a plot.
func (f *modelFlags) checkModel(timed, drawn bool) error {
	if !f.FromModel {
		for _, of := range []struct {
			name  string
			given bool
		}{{"L", f.L != nil}, {"o", f.O != nil}, {"g", f.Gap != nil}, {"G", f.GByte != nil}, {"O", f.OByte != nil}} {
			if of.given {
				return fmt.Errorf("--%s: needs --from-model", of.name)
			}
		}
		return nil
	}
	switch {
	case timed:
		return errors.New("--ranks: --from-model measures nothing")
	case drawn:
		return errors.New("--plot: --from-model measures nothing")
	}
	return nil
}

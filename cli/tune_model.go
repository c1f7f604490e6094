package cli

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/sim"
)

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

//go:build linux

// Package cast is the verb cast of schedlab.
package cast

import (
	"context"
	"errors"
	"fmt"

	machine "github.com/schedgen/schedgen/internal/lab/internal/host"
	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/netns"
)

// Verb measures how long it takes to send a file to many hosts.
type Verb struct {
	Size  []units.Bytes    `placeholder:"SIZE" help:"Sizes of the file; default 64MiB,1GiB."`
	Hosts []int            `placeholder:"N" help:"Numbers of hosts that receive, 2 to 249; default 5,15,40."`
	Rate  []units.Bits     `placeholder:"RATE" help:"Rates of the links; default 100mbit,1gbit,unlimited."`
	Loss  []units.PerMille `placeholder:"SHARE" help:"Shares of the frames to each host that are lost; default 0,1%,5%."`
	Fault []string         `placeholder:"FAULT" help:"Faults of one host, measured without loss: none, slow, dies or cut; default all."`
	Tool  []string         `placeholder:"NAME" help:"Tools: schedgen, schedgen-tcp, schedgen-mcast, udpcast, udpcast-fec, uftp or scp; default all."`

	options.RoundsFlag `embed:"" set:"rounds=0"`
	options.Measuring  `embed:"" set:"limit=0"`
	options.AgainFlag
	options.Files `embed:"" set:"name=cast"`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Measures how long it takes to send a file to many hosts. It runs schedcast, udpcast, uftp and scp
in turn on the same simulated hosts, which are network namespaces with links of chosen rates and losses.

It needs root, ip, tc, nft for losses, and the tools. An error names the Debian packages of missing
programs. Each measurement is a process with its own namespaces for processes, mounts and network;
everything that it has started ends with it. After each measurement a line is appended to NAME.csv,
and NAME.md and NAME.svg are written again from that file. A measurement that is in NAME.csv is not
made again, so an interrupted run can be continued.

With --rounds 0, the default, there are 3 rounds, and 1 above 64 MiB. A measurement that takes longer
than --limit is ended and reported as such. With --limit 0, the default, that is six times the time of
the wire, and half a minute. The report lists measurements that fail. All cells take many hours.

Examples:

  schedlab cast --rate 100mbit --hosts 5 --size 64MiB
  schedlab cast --tool schedgen,uftp --loss 0,1% --again`
}

const mib = 1 << 20

// check sets defaults, and returns an error for values that make no sense.
func (v *Verb) check() error {
	v.Size = options.Or(v.Size, 64*mib, 1024*mib)
	v.Hosts = options.Or(v.Hosts, 5, 15, 40)
	v.Rate = options.Or(v.Rate, 100e6, 1e9, 0)
	v.Loss = options.Or(v.Loss, 0, 10, 50)
	v.Fault = options.Or(v.Fault, faults...)
	v.Tool = options.Or(v.Tool, toolNames()...)
	if err := errors.Join(options.Within("hosts", v.Hosts, 2, netns.MaxHosts-1), options.Among("fault", v.Fault, faults),
		options.Among("tool", v.Tool, toolNames()), v.CheckRounds(0), v.Measuring.Check(true), v.Kept(), v.Named("cast")); err != nil {
		return err
	}
	if len(v.trials()) == 0 {
		return errors.New("nothing to measure: faults are measured without loss, and none is slow where links have no limit")
	}
	return nil
}

// Run measures and writes the results.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.check(); err != nil {
		return err
	}
	if err := v.missing(); err != nil {
		return err
	}
	r, err := v.openReport()
	if err != nil {
		return err
	}
	programs, err := program.Build(ctx, std.Err, program.Cast)
	if err != nil {
		return err
	}
	defer programs.Remove()
	b := &built{programs, map[int]*payload{}}
	about, all := append(machine.About(ctx), r.aboutKept()...), v.trials()
	for i, t := range all {
		if r.known(t) {
			continue
		}
		others := v.Wait(ctx)
		row, err := b.measure(ctx, v, t)
		if err != nil {
			return err
		}
		row.Others = others
		fmt.Fprintf(std.Err, "%d of %d: %v: %v\n", i+1, len(all), t, &row.outcome)
		if err := errors.Join(r.append(row), r.writeFiles(about, v)); err != nil {
			return err
		}
	}
	return r.writeFiles(about, v)
}

// cells returns the chosen cells in the order in which they are measured: short ones come first.
func (v *Verb) cells() (all []cell) {
	for _, bytes := range units.Numbers[int](v.Size) {
		for _, fault := range v.Fault {
			for _, rate := range units.Numbers[int64](v.Rate) {
				for _, loss := range units.Numbers[int](v.Loss) {
					for _, hosts := range v.Hosts {
						if c := (cell{bytes, hosts, rate, loss, fault}); c.possible() {
							all = append(all, c)
						}
					}
				}
			}
		}
	}
	return all
}

// trials returns all measurements. Within a cell tools take turns, so that other load on the
// machine affects all of them.
func (v *Verb) trials() (all []trial) {
	for _, c := range v.cells() {
		for round := range v.roundsOf(c) {
			for _, name := range v.Tool {
				all = append(all, trial{c, name, round + 1})
			}
		}
	}
	return all
}

func (v *Verb) roundsOf(c cell) int {
	switch {
	case v.Rounds > 0:
		return v.Rounds
	case c.Bytes > 64*mib:
		return 1
	}
	return 3
}

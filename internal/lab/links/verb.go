//go:build linux

package links

import (
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/test/netns"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/synth"
)

// Verb measures collective operations on simulated links.
type Verb struct {
	Quick      bool             `help:"3 and 5 hosts, 100mbit, losses of 0 and 1 %, 512 KiB and 4 MiB by bcast/mcast-acktree, 3 iterations; writes links-quick."`
	Hosts      []int            `placeholder:"N" help:"Numbers of hosts, 2 to 250; default 3,5,15."`
	Rate       []units.Bits     `placeholder:"RATE" help:"Rates of the links; default 100mbit,1gbit,unlimited."`
	Loss       []units.PerMille `placeholder:"SHARE" help:"Shares of the frames to each host that are lost; default 0,1%,5%."`
	Size       []units.Bytes    `placeholder:"SIZE" help:"Sizes of a block; default 512KiB,4MiB,16MiB,64MiB,1GiB by bcast/mcast-acktree, 512KiB,16MiB by other broadcasts, 64KiB,1MiB by other collectives."`
	Algorithm  []string         `placeholder:"NAME" complete:"algorithm" help:"Algorithms of any collective that moves blocks; default four broadcasts. With --network also files with schedules, choice for the library's choice, and synth with flags of schedgen synth."`
	Iterations int              `placeholder:"N" help:"Operations of each cell; default 11, 5, 3 or 1, depending on the load of the busiest link, or 1 with --network."`
	Only       string           `enum:",measure,predict" placeholder:"PART" default:"" help:"Only measure, or only predict."`

	Network            []string `placeholder:"FILE" complete:"file" help:"Files with networks, on which schedules are compared."`
	Collective         []string `placeholder:"NAME" help:"With --network: collectives; default allgather,bcast,allreduce."`
	options.RoundsFlag `embed:"" set:"rounds=3"`

	options.Measuring `embed:"" set:"limit=10m"`
	options.AgainFlag
	options.Files `embed:"" set:"name=links or links-quick"`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Measures collective operations on simulated hosts (schedlab netns) with links of chosen rates and
losses. The simulator predicts each operation from the same hosts, links and message. --size is the
length of one block; a broadcast has one block, its message. The report compares every cell with the
least time that the busiest end of a link needs with any algorithm.

It needs the programs that schedlab netns needs. It writes NAME.csv and NAME.md after every cell. It
does not repeat cells that are in NAME.csv, so an interrupted run can be continued. A cell that takes
longer than --limit is ended and reported as such. The report lists cells that fail. The whole matrix
takes hours.

With --network it compares schedules on given networks, in --rounds rounds, and prints tables to
standard output. Schedules of schedgen synth stand beside algorithms, files, and the choice of the
library. Ranks are connected by tcp.

Examples:

  schedlab links --quick
  schedlab links --rate 100mbit --loss 0,5% --size 16MiB \
    --algorithm bcast/chain
  schedlab links --only predict --again
  schedlab links --network three-sites.net --collective bcast --rounds 5`
}

// algorithms are the broadcasts of the matrix. The first is measured with all sizes.
var algorithms = []string{"bcast/mcast-acktree", "bcast/mcast-chain", "bcast/chain", "bcast/symmetric"}

const (
	mib         = 1 << 20
	onlyMeasure = "measure"
	onlyPredict = "predict"
)

// check sets defaults, and returns an error for values that make no sense.
func (v *Verb) check() error {
	if err := v.fits(); err != nil {
		return err
	}
	name := "links"
	if v.Quick {
		name = "links-quick"
		v.Hosts = options.Or(v.Hosts, 3, 5)
		v.Rate = options.Or(v.Rate, 100e6)
		v.Loss = options.Or(v.Loss, 0, 10)
		v.Size = options.Or(v.Size, mib/2, 4*mib)
		v.Algorithm = options.Or(v.Algorithm, algorithms[0])
		if v.Iterations == 0 {
			v.Iterations = 3
		}
	}
	v.Hosts = options.Or(v.Hosts, 3, 5, 15)
	v.Rate = options.Or(v.Rate, 100e6, 1e9, 0)
	v.Loss = options.Or(v.Loss, 0, 10, 50)
	v.Collective = options.Or(v.Collective, collectives...)
	if v.Iterations < 0 || v.Iterations > 1000 {
		return fmt.Errorf("--iterations=%d: must be in 0..1000", v.Iterations)
	}
	return errors.Join(options.Within("hosts", v.Hosts, 2, netns.MaxHosts), v.CheckRounds(1), v.Measuring.Check(false), v.Kept(), v.Named(name))
}

// fits checks that the given flags belong to hosts behind a bridge, or to networks.
func (v *Verb) fits() error {
	if len(v.Network) == 0 {
		if v.Collective != nil {
			return errors.New("--collective: needs --network")
		}
		for _, name := range v.Algorithm {
			if _, err := parseAlgorithm(name); err != nil {
				return fmt.Errorf("--algorithm: %w", err)
			}
		}
		return nil
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{{"quick", v.Quick}, {"hosts", v.Hosts != nil}, {"rate", v.Rate != nil}, {"loss", v.Loss != nil}, {"again", v.Again}, {"only", v.Only != ""}} {
		if flag.given {
			return fmt.Errorf("--%s: not with --network", flag.name)
		}
	}
	for _, name := range v.Algorithm {
		if err := parseContender(name); err != nil {
			return fmt.Errorf("--algorithm: %w", err)
		}
	}
	known := synth.Collectives()
	for _, name := range v.Collective {
		if !slices.Contains(known, synth.Collective(name)) {
			return fmt.Errorf("--collective=%s: must be one of %v", name, known)
		}
	}
	return nil
}

func parseAlgorithm(name string) (string, error) {
	for _, a := range schedule.Algorithms() {
		row, _ := ir.CollectiveNamed(a.Collective)
		if a.Name == name && row.Blocks != nil && !row.Published {
			return name, nil
		}
	}
	return "", fmt.Errorf("no algorithm that moves blocks is called %q", name)
}

// cells returns the chosen part of the matrix in the order in which it is measured. Slow links come
// first, because two cores do not limit them.
func (v *Verb) cells() (all []cell) {
	for _, rate := range units.Numbers[int64](v.Rate) {
		for _, algorithm := range options.Or(v.Algorithm, algorithms...) {
			for _, bytes := range v.sizesOf(algorithm) {
				for _, loss := range units.Numbers[int](v.Loss) {
					for _, hosts := range v.Hosts {
						all = append(all, cell{algorithm, rate, loss, bytes, hosts})
					}
				}
			}
		}
	}
	return all
}

func (v *Verb) sizesOf(algorithm string) []int {
	row, _ := ir.CollectiveNamed(cell{algorithm: algorithm}.collective())
	switch {
	case len(v.Size) > 0:
		return units.Numbers[int](v.Size)
	case algorithm == algorithms[0]:
		return []int{mib / 2, 4 * mib, 16 * mib, 64 * mib, 1 << 30}
	case row.Blocks(2) > 1 || row.Inputs != nil:
		return []int{64 << 10, mib}
	}
	return []int{mib / 2, 16 * mib}
}

// iterationsOf returns the number of operations of a cell, without the one that warms up.
func (v *Verb) iterationsOf(c cell) int {
	bytes := int(float64(c.bytes) * c.busiest())
	switch {
	case v.Iterations > 0:
		return v.Iterations
	case bytes <= mib:
		return 11
	case bytes >= 1<<30:
		return 1
	case bytes >= 64*mib:
		return 3
	}
	return 5
}

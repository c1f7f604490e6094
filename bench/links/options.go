//go:build linux

package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
	"github.com/schedgen/schedgen/bench/internal/units"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// options are the values of the flags.
type options struct {
	hosts      []int
	rates      []int64
	losses     []int
	sizes      []int // empty: the sizes of the matrix
	algorithms []string
	iterations int
	limit      time.Duration // longest time of a measurement or a prediction
	prefix     []string
	quiet      float64
	patience   time.Duration
	again      bool
	only       string
	output     string
	name       string

	networks    []string // files; empty: hosts behind a bridge
	collectives []string
	rounds      int
	chosen      bool // --algorithm was given
}

// algorithms are the broadcasts of the matrix. The first is measured with all sizes.
var algorithms = []string{"bcast/mcast-acktree", "bcast/mcast-chain", "bcast/chain", "bcast/symmetric"}

const (
	mib         = 1 << 20
	onlyMeasure = "measure"
	onlyPredict = "predict"
)

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{
		hosts: []int{3, 5, 15}, rates: []int64{100e6, 1e9, 0}, losses: []int{0, 10, 50}, algorithms: algorithms,
		collectives: collectives,
	}
	f := flag.NewFlagSet("links", flag.ContinueOnError)
	f.SetOutput(stderr)
	quick := f.Bool("quick", false, "3 and 5 hosts, 100mbit, losses of 0 and 1 %, 512 KiB and 4 MiB by "+algorithms[0]+", 3 iterations; writes links-quick")
	f.Func("hosts", "numbers of hosts, 2 to 250 (default 3,5,15)", tool.List(&o.hosts, tool.Number(2, 250)))
	f.Func("rate", "rates of the links (default 100mbit,1gbit,"+units.Unlimited+")", tool.List(&o.rates, units.ParseRate))
	f.Func("loss", "lost frames per thousand (default 0,10,50)", tool.List(&o.losses, tool.Number(0, 999)))
	f.Func("size", "sizes of a block, such as 512KiB or 1GiB (default 512KiB,4MiB,16MiB,64MiB,1GiB by "+algorithms[0]+", 512KiB,16MiB by other broadcasts, 64KiB,1MiB by other collectives)", tool.List(&o.sizes, units.ParseSize))
	f.Func("algorithm", "algorithms of any collective that moves blocks (default "+strings.Join(algorithms, ",")+"); with --network also files with schedules, "+byChoice+" for the library's choice, and "+bySynth+" with flags of schedgen synth", tool.List(&o.algorithms, func(name string) (string, error) { return name, nil }))
	f.IntVar(&o.iterations, "iterations", 0, "operations of each cell; 0: 11, 5, 3 or 1, depending on the load of the busiest link, or 1 with --network")
	f.Func("network", "`files` with networks, on which schedules are compared", tool.List(&o.networks, func(name string) (string, error) { return name, nil }))
	f.Func("collective", "with --network: collectives (default "+strings.Join(collectives, ",")+")", tool.List(&o.collectives, parseCollective))
	f.IntVar(&o.rounds, "rounds", 3, "with --network: rounds, in each of which all schedules run one after the other")
	f.DurationVar(&o.limit, "limit", 10*time.Minute, "longest time of a measurement or a prediction")
	prefix := f.String("prefix", "", "`words` before the command that measures, as \"nice -n -10\"")
	f.Float64Var(&o.quiet, "quiet", 1, "wait before each measurement until other work uses at most this `share` of the cores")
	f.DurationVar(&o.patience, "patience", time.Minute, "longest time to wait for --quiet")
	f.BoolVar(&o.again, "again", false, "repeat cells that are already in the results")
	f.StringVar(&o.only, "only", "", "only "+onlyMeasure+" or only "+onlyPredict)
	f.StringVar(&o.output, "output", "bench/results", "`directory` for the results")
	f.StringVar(&o.name, "name", "", "name of the files in the directory; default links or links-quick")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	f.Visit(func(g *flag.Flag) { given[g.Name] = true })
	o.chosen = given["algorithm"]
	if err := o.fits(given); err != nil {
		return nil, err
	}
	if *quick {
		o.narrow(given)
	}
	o.prefix = strings.Fields(*prefix)
	if o.name == "" {
		o.name = "links"
	}
	return o, o.check(f.Args())
}

// fits checks that the given flags belong to hosts behind a bridge, or to networks.
func (o *options) fits(given map[string]bool) error {
	if len(o.networks) == 0 {
		for _, name := range []string{"collective", "rounds"} {
			if given[name] {
				return fmt.Errorf("--%s: needs --network", name)
			}
		}
		for _, name := range o.algorithms {
			if _, err := parseAlgorithm(name); err != nil {
				return fmt.Errorf("--algorithm: %w", err)
			}
		}
		return nil
	}
	for _, name := range []string{"quick", "hosts", "rate", "loss", "again", "only", "output", "name"} {
		if given[name] {
			return fmt.Errorf("--%s: not with --network", name)
		}
	}
	if o.rounds < 1 || o.rounds > 1000 {
		return fmt.Errorf("--rounds=%d: must be in 1..1000", o.rounds)
	}
	if !o.chosen {
		return nil
	}
	for _, name := range o.algorithms {
		if err := parseContender(name); err != nil {
			return fmt.Errorf("--algorithm: %w", err)
		}
	}
	return nil
}

// narrow sets the values of --quick, except for flags that were given.
func (o *options) narrow(given map[string]bool) {
	set := func(name string, narrow func()) {
		if !given[name] {
			narrow()
		}
	}
	set("hosts", func() { o.hosts = []int{3, 5} })
	set("rate", func() { o.rates = []int64{100e6} })
	set("loss", func() { o.losses = []int{0, 10} })
	set("size", func() { o.sizes = []int{mib / 2, 4 * mib} })
	set("algorithm", func() { o.algorithms = algorithms[:1] })
	set("iterations", func() { o.iterations = 3 })
	set("name", func() { o.name = "links-quick" })
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: only flags are taken", rest[0])
	case o.iterations < 0 || o.iterations > 1000:
		return fmt.Errorf("--iterations=%d: must be in 0..1000", o.iterations)
	case o.limit < time.Second || o.patience < 0:
		return fmt.Errorf("--limit=%v, --patience=%v: must be a second at least, and not negative", o.limit, o.patience)
	case !(o.quiet >= 0 && o.quiet <= 1):
		return fmt.Errorf("--quiet=%v: must be a share, 0 to 1", o.quiet)
	case o.only != "" && o.only != onlyMeasure && o.only != onlyPredict:
		return fmt.Errorf("--only=%s: must be %s or %s", o.only, onlyMeasure, onlyPredict)
	case o.name != filepath.Base(o.name):
		return fmt.Errorf("--name=%s: must be a file's name", o.name)
	}
	return nil
}

// file returns the name of a file of the results.
func (o *options) file(extension string) string { return filepath.Join(o.output, o.name+extension) }

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
func (o *options) cells() (all []cell) {
	for _, rate := range o.rates {
		for _, algorithm := range o.algorithms {
			for _, bytes := range o.sizesOf(algorithm) {
				for _, loss := range o.losses {
					for _, hosts := range o.hosts {
						all = append(all, cell{algorithm, rate, loss, bytes, hosts})
					}
				}
			}
		}
	}
	return all
}

func (o *options) sizesOf(algorithm string) []int {
	row, _ := ir.CollectiveNamed(cell{algorithm: algorithm}.collective())
	switch {
	case len(o.sizes) > 0:
		return slices.Clone(o.sizes)
	case algorithm == algorithms[0]:
		return []int{mib / 2, 4 * mib, 16 * mib, 64 * mib, 1 << 30}
	case row.Blocks(2) > 1 || row.Inputs != nil:
		return []int{64 << 10, mib}
	}
	return []int{mib / 2, 16 * mib}
}

// iterationsOf returns the number of operations of a cell, without the one that warms up.
func (o *options) iterationsOf(c cell) int {
	bytes := int(float64(c.bytes) * c.busiest())
	switch {
	case o.iterations > 0:
		return o.iterations
	case bytes <= mib:
		return 11
	case bytes >= 1<<30:
		return 1
	case bytes >= 64*mib:
		return 3
	}
	return 5
}

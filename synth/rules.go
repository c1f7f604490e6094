package synth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/internal/model/grid"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

func init() { selection.ForNetwork = Rules }

// Gain is how many times faster than the other choice a schedule for the network must be in the
// simulation to get a rule.
const Gain = 1.2

// Overhead is the time that a CPU takes for each send and each receive in the simulation: that of a
// short message over TCP.
const Overhead sim.Time = 5000

// sizes are the bytes of a block for which schedules are simulated. Rules hold around them.
var sizes = []int{1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20}

// pieces and windows are tried with each other.
var (
	pieces  = []int{1, 4, 16, 64}
	windows = []int{0, 4}
)

// maxPuts bounds the chunks that a schedule of a rule puts: such a schedule is made, proved and
// simulated in less than a second.
const maxPuts = 1 << 17

// Rules returns rules for communicators whose rank r is on node r of n. Where no schedule for the
// network is at least [Gain] times faster, the rules of base decide, or the built-in ones if base is
// nil. All processes of a job must call Rules with the same network and base. The first call for a
// network may take some seconds. Later ones return what it has made.
func Rules(ctx context.Context, n *network.Network, base *selection.Rules) (*selection.Rules, error) {
	if base == nil {
		base = selection.Builtin()
	}
	known.Lock()
	defer known.Unlock()
	of, err := preparedFor(ctx, n)
	if err != nil {
		return nil, err
	}
	if r := of.rules[base.Digest()]; r != nil {
		return r, nil
	}
	r, err := of.prefer(ctx, base)
	if err != nil {
		return nil, err
	}
	of.rules[base.Digest()] = r
	return r, nil
}

// Register registers the schedules for a network under the names that rules of [Rules] have. It is for
// a process that runs what another one has chosen.
func Register(ctx context.Context, n *network.Network) error {
	known.Lock()
	defer known.Unlock()
	_, err := preparedFor(ctx, n)
	return err
}

// preparedFor returns a network whose schedules are registered. The caller holds the lock of known.
func preparedFor(ctx context.Context, n *network.Network) (*prepared, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := n.Write(&text); err != nil {
		return nil, err
	}
	of := known.by[text.String()]
	if of != nil {
		return of, nil
	}
	h := fnv.New32a()
	h.Write(text.Bytes())
	of = &prepared{n: n, digest: h.Sum32(), rules: make(map[uint64]*selection.Rules)}
	if err := of.register(ctx); err != nil {
		return nil, err
	}
	known.by[text.String()] = of
	return of, nil
}

// known is what calls of Rules have made, by the text of the network.
var known = struct {
	sync.Mutex
	by map[string]*prepared
}{by: make(map[string]*prepared)}

// prepared is a network whose schedules are registered.
type prepared struct {
	n      *network.Network
	digest uint32
	flows  []registered
	rules  map[uint64]*selection.Rules // by the digest of the other rules
}

// registered is an algorithm that is registered.
type registered struct {
	name   string
	of     Options
	chunks int // of a block in one piece
}

// register plans trees of all kinds and registers their schedules.
func (p *prepared) register(ctx context.Context) error {
	spreads := []bool{false, true}
	if len(p.n.Ranks) > 64 {
		spreads = spreads[:1]
	}
	for _, c := range Collectives() {
		for _, spread := range spreads {
			for _, window := range windows {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				if window > 0 && !c.Windows() {
					continue // nothing comes to roots that a window could wait for
				}
				f, err := p.add(Options{Collective: c, Spread: spread, Window: window})
				if err != nil {
					return err
				}
				p.flows = append(p.flows, f)
			}
		}
	}
	return nil
}

// add registers the schedules of trees.
func (p *prepared) add(o Options) (registered, error) {
	var mu sync.Mutex
	planned := make(map[int]*Planned) // by root
	plan := func(root int) (*Planned, error) {
		mu.Lock()
		defer mu.Unlock()
		if p := planned[root]; p != nil {
			return p, nil
		}
		of := o
		of.Root = root
		made, err := Plan(p.n, of)
		if err == nil {
			planned[root] = made
		}
		return made, err
	}
	first, err := plan(0)
	if err != nil {
		return registered{}, err
	}
	f := registered{name: fmt.Sprintf("%s/net-%08x", o.Collective, p.digest), of: o, chunks: int(first.K)}
	if o.Collective.Row().Alike {
		f.chunks *= first.Roots
	}
	params := []string{"chunks"}
	if o.Collective.Row().Rooted {
		params = append(params, "root")
	}
	if o.Spread {
		f.name += "-spread"
	}
	if o.Window > 0 {
		f.name += fmt.Sprintf("-window%d", o.Window)
	}
	title := p.n.Name
	if title == "" {
		title = "a network"
	}
	return f, schedule.Register(schedule.Definition{
		Name: f.name, Collective: string(o.Collective), Params: params,
		Summary: fmt.Sprintf("trees for %s: see schedgen synth", title), Messages: "F·K(P-1) puts of trees with K chunks a piece",
		Paper:    "ForestColl, arXiv 2402.06787",
		Unlisted: true, // it is for one network
		Chunks:   func(int) int { return 4 * f.chunks },
		Build: func(b *build.Builder) {
			if b.Ranks() != len(p.n.Ranks) {
				b.Refuse("%s has %d ranks", title, len(p.n.Ranks))
			}
			made, err := plan(b.Root())
			if err != nil {
				b.Refuse("%v", err)
			}
			made.Write(b)
		},
	})
}

// prefer returns rules that prefer registered schedules to base.
func (p *prepared) prefer(ctx context.Context, base *selection.Rules) (*selection.Rules, error) {
	var all []selection.Rule
	for _, c := range Collectives() {
		g := grid.Grid{Where: selection.Case{Collective: string(c), Place: selection.OneEach}, Ranks: []int{len(p.n.Ranks)}, Sizes: sizes}
		if len(p.n.Ranks) < 2 {
			break
		}
		rules, err := g.Rules(func(at selection.Case, _ []grid.Choice) (grid.Cell, error) {
			return p.cell(ctx, c, at, base)
		})
		if err != nil {
			return nil, err
		}
		for i := range rules {
			rules[i].Place = selection.Anywhere // the network says where ranks are
			if row := c.Row(); !row.Broadcasts() {
				rules[i].Multicast = selection.Either
			}
			if rules[i].Bytes.To > sizes[len(sizes)-1] {
				rules[i].Bytes.To = 0 // the longest messages gain as much as those before them
			}
		}
		all = append(all, rules...)
	}
	if len(all) == 0 {
		return base, nil
	}
	if base.Digest() == 0 {
		return grid.Table(all)
	}
	others := base.List()
	for _, row := range ir.Collectives() {
		has := func(r selection.Rule) bool { return r.Collective == row.Name }
		if slices.ContainsFunc(all, has) && !slices.ContainsFunc(others, has) {
			others = append(others, selection.Rule{Collective: row.Name, Algorithm: selection.BuiltIn})
		}
	}
	return selection.New(append(all, others...))
}

// cell returns the time of the choice of other rules in a case, and of the registered schedules that
// are much faster.
func (p *prepared) cell(ctx context.Context, c Collective, at selection.Case, base *selection.Rules) (grid.Cell, error) {
	cell := grid.Cell{How: grid.Modelled}
	d, ok := base.Of(at)
	if !ok {
		return grid.Cell{}, nil
	}
	params, err := d.Rule.Params.In(d.Rule.Algorithm, &at, 0)
	if err != nil {
		return cell, err
	}
	usual, err := p.time(d.Rule.Algorithm, params, at.Bytes)
	if err != nil || usual == sim.Never {
		return grid.Cell{}, err
	}
	add := func(choice grid.Choice, took sim.Time) {
		c := grid.Candidate{Choice: choice}
		c.Time.Value, c.Time.Low, c.Time.High = float64(took), float64(took), float64(took)
		cell.Candidates = append(cell.Candidates, c)
	}
	add(grid.Choice{Algorithm: d.Rule.Algorithm, Params: d.Rule.Params}, usual)
	choices := p.choices(c, at)
	took := make([]sim.Time, len(choices))
	errs := make([]error, len(choices))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(goruntime.GOMAXPROCS(0), len(choices)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(choices) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				took[i], errs[i] = p.time(choices[i].Algorithm, schedule.Params{Ranks: at.Ranks, Chunks: choices[i].Params.Chunks}, at.Bytes)
			}
		})
	}
	workers.Wait()
	if err := cmp.Or(context.Cause(ctx), errors.Join(errs...)); err != nil {
		return cell, err
	}
	for i, choice := range choices {
		if float64(took[i])*Gain <= float64(usual) {
			add(choice, took[i])
		}
	}
	return cell, nil
}

// choices returns the registered schedules that may be worthwhile in a case.
func (p *prepared) choices(c Collective, at selection.Case) (all []grid.Choice) {
	row := c.Row()
	for _, f := range p.flows {
		for _, n := range pieces {
			chunks := n * f.chunks
			puts := chunks * row.Blocks(at.Ranks) * (at.Ranks - 1)
			// A chunk of few bytes costs as much as one of many. A window holds back nothing if there are
			// no more pieces than it has.
			if f.of.Collective == c && puts <= maxPuts && (n == 1 || at.Bytes/chunks >= 1024) && n > f.of.Window {
				all = append(all, grid.Choice{Algorithm: f.name, Params: selection.Params{Chunks: chunks}})
			}
		}
	}
	return all
}

// time returns how long an algorithm takes on the network, or sim.Never if it does not exist.
func (p *prepared) time(algorithm string, params schedule.Params, bytes int) (sim.Time, error) {
	spec, err := schedule.New(algorithm, params)
	var refused *schedule.Refusal
	if errors.As(err, &refused) {
		return sim.Never, nil
	} else if err != nil {
		return 0, err
	}
	r, err := sim.Run(spec, sim.Config{Model: sim.Network{O: Overhead, Net: p.n}, Bytes: bytes, Fold: sim.DefaultFold})
	if err != nil {
		return 0, err
	}
	return r.Makespan, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim/loggp"
)

// explainCmd is the verb explain.
type explainCmd struct {
	Collective string     `arg:"" enum:"bcast,barrier,anycast" help:"bcast, barrier or anycast."`
	Ranks      *rankRange `short:"p" placeholder:"P" help:"Number of ranks."`
	Size       *byteSize  `placeholder:"N" help:"Bytes of a broadcast, default 1B; units B, kB, MB, GB, KiB, MiB, GiB."`
	Hosts      *int       `placeholder:"H" help:"Hosts that the ranks are on, in blocks, default unknown."`
	Transport  string     `placeholder:"NAME" complete:"transport" help:"What the ranks reach each other by, which says whether there is multicast and shared memory; default tcp."`
	Algorithm  string     `placeholder:"NAME" complete:"algorithm" help:"Say what this one costs, too, with its default parameters."`
	rulesFlag
	LogGP loggpParams  `name:"loggp" default:"2500,1500,1000,6" placeholder:"L,o,g,G" help:"Latency L, overhead o and gap g of the model in ns, gap G in ns a byte; default 2500,1500,1000,6."`
	Near  *loggpParams `placeholder:"L,o,g,G" help:"The same of messages between ranks of one host; then what can run between masters is compared flat, too."`
	JSON  bool         `name:"json" help:"Print one object."`
}

// Help is the long help text.
func (explainCmd) Help() string {
	return `Says which rule decides in a case, with its line and reason, which algorithm and parameters it
gives, and what that would cost in the LogGP model beside the others, each with the best parameters
that a search finds. The model knows no difference between memory and network, unless --near says
what messages take between ranks of one host. Where the rules
leave the chunks to the runtime, datagrams are taken to be as long as those of the loopback
interface.

Examples:

  schedgen explain bcast -p 40 --size 2KiB
  schedgen explain barrier -p 16 --hosts 4 --rules tuned.conf
  schedgen explain barrier -p 64 --hosts 8 --near 100,50,60,0`
}

// Run explains.
func (c *explainCmd) Run(ctx context.Context, std stdio) error {
	of, err := c.caseOf(std)
	if err != nil {
		return err
	}
	rules, notes, err := c.rules(std)
	if err != nil {
		return err
	}
	machine := loggp.Params(c.LogGP)
	machine.Near = (*loggp.Params)(c.Near)
	e, err := await(ctx, func() (*explanation, error) { return explain(of, rules, machine, c.Algorithm) })
	if err != nil {
		return err
	}
	e.notes = notes
	if c.JSON {
		return writeJSON(std.Out, e.object(), "")
	}
	return e.print(std.Out)
}

// rules returns the rules and what is to be said of them.
func (c *explainCmd) rules(std stdio) (*selection.Rules, []selection.Note, error) {
	name, from := c.rulesFile(std.Getenv)
	rules, notes, err := anyRules(name, std)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", from, err)
	}
	return rules, notes, nil
}

// caseOf returns the case that the flags describe.
func (c *explainCmd) caseOf(std stdio) (of selection.Case, err error) {
	of = selection.Case{Collective: c.Collective}
	if c.Ranks == nil {
		return of, errors.New("--ranks: needed, such as -p 8")
	}
	if of.Ranks, err = c.Ranks.one(); err != nil {
		return of, err
	}
	if of.Ranks > schedule.MaxRanks {
		return of, fmt.Errorf("--ranks=%d: must be in 1..%d", of.Ranks, schedule.MaxRanks)
	}
	switch {
	case c.Size != nil && c.Collective == schedule.Barrier:
		std.idle("size", noMessage)
	case c.Collective == schedule.Bcast && c.Size != nil:
		of.Bytes = int(*c.Size)
	case c.Collective == schedule.Bcast:
		of.Bytes = 1
	}
	if c.Transport == "" {
		c.Transport = overTCP
	}
	if err := oneOf("transport", c.Transport, withoutAuto(heads(transportHelp))); err != nil {
		return of, err
	}
	if of.Hosts, err = hostsOf(c.Hosts, c.Ranks); err != nil {
		return of, err
	}
	c.place(&of)
	return of, nil
}

func withoutAuto(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == overAuto })
}

// place says where the ranks are, and what their transport can do there.
func (c *explainCmd) place(of *selection.Case) {
	l := link{Transport: c.Transport}
	switch {
	case c.Transport == overShm || c.Transport == overMem || c.Hosts != nil && *c.Hosts == 1:
		of.Place, of.Hosts = selection.OneHost, 0
	case c.Hosts != nil && *c.Hosts == of.Ranks:
		of.Place = selection.OneEach
	}
	of.Memory = of.Place == selection.OneHost && (c.Transport == overShm || c.Transport == overHybrid)
	of.Multicast = l.multicasts() || of.Memory
	of.Rings = of.Memory && shm.RingsFaster()
}

// explanation is what is said of a case.
type explanation struct {
	of       selection.Case
	machine  loggp.Params
	decision selection.Decision
	chosen   selection.Candidate
	others   []selection.Candidate // the best of each algorithm, flat and between masters, by time
	extra    *selection.Candidate  // that a flag names
	notes    []selection.Note
}

func explain(of selection.Case, rules *selection.Rules, m loggp.Params, named string) (*explanation, error) {
	e := &explanation{of: of, machine: m}
	e.decision, _ = rules.Of(of) // every collective that the command knows has a rule
	r := e.decision.Rule
	var err error
	if e.chosen, err = e.cost(r.Algorithm, &r.Params); err != nil {
		return nil, err
	}
	if named != "" {
		extra, err := e.cost(named, &selection.Params{})
		if err != nil {
			return nil, fmt.Errorf("--algorithm: %w", flagError(err))
		}
		e.extra = &extra
	}
	e.others, err = selection.Compare(of, m.Model())
	return e, err
}

// cost returns what an algorithm with the parameters of a rule costs; it cuts a message as the
// runtime does.
func (e *explanation) cost(name string, r *selection.Params) (selection.Candidate, error) {
	alg, err := algorithm(name)
	if err != nil {
		return selection.Candidate{}, err
	}
	if alg.Collective != e.of.Collective {
		return selection.Candidate{}, fmt.Errorf("%s is no %s", name, e.of.Collective)
	}
	p, err := r.In(name, &e.of, memDatagram)
	if err != nil {
		return selection.Candidate{}, err
	}
	took, err := selection.Cost(name, p, e.of, e.machine.Model())
	if err != nil {
		return selection.Candidate{}, err
	}
	spec, err := schedule.New(name, p)
	if err != nil {
		return selection.Candidate{}, err
	}
	return selection.Candidate{Algorithm: name, Params: spec.Params(), Time: took}, nil
}

// ruleWords says which rule decides, and which has left the case to it.
func (e *explanation) ruleWords() string {
	d := &e.decision
	rule := *d.Rule
	rule.Reason = "" // it has a line of its own
	switch {
	case d.Own && rule.Line > 0:
		return fmt.Sprintf("line %d: %v", rule.Line, &rule)
	case d.From != nil:
		return fmt.Sprintf("line %d leaves it to the built-in rule %v", d.From.Line, &rule)
	}
	return fmt.Sprintf("built-in: %v", &rule)
}

// candidateWords spells the parameters that an algorithm has beside ranks and root.
func candidateWords(p *schedule.Params) string {
	var words []string
	for _, of := range []given{{"chunks", p.Chunks}, {"degree", p.Degree}, {"fan-in", p.FanIn}, {"fan-out", p.FanOut}, {"hosts", p.Hosts}} {
		if of.value > 0 {
			words = append(words, fmt.Sprintf("%s=%d", of.name, of.value))
		}
	}
	return strings.Join(words, " ")
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/transport/pace"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// explainCmd is the verb explain.
type explainCmd struct {
	Collective string        `arg:"" enum:"${explained}" help:"One of ${explained}."`
	Ranks      *source.Ranks `short:"p" placeholder:"P" help:"Number of ranks."`
	Size       *byteSize     `placeholder:"N" help:"Bytes of a broadcast, or of one block; default 1B; units B, kB, MB, GB, KiB, MiB, GiB."`
	Hosts      *int          `placeholder:"H" help:"Number of hosts that the ranks are on, in blocks; default 1, as with schedgen run; 0: unknown, as with schedgen rank."`
	Transport  string        `placeholder:"NAME" complete:"transport" help:"How ranks reach each other; default the transport that schedgen run takes on this machine."`
	Interface  string        `placeholder:"NAME" complete:"interface" help:"Network interface of the multicasts; default the loopback interface."`
	Loss       *float64      `placeholder:"X" help:"Lose multicasts with probability X, as schedgen run does. Broadcasts then multicast."`
	Algorithm  string        `placeholder:"NAME" complete:"algorithm" help:"Algorithm to run in place of the one that the rules choose."`
	rulesFlag
	LogGP *loggpParams `name:"loggp" placeholder:"L,o,g,G" help:"Parameters of the model: latency L, overhead o and gap g in ns, gap G in ns a byte; default 2500,1500,1000,6, and 4000,182,182,1 with --transport=verbs, as in the built-in rules."`
	Near  *loggpParams `placeholder:"L,o,g,G" help:"The same parameters between ranks of one host. Algorithms that can run between masters are then also compared flat."`
	JSON  bool         `name:"json" help:"Print one object."`
}

// Help is the long help text.
func (explainCmd) Help() string {
	return `Tells what schedgen run does with the same flags: the transport, the rule that decides, with its
line and reason, the algorithm and its parameters.

It also prints what each algorithm would cost in the LogGP model, with the best parameters that
a search finds. The model makes no difference between memory and network, unless --near gives the
parameters of messages between ranks of one host.

Without --transport it tries which transports work on this machine, as schedgen run does. A named
transport need not work here; its datagrams are then taken to be as long as those of the loopback
interface.

Examples:

  schedgen explain bcast -p 8 --size 16MiB
  schedgen explain bcast -p 40 --hosts 40 --transport tcp --size 2KiB
  schedgen explain barrier -p 16 --hosts 4 --rules tuned.conf
  schedgen explain barrier -p 64 --hosts 8 --near 100,50,60,0`
}

// explainable returns the collectives for which there are algorithms.
func explainable() (names []string) {
	for _, name := range runnable() {
		if len(candidates(name, true)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Run explains.
func (c *explainCmd) Run(ctx context.Context, std terminal.Stdio) error {
	at, from, err := c.situation(ctx, std)
	if err != nil {
		return err
	}
	rules, notes, err := c.rules(std)
	if err != nil {
		return err
	}
	machine := loggp.Of(selection.Network(at.of.RDMA))
	if c.LogGP != nil {
		machine = loggp.Params(*c.LogGP)
	}
	machine.Near = (*loggp.Params)(c.Near)
	e := &explanation{at: at, from: from, machine: machine, notes: notes}
	if at.of.Memory {
		if _, e.paceFrom, err = pace.Here(); err != nil {
			return err
		}
	}
	std.Does("comparing the algorithms of " + c.Collective)
	_, err = terminal.Await(ctx, func() (any, error) {
		if err := e.decide(rules, c.Algorithm); err != nil {
			return nil, err
		}
		if c.Loss != nil && !loses(rowOf(c.Collective), schedule.Multicasts(e.runs().Algorithm)) {
			return nil, errLoss()
		}
		return nil, e.compare()
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, e.object(), "")
	}
	return e.print(std.Out)
}

// rules returns the rules and the notes of their reader.
func (c *explainCmd) rules(std terminal.Stdio) (*selection.Rules, []selection.Note, error) {
	name, from := c.rulesFile(std.Getenv)
	rules, notes, err := anyRules(name, std)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", from, err)
	}
	return rules, notes, nil
}

// situation resolves the flags as run does. from tells what chose the transport.
func (c *explainCmd) situation(ctx context.Context, std terminal.Stdio) (at situation, from string, err error) {
	if c.Ranks == nil {
		return at, "", errNoRanks
	}
	p, err := c.Ranks.One()
	if err != nil {
		return at, "", err
	}
	if p > schedule.MaxRanks {
		return at, "", fmt.Errorf("--ranks=%d: must be in 1..%d", p, schedule.MaxRanks)
	}
	row, size := rowOf(c.Collective), int64(0)
	switch {
	case c.Size != nil && row.Blocks == nil:
		std.Idle("size", source.NoMessage(row.Name))
	case hasMessage(row) && c.Size != nil:
		size = int64(*c.Size)
	case hasMessage(row):
		size = 1
	}
	c.Algorithm = qualified(c.Collective, c.Algorithm)
	run := runFlags{Ranks: c.Ranks, Algorithm: c.Algorithm, Transport: c.Transport, Interface: c.Interface, Loss: c.Loss}
	hosts := c.Hosts
	if hosts != nil && *hosts == 0 {
		run.apart, hosts = true, nil
	}
	if err := run.fits(); err != nil {
		return at, "", err
	}
	if _, err := hostsOf(hosts, c.Ranks); err != nil {
		return at, "", err
	}
	at, err = run.situation(ctx, std, row, size, hosts)
	switch {
	case err == nil && run.chosen != "":
		return at, "as schedgen run chooses it here", nil
	case err == nil || c.Transport == "" || ctx.Err() != nil:
		return at, "by --transport", err
	}
	// The named transport does not work here: explain what run would do where it does.
	at.link = crew.Link{Transport: c.Transport, Interface: c.Interface}
	if at.datagram = 0; at.link.Multicasts() {
		at.datagram = crew.MemDatagram
	}
	at.of, err = run.caseOf(row, size, &at.link, hosts)
	return at, "by --transport; it does not work here", err
}

// explanation is the answer of explain for a situation.
type explanation struct {
	at       situation
	from     string // what chose the transport
	machine  loggp.Params
	decision selection.Decision
	unruled  bool                  // there are no rules for the collective
	chosen   selection.Candidate   // by the rules
	others   []selection.Candidate // the best of each algorithm, flat and between masters, by time
	named    *selection.Candidate  // by a flag, in place of chosen; nil without the flag
	notes    []selection.Note
	paceFrom pace.Origin // where the costs of memory come from
}

// decide sets the rule that decides, the candidate that it chooses and the one that the flag names.
func (e *explanation) decide(rules *selection.Rules, named string) (err error) {
	var ok bool
	if e.decision, ok = rules.Of(e.at.of); !ok {
		first, err := new(runFlags).firstOf(e.at.of.Collective)
		if err != nil {
			return err
		}
		e.unruled = true
		e.decision.Rule = &selection.Rule{
			Collective: e.at.of.Collective, Algorithm: first, Reason: "the first of its algorithms",
			Params: selection.Params{Masters: e.at.of.Hosts > 0}, // --hosts counts where no rule says otherwise
		}
	}
	r := e.decision.Rule
	if e.chosen, err = e.cost(r.Algorithm, &r.Params); err != nil {
		return err
	}
	if named != "" {
		c, err := e.cost(named, &selection.Params{Masters: e.at.of.Hosts > 0})
		if err != nil {
			return fmt.Errorf("--algorithm: %w", source.FlagError(err))
		}
		e.named = &c
	}
	if l := &e.at.link; l.Transport == overHybrid && !schedule.Multicasts(e.runs().Algorithm) {
		l.Interface = "" // run does not multicast then
	}
	return nil
}

// compare sets the cost of all candidates.
func (e *explanation) compare() (err error) {
	e.others, err = selection.Compare(e.at.of, e.machine.Model())
	return err
}

// runs returns the algorithm that run takes.
func (e *explanation) runs() *selection.Candidate {
	if e.named != nil {
		return e.named
	}
	return &e.chosen
}

// cost returns the candidate for an algorithm with the parameters of a rule, and its time in the
// model. It cuts a message into chunks as run does.
func (e *explanation) cost(name string, r *selection.Params) (selection.Candidate, error) {
	alg, err := source.Named(name)
	if err != nil {
		return selection.Candidate{}, err
	}
	if alg.Collective != e.at.of.Collective {
		return selection.Candidate{}, fmt.Errorf("%s is not a %s algorithm", name, e.at.of.Collective)
	}
	p, err := e.at.params(name, r)
	if err != nil {
		return selection.Candidate{}, err
	}
	took, err := selection.Cost(name, p, e.at.of, e.machine.Model())
	if err != nil {
		return selection.Candidate{}, err
	}
	spec, err := schedule.New(name, p)
	if err != nil {
		return selection.Candidate{}, err
	}
	return selection.Candidate{Algorithm: name, Params: spec.Params(), Time: took}, nil
}

// ruleWords tells the rule that decides, and the rule that left the case to it, if any.
func (e *explanation) ruleWords() string {
	d := &e.decision
	rule := *d.Rule
	rule.Reason = "" // it has a line of its own
	switch {
	case e.unruled:
		return "none for " + words.WithArticle(rule.Collective)
	case d.From != nil && d.From.Algorithm == selection.Modelled && d.From.Line > 0:
		return fmt.Sprintf("line %d leaves it to the model: %v", d.From.Line, &rule)
	case d.From != nil && d.From.Algorithm == selection.Modelled:
		return fmt.Sprintf("built-in, by the model: %v", &rule)
	case d.Own && rule.Line > 0:
		return fmt.Sprintf("line %d: %v", rule.Line, &rule)
	case d.From != nil:
		return fmt.Sprintf("line %d leaves it to the built-in rule %v", d.From.Line, &rule)
	}
	return fmt.Sprintf("built-in: %v", &rule)
}

// candidateWords spells the parameters of an algorithm, except ranks and root.
func candidateWords(p *schedule.Params) string {
	var words []string
	for _, of := range []struct {
		name  string
		value int
	}{{"chunks", p.Chunks}, {"degree", p.Degree}, {"fan-in", p.FanIn}, {"fan-out", p.FanOut}, {"hosts", p.Hosts}} {
		if of.value > 0 {
			words = append(words, fmt.Sprintf("%s=%d", of.name, of.value))
		}
	}
	return strings.Join(words, " ")
}

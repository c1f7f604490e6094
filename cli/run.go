package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// runCmd is the verb run, with a verb for each collective of the table.
type runCmd struct {
	kong.Plugins         // see runVerbs
	Rank         rankCmd `cmd:"" hidden:""`
}

// rankCmd is the hidden verb that the process of a rank runs.
type rankCmd struct{}

// Run does the work of a rank.
func (rankCmd) Run(ctx context.Context, std terminal.Stdio) error {
	if err := crew.Serve(ctx, std.In); err != nil {
		return fmt.Errorf("this verb is for schedgen's own use: %w", err)
	}
	return nil
}

// Help is the long help text.
func (runCmd) Help() string {
	return `Starts ranks on this machine and runs a collective operation among them. It first proves the
schedule, which is that of an algorithm or of a file in the form text or json.

Examples:

  schedgen run bcast -p 8 --size 16MiB
  schedgen run FILE --size 16MiB`
}

// runFlags are the flags of all runs.
type runFlags struct {
	Ranks     *source.Ranks `short:"p" placeholder:"P" help:"Number of ranks."`
	Algorithm string        `placeholder:"NAME" complete:"algorithm" help:"Algorithm, see schedgen list."`

	Transport   string        `placeholder:"NAME" complete:"transport" help:"How ranks reach each other, see above; default mcast if that works here, else tcp."`
	Loss        *float64      `expert:"" placeholder:"X" help:"Lose each multicast datagram at each receiver with probability X, from 0 to 1. Broadcasts then multicast, unless --algorithm says otherwise."`
	Seed        uint64        `expert:"" default:"1" help:"Seed of the losses and of made-up bytes."`
	IPv6        bool          `expert:"" name:"ipv6" help:"Use IPv6."`
	Interface   string        `placeholder:"NAME" complete:"interface" help:"Network interface of the multicasts; default the loopback interface."`
	Device      string        `expert:"" placeholder:"NAME" help:"RDMA device of --transport=verbs, NAME or NAME:PORT; default the first with an active port."`
	Netns       *int          `expert:"" placeholder:"H" help:"Simulate H hosts by network namespaces behind a bridge, and place the ranks on them in even blocks; default transport hybrid. Linux only; needs root, ip and nsenter."`
	Coordinator string        `placeholder:"HOST:PORT" help:"Address where the ranks meet; default a free port of the loopback address."`
	Timeout     time.Duration `default:"30m" help:"Abort after this time."`
	Silence     time.Duration `expert:"" default:"30s" help:"A rank is lost if another rank waits for it and it gives no sign of life for this time; 0: never."`
	rulesFlag
	preferFlag
	keyFlags
	JSON    bool `name:"json" help:"Print one object."`
	Verbose bool `short:"v" help:"Print the processes of the ranks to standard error; with schedgen rank, print when the rank joins, fails and leaves, and which ranks are lost."`

	chosen string           // the transport as text, unless a flag names it
	picked selection.Params // parameters of the rule that has chosen the algorithm
	ruled  bool             // a rule has chosen the algorithm
	apart  bool             // ranks are started one by one, so their hosts are not known yet
	delays bool             // the root waits before it multicasts
	file   *ir.Schedule     // schedule that runs in place of an algorithm, or nil
}

var errNoRanks = errors.New("--ranks: needed, such as -p 8")

// maxRunRanks is the largest number of ranks on this machine.
const maxRunRanks = 256

func (f *runFlags) ranks() (int, error) {
	if f.Ranks == nil {
		return 0, errNoRanks
	}
	p, err := f.Ranks.One()
	if err == nil && p > maxRunRanks {
		err = fmt.Errorf("--ranks=%d: at most %d run on one machine", p, maxRunRanks)
	}
	return p, err
}

// common returns the part of a job that does not depend on the rank or on the verb.
func (f *runFlags) common(task crew.Task, collective string) (crew.Job, error) {
	f.Algorithm = qualified(collective, f.Algorithm)
	j := crew.Job{Task: task, Collective: collective, Algorithm: f.Algorithm, Seed: f.Seed, Timeout: f.Timeout, Silence: f.Silence}
	if f.Silence < 0 {
		return j, fmt.Errorf("--silence=%v: must not be negative", f.Silence)
	}
	if f.Timeout <= 0 {
		return j, fmt.Errorf("--timeout=%v: must be more than 0", f.Timeout)
	}
	return j, nil
}

// params checks the name of the algorithm, and returns its parameters from the flags and from the
// rule that chose it.
func (f *runFlags) params(collective string, flags source.Flags) (schedule.Params, error) {
	if err := f.checkAlgorithm(collective); err != nil {
		return schedule.Params{}, err
	}
	if f.ruled && flags.Hosts == nil {
		flags.Hosts = f.Netns
	}
	if hosts, err := hostsOf(flags.Hosts, f.Ranks); f.ruled && (err != nil || hosts == 0 || !f.picked.Masters) {
		flags.Hosts = nil // the rule does not run the algorithm between masters
	}
	fill(&flags, f.picked)
	p, err := flags.Params(f.Algorithm)
	if err != nil {
		return p, err
	}
	p.Ranks, err = f.ranks()
	return p, err
}

// choose adds the rules to the job, so that all ranks use the same. If no flag names an algorithm,
// it sets the algorithm that a communicator would take in the case.
func (f *runFlags) choose(ctx context.Context, std terminal.Stdio, j *crew.Job, c selection.Case) error {
	rules, err := f.rules(std.Getenv)
	if err != nil {
		return err
	}
	if rules.Digest() != 0 {
		j.Rules = string(rules.Text())
	}
	if f.Algorithm != "" && f.Network == "" {
		return nil
	}
	if c.Ranks, err = f.ranks(); err != nil {
		return err
	}
	if rules, j.Network, err = f.prefer(ctx, std, rules, c.Ranks); err != nil || f.Algorithm != "" {
		return err
	}
	if d, ok := rules.Of(c); ok {
		f.Algorithm, f.picked, f.ruled = d.Rule.Algorithm, d.Rule.Params, true
	} else if f.Algorithm, err = f.firstOf(c.Collective); err != nil {
		return err
	}
	j.Algorithm = f.Algorithm
	return nil
}

// firstOf returns the algorithm of a collective without rules: the first algorithm, as in the
// runtime, or with --loss the first that multicasts.
func (f *runFlags) firstOf(collective string) (string, error) {
	all := candidates(collective, true)
	if f.Loss != nil {
		if all = slices.DeleteFunc(all, func(name string) bool { return !schedule.Multicasts(name) }); len(all) == 0 {
			return "", errLoss()
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("there is no algorithm for %s; give a file with a schedule", words.WithArticle(collective))
	}
	return all[0], nil
}

// fill sets the parameters of f that no flag gives to the values in a rule.
func fill(f *source.Flags, p selection.Params) {
	for _, of := range []struct {
		flag  **int
		value int
	}{{&f.Degree, p.Degree}, {&f.FanIn, p.FanIn}, {&f.FanOut, p.FanOut}, {&f.Chunks, p.Chunks}} {
		if *of.flag == nil && of.value > 0 {
			*of.flag = &of.value
		}
	}
}

// checkAlgorithm returns an error unless the algorithm is one of the collective's.
func (f *runFlags) checkAlgorithm(collective string) error {
	if a, ok := schedule.Named(f.Algorithm); ok && a.Collective == collective {
		return nil
	}
	all := candidates(collective, true)
	var name *schedule.NameError
	if _, err := schedule.New(f.Algorithm, schedule.Params{Ranks: 1}); errors.As(err, &name) {
		name.Near = slices.DeleteFunc(name.Near, func(near string) bool { return !slices.Contains(all, near) })
		if len(name.Near) > 0 {
			return fmt.Errorf("--algorithm: %w", source.FlagError(name))
		}
	}
	return fmt.Errorf("--algorithm=%s: must be one of %s", f.Algorithm, strings.Join(all, ", "))
}

// session is a run, from the proof to the table.
type session struct {
	flags *runFlags
	seen  seenFlags
	std   terminal.Stdio
	crew.Plan
	proof *proof // proof of the schedule, or of the schedules of all origins of an anycast
	limit int    // steps of the progress bar
}

// begin sets the parts of the plan that do not depend on the verb.
func (s *session) begin() {
	s.Schedule, s.Hosts, s.Stderr = s.flags.file, s.flags.madeUp(), s.std.Err
	s.Log = func(format string, args ...any) {
		if s.flags.Verbose {
			fmt.Fprintf(s.std.Err, format+"\n", args...)
		}
	}
}

// finish proves the schedules of r, runs them and prints the result.
func (s *session) finish(ctx context.Context, r toRun) error {
	var err error
	s.flags.announce(s.std)
	s.Job.Params, s.Job.FromFile = r.params(), r.file != nil
	s.begin()
	defer s.Close()
	if err := s.Open(ctx); err != nil {
		return runError(err)
	}
	if s.proof, err = r.prove(ctx); err != nil {
		return s.refuted(err)
	}
	if !s.flags.JSON {
		if _, err := fmt.Fprintln(s.std.Out, s.proof); err != nil {
			return err
		}
	}
	bar := terminal.NewProgress(s.std, s.limit, s.Job.Collective)
	t := crew.NewTally(s.Job.Params.Ranks, bar.Add)
	if err := s.watched(ctx, t, bar); err != nil {
		return err
	}
	return s.print(t)
}

// watched executes the run. Meanwhile it serves the page of --status and writes the file of
// --trace.
func (s *session) watched(ctx context.Context, t *crew.Tally, bar terminal.Progress) (err error) {
	if err := s.seen.check(); err != nil {
		return err
	}
	trace, err := s.seen.openTrace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trace.close()) }()
	s.Trace, s.Job.Latency = trace.file(), s.seen.Status != nil
	if s.seen.Status != nil {
		s.Board = crew.NewBoard(s.Job.Params.Ranks)
		server, err := s.seen.serve(ctx, status.Handler(s.Board.Reports))
		if err != nil {
			return err
		}
		tellPage(s.std, server.Addr().String())
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	return s.execute(ctx, t, bar)
}

// execute starts the ranks and returns when all have ended.
func (s *session) execute(ctx context.Context, t *crew.Tally, bar terminal.Progress) error {
	defer bar.Clear()
	return runError(s.Run(ctx, t))
}

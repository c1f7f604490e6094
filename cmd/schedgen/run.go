package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// runCmd is the verb run, with a verb for each collective of the table.
type runCmd struct {
	kong.Plugins         // see runVerbs
	Rank         rankCmd `cmd:"" hidden:""`
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
	Ranks     *rankRange `short:"p" placeholder:"P" help:"Number of ranks."`
	Algorithm string     `placeholder:"NAME" complete:"algorithm" help:"Algorithm, see schedgen list."`

	Transport   string        `placeholder:"NAME" complete:"transport" help:"How ranks reach each other, see above; default mcast if that works here, else tcp."`
	Loss        *float64      `placeholder:"X" help:"Lose each multicast datagram at each receiver with probability X, from 0 to 1. Broadcasts then multicast, unless --algorithm says otherwise."`
	Seed        uint64        `default:"1" help:"Seed of the losses and of made-up bytes."`
	IPv6        bool          `name:"ipv6" help:"Use IPv6."`
	Interface   string        `placeholder:"NAME" complete:"interface" help:"Network interface of the multicasts; default the loopback interface."`
	Device      string        `placeholder:"NAME" help:"RDMA device of --transport=verbs, NAME or NAME:PORT; default the first with an active port."`
	Netns       *int          `placeholder:"H" help:"Simulate H hosts by network namespaces behind a bridge, and place the ranks on them in even blocks; default transport hybrid. Linux only; needs root, ip and nsenter."`
	Coordinator string        `placeholder:"HOST:PORT" help:"Address where the ranks meet; default a free port of the loopback address."`
	Timeout     time.Duration `default:"30m" help:"Abort after this time."`
	Silence     time.Duration `default:"30s" help:"A rank is lost if another rank waits for it and it gives no sign of life for this time; 0: never."`
	rulesFlag
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
	p, err := f.Ranks.one()
	if err == nil && p > maxRunRanks {
		err = fmt.Errorf("--ranks=%d: at most %d run on one machine", p, maxRunRanks)
	}
	return p, err
}

// common returns the part of a job that does not depend on the rank or on the verb.
func (f *runFlags) common(task task, collective string) (job, error) {
	f.Algorithm = qualified(collective, f.Algorithm)
	j := job{Task: task, Collective: collective, Algorithm: f.Algorithm, Seed: f.Seed, Timeout: f.Timeout, Silence: f.Silence}
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
func (f *runFlags) params(collective string, flags paramFlags) (schedule.Params, error) {
	if err := f.checkAlgorithm(collective); err != nil {
		return schedule.Params{}, err
	}
	if hosts, err := hostsOf(flags.Hosts, f.Ranks); f.ruled && (err != nil || hosts == 0 || !f.picked.Masters) {
		flags.Hosts = nil // the rule does not run the algorithm between masters
	}
	flags.fill(f.picked)
	p, err := flags.params(f.Algorithm)
	if err != nil {
		return p, err
	}
	p.Ranks, err = f.ranks()
	return p, err
}

// choose adds the rules to the job, so that all ranks use the same. If no flag names an algorithm,
// it sets the one that a communicator would take in the case.
func (f *runFlags) choose(std stdio, j *job, c selection.Case) error {
	rules, err := f.rules(std.Getenv)
	if err != nil {
		return err
	}
	if rules.Digest() != 0 {
		j.Rules = string(rules.Text())
	}
	if f.Algorithm != "" {
		return nil
	}
	if c.Ranks, err = f.ranks(); err != nil {
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
		return "", fmt.Errorf("there is no algorithm for %s; give a file with a schedule", withArticle(collective))
	}
	return all[0], nil
}

// fill sets the parameters that no flag gives to those of a rule.
func (f *paramFlags) fill(p selection.Params) {
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
	all := candidates(collective, true)
	if slices.Contains(all, f.Algorithm) {
		return nil
	}
	var name *schedule.NameError
	if _, err := schedule.New(f.Algorithm, schedule.Params{Ranks: 1}); errors.As(err, &name) {
		name.Near = slices.DeleteFunc(name.Near, func(near string) bool { return !slices.Contains(all, near) })
		if len(name.Near) > 0 {
			return fmt.Errorf("--algorithm: %w", flagError(name))
		}
	}
	return fmt.Errorf("--algorithm=%s: must be one of %s", f.Algorithm, strings.Join(all, ", "))
}

// session is a run, from the proof to the table.
type session struct {
	flags *runFlags
	seen  seenFlags
	std   stdio
	job   job      // the job of all ranks; starting a rank sets the fields that differ
	proof *proof   // proof of the schedule, or of the schedules of all origins of an anycast
	input *input   // message of a broadcast
	names []string // output file of each rank; nil: none
	limit int      // steps of the progress bar
	files inherited
	board *board                              // status of the ranks; nil without --status
	trace *traceFile                          // nil without --trace
	wrap  func(wire.Transport) wire.Transport // for tests: wraps the transport of each rank over mem
}

// finish proves the schedules of r, runs them and prints the result.
func (s *session) finish(ctx context.Context, r toRun) error {
	var err error
	s.flags.announce(s.std)
	s.job.Params, s.job.FromFile = r.params(), r.file != nil
	defer s.files.close()
	if err := s.inherit(ctx); err != nil {
		return err
	}
	if s.proof, err = r.prove(ctx); err != nil {
		return s.refuted(err)
	}
	if !s.flags.JSON {
		if _, err := fmt.Fprintln(s.std.Out, s.proof); err != nil {
			return err
		}
	}
	t := newTally(&s.job, newRunProgress(s.std, s.job.Collective, s.limit))
	if err := s.watched(ctx, t); err != nil {
		return err
	}
	return s.print(t)
}

// watched executes the run. Meanwhile it serves the page of --status and writes the file of
// --trace.
func (s *session) watched(ctx context.Context, t *tally) (err error) {
	if s.trace, err = s.seen.openTrace(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.trace.close()) }()
	if s.seen.Status != nil {
		s.board = newBoard(s.job.Params.Ranks)
		server, err := s.seen.serve(ctx, status.Handler(s.board.reports))
		if err != nil {
			return err
		}
		s.std.tellPage(server.Addr().String())
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	return s.execute(ctx, t)
}

// execute starts the ranks and returns when all have ended.
func (s *session) execute(ctx context.Context, t *tally) error {
	defer t.bar.clear()
	c, err := s.start(ctx)
	if err != nil {
		return failed(err)
	}
	return oversee(ctx, c, t, s.job.Timeout, s.log)
}

func (s *session) log(format string, args ...any) {
	if s.flags.Verbose {
		fmt.Fprintf(s.std.Err, format+"\n", args...)
	}
}

// jobs returns the jobs of all ranks.
func (s *session) jobs() []*job {
	jobs := make([]*job, s.job.Params.Ranks)
	for rank := range jobs {
		j := s.job
		j.Rank = rank
		if s.names != nil {
			j.Output = s.names[rank]
		}
		jobs[rank] = &j
	}
	return jobs
}

func (s *session) start(ctx context.Context) (*crew, error) {
	if s.job.Link.Transport == overMem {
		return goroutines(ctx, s.jobs(), resources{input: s.input, schedule: s.flags.file, trace: s.trace.file()}, s.board, s.wrap)
	}
	defer s.files.close()
	s.files.trace = s.trace.file()
	return processes(s.jobs(), s.flags.madeUp(), s.files, s.board, s.std.Err, s.log)
}

// inherit opens the files and sockets that the processes of the ranks inherit. From here on this
// process holds the coordinator's port.
func (s *session) inherit(ctx context.Context) (err error) {
	l := &s.job.Link
	if l.Transport == overMem {
		return nil
	}
	if s.input != nil {
		s.files.input = s.input.file
	}
	if s.flags.file != nil {
		if s.files.schedule, err = scheduleFile(s.flags.file); err != nil {
			return failed(err)
		}
	}
	if err := s.meet(ctx); err != nil {
		return err
	}
	if rowOf(s.job.Collective).Synchronizes {
		if s.files.counters, err = counterFile(s.job.Params.Ranks); err != nil {
			return failed(err)
		}
	}
	return nil
}

// meet creates the coordinator's socket, or the shared memory, through which the ranks meet.
func (s *session) meet(ctx context.Context) (err error) {
	l := &s.job.Link
	if l.Transport == overShm {
		if s.files.segment, err = shm.Create(s.job.Params.Ranks); err != nil {
			return failed(fmt.Errorf("--transport=shm: %w", err))
		}
		return nil
	}
	l.Job = rand.Text()
	if s.flags.madeUp() > 0 {
		return nil // the coordinator is on the first of the simulated hosts
	}
	if s.files.listener, l.Coordinator, err = listen(ctx, l.Coordinator); err != nil {
		return err
	}
	s.log("coordinator at %s", l.Coordinator)
	return nil
}

// close closes the files that only the children need once they run. The session closes the input
// and the trace itself. close may be called more than once.
func (i *inherited) close() {
	for _, f := range []**os.File{&i.listener, &i.counters, &i.segment, &i.schedule} {
		if *f != nil {
			_ = (*f).Close() // nothing was written through it
			*f = nil
		}
	}
}

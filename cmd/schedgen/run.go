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

// runCmd is the verb run, with a verb for each collective.
type runCmd struct {
	kong.Plugins         // see runVerbs
	Rank         rankCmd `cmd:"" hidden:""`
}

// Help is the long help text.
func (runCmd) Help() string {
	return `Starts ranks on this machine and runs a collective operation that has been proved. What is run is an
algorithm, or a schedule that somebody has written: a file in one of the forms text and json.

Examples:

  schedgen run bcast -p 8 --size 16MiB
  schedgen run FILE --size 16MiB`
}

// runFlags are the flags of all runs.
type runFlags struct {
	Ranks     *rankRange `short:"p" placeholder:"P" help:"Number of ranks."`
	Algorithm string     `placeholder:"NAME" complete:"algorithm" help:"Algorithm, see schedgen list."`

	Transport   string        `placeholder:"NAME" complete:"transport" help:"How ranks reach each other, see above; default mcast if that works here, else tcp."`
	Loss        *float64      `placeholder:"X" help:"Lose each multicast datagram at each receiver with probability X, 0 to 1; broadcasts multicast then, unless --algorithm says otherwise."`
	Seed        uint64        `default:"1" help:"Seed of the losses and of bytes made up."`
	IPv6        bool          `name:"ipv6" help:"Use IPv6."`
	Interface   string        `placeholder:"NAME" complete:"interface" help:"Network interface of the multicasts, default the loopback interface."`
	Device      string        `placeholder:"NAME" help:"RDMA device of --transport=verbs, NAME or NAME:PORT, default the first with an active port."`
	Netns       *int          `placeholder:"H" help:"Make H hosts up, network namespaces behind a bridge, and put the ranks there in even blocks; default transport hybrid. Linux; needs root, ip and nsenter."`
	Coordinator string        `placeholder:"HOST:PORT" help:"Where the ranks meet, default a free port of the loopback address."`
	Timeout     time.Duration `default:"30m" help:"Give up after this time."`
	Silence     time.Duration `default:"30s" help:"A rank that gives no sign of life for so long, while another one waits, is lost; 0: never."`
	rulesFlag
	keyFlags
	JSON    bool `name:"json" help:"Print one object."`
	Verbose bool `short:"v" help:"Tell the ranks' processes on standard error; of one rank, when it joins, fails, leaves, and who is lost."`

	chosen string           // the transport in words, unless a flag names it
	picked selection.Params // those of the rule that has chosen the algorithm
	ruled  bool             // a rule has
	apart  bool             // ranks are started one by one: where they are is not known yet
	delays bool             // the root is to wait before it multicasts
	file   *ir.Schedule     // that is run in place of an algorithm; nil: none
}

var errNoRanks = errors.New("--ranks: needed, such as -p 8")

// maxRunRanks is how many local ranks make sense.
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

// common returns the job's part that all ranks of all runs share.
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

// params checks the algorithm's name and flags.
func (f *runFlags) params(collective string, flags paramFlags) (schedule.Params, error) {
	if err := f.checkAlgorithm(collective); err != nil {
		return schedule.Params{}, err
	}
	if hosts, err := hostsOf(flags.Hosts, f.Ranks); f.ruled && (err != nil || hosts == 0 || !f.picked.Masters) {
		flags.Hosts = nil // the rule does not run it between masters
	}
	flags.fill(f.picked)
	p, err := flags.params(f.Algorithm)
	if err != nil {
		return p, err
	}
	p.Ranks, err = f.ranks()
	return p, err
}

// choose fills in the algorithm, if none is given, that a communicator would take in a
// case, and has the ranks agree on the rules.
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

// firstOf returns the algorithm of a collective for which no rule is made: as in the runtime, the first
// that there is; with --loss, the first that multicasts.
func (f *runFlags) firstOf(collective string) (string, error) {
	all := candidates(collective, true)
	if f.Loss != nil {
		if all = slices.DeleteFunc(all, func(name string) bool { return !multicasts(name) }); len(all) == 0 {
			return "", errLoss()
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("there is no algorithm for %s; give a file with a schedule", withArticle(collective))
	}
	return all[0], nil
}

// fill takes the parameters of a rule where no flags give them.
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

// checkAlgorithm checks that the algorithm is one of the collective.
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

// session is one run, from the proof to the table.
type session struct {
	flags *runFlags
	seen  seenFlags // how the run is looked at
	std   stdio
	job   job      // of all ranks; what differs is filled in at the start
	proof *proof   // of the schedule, or of all of an anycast
	input *input   // of a broadcast
	names []string // of the ranks' output files; nil: none
	limit int      // steps of the progress bar
	files inherited
	board *board                              // where ranks stand; nil: nobody looks
	trace *traceFile                          // nil: none
	wrap  func(wire.Transport) wire.Transport // tests: lies between ranks over mem and their network
}

// finish proves what is to be run, runs it and prints the outcome.
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

// watched executes the run, and shows and writes what was asked for meanwhile.
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

// execute starts the ranks and follows them to their ends.
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

// jobs returns the ranks' jobs.
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

// inherit opens what the ranks' processes inherit. The coordinator's port is
// held from here on.
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

// meet makes where the ranks meet: the coordinator's socket, or memory that
// they share.
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
		return nil // on the first host
	}
	if s.files.listener, l.Coordinator, err = listen(ctx, l.Coordinator); err != nil {
		return err
	}
	s.log("coordinator at %s", l.Coordinator)
	return nil
}

// close closes what only the children need once they run; the input and the trace are
// the session's own. It may be called again.
func (i *inherited) close() {
	for _, f := range []**os.File{&i.listener, &i.counters, &i.segment, &i.schedule} {
		if *f != nil {
			_ = (*f).Close() // nothing was written through it
			*f = nil
		}
	}
}

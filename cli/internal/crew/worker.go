package crew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/schedgen/schedgen/cli/internal/probe"
	"github.com/schedgen/schedgen/ir"
	netfile "github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/perfetto"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/synth"
)

// worker is one rank at work, in its own process or in a goroutine.
type worker struct {
	job   *Job
	comm  *runtime.Comm
	send  func(report) error // sends a report to the parent
	res   Resources
	trace *perfetto.Writer // nil without a trace
	batch batch
}

// Resources are the files and functions that a rank needs besides its job.
type Resources struct {
	Input    *Input       // bcast: the message, at the root
	counters counters     // barrier
	Schedule *ir.Schedule // schedule that runs in place of an algorithm, or nil
	Open     Opening
	Trace    *os.File  // file to which the trace is appended, or nil
	Position *Position // status of the rank
	Log      *slog.Logger
}

// Opening is a function that connects a rank with the others.
type Opening func(context.Context, *Job) (wire.Transport, error)

// work does the job, from joining to leaving, and sends a report of its outcome or failure. It
// returns an error only if the report cannot be sent.
func work(ctx context.Context, j *Job, res Resources, send func(report) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Timeout, &timeError{fmt.Sprintf("not finished after --timeout=%v", j.Timeout)})
	defer cancel()
	w := &worker{job: j, res: res, send: send}
	w.batch = batch{send: send, flushed: time.Now()}
	out, err := w.join(ctx)
	if err != nil {
		return send(report{Failed: newFailure(j.Rank, err)})
	}
	return send(report{Done: out})
}

func (w *worker) join(ctx context.Context) (out *Outcome, err error) {
	cfg, err := w.job.config(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.connect(ctx, &cfg); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.leave()) }()
	if err := w.send(report{Joined: true}); err != nil {
		return nil, err
	}
	out = new(Outcome)
	if err := w.doTask(ctx, out); err != nil {
		return nil, err
	}
	out.Repairs = w.comm.Totals().Repairs
	if w.job.Rank == 0 {
		out.Learned = w.comm.State().Learned
	}
	if of, ok := cfg.Transport.(wire.Copier); ok {
		n, why := of.Copies()
		if out.Copies = n; why != nil {
			out.Twice = why.Error()
		}
	}
	return out, w.batch.flush()
}

// MeetingTime is the longest time that ranks may take to meet.
const MeetingTime = time.Minute

func (w *worker) connect(ctx context.Context, cfg *runtime.Config) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, MeetingTime, &timeError{fmt.Sprintf("the ranks have not met within %v", MeetingTime)})
	defer cancel()
	if cfg.Transport, err = w.res.Open(ctx, w.job); err != nil {
		return CauseOf(ctx, err)
	}
	cfg.Observe.Log, cfg.Observe.Latency = w.res.Log, w.job.Latency
	if w.res.Trace != nil {
		w.trace = perfetto.New(w.res.Trace, perfetto.Options{Process: w.job.Rank})
		cfg.Observe.Trace = w.trace.Event
	}
	if w.comm, err = runtime.Join(ctx, *cfg); err != nil {
		return CauseOf(ctx, err)
	}
	if w.res.Position != nil {
		w.res.Position.comm.Store(w.comm)
	}
	if w.res.Schedule == nil {
		return nil
	}
	if err := use(w.comm, w.res.Schedule); err != nil {
		return errors.Join(err, w.comm.Close())
	}
	return nil
}

// leave closes the communicator and writes the rest of the trace.
func (w *worker) leave() error {
	err := w.comm.Close()
	if w.trace != nil {
		err = errors.Join(err, w.trace.Close())
	}
	return err
}

// CauseOf adds the cause of the end of ctx to an error, if ctx has ended and the error does not
// hold the cause.
func CauseOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

func (w *worker) doTask(ctx context.Context, out *Outcome) error {
	switch w.job.Task {
	case TaskRun:
		if w.job.Row().Published {
			return w.exchangeMessages(ctx, out)
		}
		return w.repeat(ctx, out)
	case TaskBench:
		return w.bench(ctx, out)
	case TaskTune:
		return w.tune(ctx, out)
	}
	return fmt.Errorf("no work %q", w.job.Task)
}

// tune measures the times of messages between the two ranks.
func (w *worker) tune(ctx context.Context, out *Outcome) (err error) {
	if w.job.Rank > 0 {
		return probe.Follow(ctx, w.comm, &w.job.Tune)
	}
	out.Tuned, err = probe.Lead(ctx, w.comm, &w.job.Tune, func() error { return w.send(report{Steps: 1}) })
	return err
}

// config returns the configuration of the communicator, without its transport.
func (j *Job) config(ctx context.Context) (runtime.Config, error) {
	var cfg runtime.Config
	cfg.Delay, cfg.RootDelay, cfg.Silence = j.Delay, j.RootDelay, j.Silence
	if j.Silence == 0 {
		cfg.Silence = -1
	}
	if j.Rules != "" {
		var err error
		if cfg.Rules, err = selection.Parse([]byte(j.Rules)); err != nil {
			return cfg, err
		}
	}
	if j.FromFile {
		return cfg, nil
	}
	if j.Network != "" {
		n, err := netfile.Parse(strings.NewReader(j.Network))
		if err == nil {
			err = synth.Register(ctx, n)
		}
		if err != nil {
			return cfg, fmt.Errorf("network: %w", err)
		}
	}
	if cfg.Learn = j.Learn; j.Learn == "" {
		setAlgorithm(&cfg, j.Collective, runtime.Algorithm{Name: j.Algorithm, Params: j.Params})
	}
	if j.Row().Published {
		cfg.MaxMessage = max(int(j.Size), leastMessage)
	}
	if j.Task == TaskBench && j.Operation.Replied {
		setAlgorithm(&cfg, schedule.Barrier, runtime.Algorithm{Name: ReplyBarrier})
	}
	return cfg, nil
}

// leastMessage is the longest rootless message of a job about itself, such as the address of a page,
// in bytes.
const leastMessage = 1 << 10

// batch collects latencies, so that reporting them does not disturb every iteration.
type batch struct {
	send    func(report) error
	samples []int64
	flushed time.Time
}

// A batch is reported when it has batchLen latencies or the last report is older than batchAge.
const (
	batchLen = 8192
	batchAge = 250 * time.Millisecond
)

func (b *batch) add(d time.Duration, now time.Time) error {
	b.samples = append(b.samples, int64(d))
	if len(b.samples) < batchLen && now.Sub(b.flushed) < batchAge {
		return nil
	}
	b.flushed = now
	return b.flush()
}

func (b *batch) flush() error {
	if len(b.samples) == 0 {
		return nil
	}
	err := b.send(report{Samples: b.samples})
	b.samples = nil // a parent in the same process keeps the slice
	return err
}

// setAlgorithm sets the algorithm that a communicator uses for a collective.
func setAlgorithm(cfg *runtime.Config, collective string, alg runtime.Algorithm) {
	if cfg.Algorithms == nil {
		cfg.Algorithms = make(runtime.Algorithms)
	}
	cfg.Algorithms[collective] = alg
}

//go:build linux

package soak

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/schedgen/schedgen/internal/lab/internal/host"
	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// runReal runs ranks as processes over one transport after the other, and prints the results.
func (c *Verb) runReal(ctx context.Context, std terminal.Stdio) error {
	if err := c.checkReal(); err != nil {
		return err
	}
	if c.Loss > 0 {
		if err := ranks.CheckNetwork(true); err != nil {
			return fmt.Errorf("--loss: %w", err)
		}
	}
	seed := uint64(1)
	if c.Seed != nil {
		seed = *c.Seed
	}
	r := &results{cmd: c, seed: seed, about: host.About(ctx)}
	for _, name := range c.Transport {
		run := newRun(c, name, seed, std.Err)
		if err := run.over(ctx); err != nil {
			return terminal.Failed(err)
		}
		r.runs = append(r.runs, run)
		if err := c.Files.Write(r.files()); err != nil {
			return err
		}
	}
	if err := r.writeMarkdown(terminal.NewWriter(ctx, std.Out)); err != nil {
		return err
	}
	var bad []string
	for _, run := range r.runs {
		for _, fault := range run.faults() {
			bad = append(bad, run.transport+": "+fault)
		}
	}
	if bad != nil {
		return terminal.Negative(strings.Join(bad, "\n"))
	}
	return nil
}

// run is the soak over one transport.
type run struct {
	cmd       *Verb
	transport string
	progress  io.Writer
	random    *mathrand.Rand
	seed      uint64
	key       []byte
	network   *ranks.Network

	began   time.Time
	members []*ranks.Member // by number of the process; nil: has died
	last    []sample        // of each process
	earlier int64           // operations of processes that have died
	told    time.Time       // when progress was last shown

	moments      []moment
	times        map[string]*hdrhistogram.Histogram // by kind
	jobs, deaths int
	failed       string // why it has ended early; "": it has not
}

func newRun(c *Verb, transport string, seed uint64, progress io.Writer) *run {
	return &run{
		cmd: c, transport: transport, progress: progress, seed: seed, random: mathrand.New(mathrand.NewPCG(seed, uint64(len(transport)))),
		members: make([]*ranks.Member, c.Ranks), last: make([]sample, c.Ranks), times: make(map[string]*hdrhistogram.Histogram),
	}
}

// lasting returns how many processes never die: the first ones, half of all.
func (r *run) lasting() int { return (r.cmd.Ranks + 1) / 2 }

// hosts returns the number of hosts in the network: each has two ranks.
func (r *run) hosts() int { return (r.cmd.Ranks + 1) / 2 }

// over runs one job after the other until the time is over. It returns an error if the job cannot be
// started or ctx ends. A failure of a job is a result.
func (r *run) over(interrupted context.Context) error {
	ctx, cancel := context.WithCancel(interrupted)
	defer func() {
		cancel()
		for _, m := range r.members {
			if m != nil {
				_ = m.End() // it was killed, or has nothing more to do
			}
		}
		r.network.Close()
	}()
	if r.cmd.Key {
		r.key = make([]byte, tcp.MinKey)
		_, _ = rand.Read(r.key) // never fails
	}
	if r.cmd.Loss > 0 && r.transport == overHosts {
		var err error
		if r.network, err = ranks.NewNetwork(r.hosts(), float64(r.cmd.Loss)); err != nil {
			return err
		}
	}
	r.began = time.Now()
	r.told = r.began
	for r.failed == "" {
		left := r.cmd.Time - time.Since(r.began)
		if left <= 0 || r.jobs > 0 && left < *r.cmd.Death/4 {
			break
		}
		length := left
		if *r.cmd.Death > 0 {
			length = min(left, *r.cmd.Death)
		}
		if err := r.job(ctx, cancel, length); err != nil {
			return err
		}
		if err := interrupted.Err(); err != nil {
			return err
		}
		r.jobs++
	}
	return nil
}

// job runs a job of all ranks for some time. A process in the second half dies about the middle of
// the time. The ranks of processes change from job to job.
func (r *run) job(ctx context.Context, cancel func(), length time.Duration) (err error) {
	size := r.cmd.Ranks
	for i, m := range r.members {
		if m != nil {
			continue
		}
		if r.members[i], err = ranks.Start(ctx, rankVerb, r.network, i/2); err != nil {
			return err
		}
	}
	number := func(rank int) int { return (rank + r.jobs) % size } // of a rank's process
	inOrder := make([]*ranks.Member, size)
	for rank := range inOrder {
		inOrder[rank] = r.members[number(rank)]
	}
	o := order{Seed: r.seed + uint64(r.jobs)<<1, Length: length, Victim: -1}
	victim := -1
	if *r.cmd.Death > 0 {
		victim = r.lasting() + r.random.IntN(size-r.lasting())
		o.Victim = (victim - r.jobs%size + size) % size
		o.Death = length*3/8 + time.Duration(r.random.Int64N(int64(length/4)))
	}
	seats := func(s *ranks.Seat) {
		s.Host, s.Address = fmt.Sprint("host ", number(s.Rank)/2), ranks.Loopback
		if r.network != nil {
			s.Address, s.Interface = ranks.Address(number(s.Rank)/2), ranks.Interface
		}
	}
	late := time.AfterFunc(r.cmd.Patience, cancel)
	err = ranks.Meet(inOrder, ranks.Seat{Transport: r.transport, Key: r.key}, seats, func(s ranks.Seat) any {
		o.Seat = s
		return o
	})
	if !late.Stop() {
		r.fail(fmt.Sprintf("the ranks have not met after %v", r.cmd.Patience))
		return nil
	}
	if err != nil {
		r.fail(err.Error())
		return nil
	}
	r.listen(ctx, cancel, victim)
	return nil
}

// event is what a process has said, or its end.
type event struct {
	process int
	said
	silent bool // it has closed its output
}

// listen takes what the processes say until the job has ended everywhere.
func (r *run) listen(ctx context.Context, cancel func(), victim int) {
	events := make(chan event)
	for i, m := range r.members {
		go func() { events <- hear(i, m, events) }()
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	moved := make([]time.Time, len(r.members)) // when each process has last ended an operation
	for i := range moved {
		moved[i] = time.Now()
	}
	ended, hung := make([]bool, len(r.members)), false
	for left := len(r.members); left > 0; {
		select {
		case e := <-events:
			switch {
			case e.Sample != nil:
				if e.Sample.Operations > r.last[e.process].Operations {
					moved[e.process] = time.Now()
				}
				r.add(e.process, e.Sample)
				continue
			case e.silent:
				if why := r.bury(e.process, e.process == victim); why != "" && ctx.Err() == nil {
					r.fail(why)
				}
			}
			ended[e.process] = true
			left--
		case <-tick.C:
			r.show()
			for i, at := range moved {
				if !ended[i] && !hung && time.Since(at) > r.cmd.Patience {
					hung = true
					r.fail(fmt.Sprintf("process %d has ended no operation for %v", i, r.cmd.Patience))
					r.quit(ended)
					time.AfterFunc(grace, cancel)
				}
			}
		}
	}
}

// hear sends the samples of a process, and returns how its part in the job ends.
func hear(process int, m *ranks.Member, samples chan<- event) event {
	for {
		e := event{process: process}
		if !m.Hear(&e.said) {
			e.silent = true
			return e
		}
		if e.Sample == nil {
			return e
		}
		samples <- e
	}
}

// bury takes leave of a process that has ended. It returns what was wrong with its end, or "" if the
// process has killed itself as it had to.
func (r *run) bury(process int, victim bool) (wrong string) {
	m := r.members[process]
	err := m.End()
	r.members[process] = nil
	r.earlier += r.last[process].Operations
	r.last[process] = sample{}
	var exit *exec.ExitError
	if errors.As(err, &exit) && victim {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			r.deaths++
			return ""
		}
	}
	return strings.TrimSpace(fmt.Sprintf("process %d has ended: %v\n%s", process, err, m.Said()))
}

// fail says what was wrong. The first two lines of the first failure are kept: other failures often
// only follow from it.
func (r *run) fail(why string) {
	why = fmt.Sprintf("job %d: %s", r.jobs+1, why)
	fmt.Fprintf(r.progress, "%s: %s\n", r.transport, why)
	if r.failed == "" {
		lines := strings.SplitN(why, "\n", 3)
		r.failed = strings.Join(lines[:min(len(lines), 2)], ": ")
	}
}

// grace is the time that processes have to say where they hang.
const grace = 3 * time.Second

// quit has all processes that have not ended say where they are, and end.
func (r *run) quit(ended []bool) {
	for i, m := range r.members {
		if !ended[i] {
			_ = m.Signal(syscall.SIGQUIT) // it may have ended
		}
	}
}

// add adds the sample of a process.
func (r *run) add(process int, s *sample) {
	r.last[process] = *s
	for kind, text := range s.Times {
		h, err := hdrhistogram.Decode([]byte(text))
		if err != nil {
			r.fail(fmt.Sprintf("the times of process %d: %v", process, err))
			continue
		}
		if r.times[kind] == nil {
			r.times[kind] = newTimes()
		}
		r.times[kind].Merge(h)
	}
	if process >= r.lasting() {
		return
	}
	second := int64(time.Since(r.began) / time.Second)
	if n := len(r.moments); n == 0 || r.moments[n-1].Second != second {
		r.moments = append(r.moments, moment{Transport: r.transport, Second: second})
	}
	r.moments[len(r.moments)-1].add(s, r.operations())
}

// operations returns the number of operations so far, counted at each rank.
func (r *run) operations() (n int64) {
	n = r.earlier
	for i := range r.last {
		n += r.last[i].Operations
	}
	return n
}

// between is the time between two lines of progress.
const between = 5 * time.Second

// show shows the progress from time to time.
func (r *run) show() {
	if time.Since(r.told) < between || len(r.moments) == 0 {
		return
	}
	r.told = time.Now()
	m := &r.moments[len(r.moments)-1]
	fmt.Fprintf(r.progress, "%s, %v of %v: %d operations of %d ranks, %d deaths; a process has %.0f MiB, %.0f descriptors, %.0f goroutines\n",
		r.transport, time.Since(r.began).Round(time.Second), r.cmd.Time, r.operations(), r.cmd.Ranks, r.deaths, m.Memory/(1<<20), m.Descriptors, m.Goroutines)
}

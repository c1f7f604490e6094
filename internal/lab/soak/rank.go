//go:build linux

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime"
)

// rankVerb is the name of the hidden verb of a rank.
const rankVerb = "soak-rank"

// Rank is the hidden verb of a rank. It takes part in one job after the other.
type Rank struct{}

// order tells a process to take part in a job, as a line of JSON.
type order struct {
	ranks.Seat
	Seed   uint64
	Length time.Duration // of the job
	Victim int           // the rank that kills itself, and the job goes on until it has; -1: none
	Death  time.Duration // when, since the ranks have met
}

// said is what a rank says while it works, as a line of JSON.
type said struct {
	Sample *sample `json:",omitempty"`
	Ended  bool    `json:",omitempty"` // the job has ended
}

// sample is what a process uses, and what it has done.
type sample struct {
	Memory      int64 // resident, bytes
	Descriptors int
	Goroutines  int
	Operations  int64             // so far
	Times       map[string]string // by kind: an encoded histogram of operations since the last sample
}

// Run is the process of a rank.
func (Rank) Run(ctx context.Context, std terminal.Stdio) error {
	in := json.NewDecoder(std.In)
	p := &process{out: std.Out, times: make(map[string]*hdrhistogram.Histogram)}
	for {
		var o order
		if err := in.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return terminal.Failed(err)
		}
		if err := p.takePart(ctx, &o); err != nil {
			return terminal.Failed(err)
		}
	}
}

// process is the process of a rank.
type process struct {
	out        io.Writer
	operations atomic.Int64

	mu    sync.Mutex
	times map[string]*hdrhistogram.Histogram
}

// newTimes returns a histogram of times from a microsecond to an hour, with a precision of one part
// in a hundred.
func newTimes() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Hour.Microseconds(), 2)
}

func (p *process) timed(kind string, took time.Duration) {
	p.operations.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times[kind] == nil {
		p.times[kind] = newTimes()
	}
	_ = p.times[kind].RecordValue(min(max(took.Microseconds(), 1), time.Hour.Microseconds())) // within its bounds
}

// takePart takes part in a job, from the meeting of its ranks to its end.
func (p *process) takePart(ctx context.Context, o *order) (err error) {
	began := time.Now()
	t, err := o.Open(ctx, p.out)
	if err != nil {
		return err
	}
	c, err := runtime.Join(ctx, runtime.Config{Transport: t})
	if err != nil {
		return err
	}
	p.timed("join", time.Since(began))
	fmt.Fprintln(p.out, ranks.Ready)
	began = time.Now()
	stop := p.sampling()
	if o.Victim == o.Rank {
		time.AfterFunc(o.Death, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	c, err = p.outlive(ctx, o, c, func() bool { return time.Since(began) >= o.Length })
	if err := errors.Join(err, stop(), c.Close()); err != nil {
		return err
	}
	return p.say(said{Ended: true})
}

// outlive works until the job is over. If the victim dies, it goes on in the communicator of the
// others, which it returns.
func (p *process) outlive(ctx context.Context, o *order, c *runtime.Comm, over func() bool) (*runtime.Comm, error) {
	w, err := newWork(c, o.Seed, p.timed)
	if err == nil {
		err = w.until(ctx, func() bool { return o.Victim < 0 && over() })
	}
	var lost *runtime.LostError
	if !errors.As(err, &lost) || !slices.Equal(lost.Ranks, []int{o.Victim}) {
		return c, err
	}
	began := time.Now()
	next, err := c.Shrink(ctx)
	if err != nil {
		return c, err
	}
	p.timed("shrink", time.Since(began))
	if w, err = newWork(next, o.Seed+1, p.timed); err == nil {
		err = w.until(ctx, over)
	}
	return next, err
}

// period is the time between two samples.
const period = time.Second

// sampling says what the process uses, each second and when stop is called.
func (p *process) sampling() (stop func() error) {
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := p.saySample(); err != nil {
					ended <- err
					return
				}
			case <-end:
				ended <- p.saySample()
				return
			}
		}
	}()
	return func() error { close(end); return <-ended }
}

// saySample takes a sample and says it.
func (p *process) saySample() error {
	s := &sample{Goroutines: goruntime.NumGoroutine(), Operations: p.operations.Load(), Times: make(map[string]string)}
	var err error
	if s.Memory, s.Descriptors, err = usage(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(p.times)) {
		h := p.times[kind]
		if h.TotalCount() == 0 {
			continue
		}
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return err
		}
		s.Times[kind] = string(text)
		h.Reset()
	}
	return p.say(said{Sample: s})
}

func (p *process) say(s said) error { return json.NewEncoder(p.out).Encode(s) }

// usage returns the resident memory of this process in bytes, and the number of its open
// descriptors.
func usage() (memory int64, descriptors int, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	var total, resident int64
	if _, err := fmt.Sscan(string(text), &total, &resident); err != nil {
		return 0, 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	return resident * int64(os.Getpagesize()), len(open) - 1, err // without that of ReadDir
}

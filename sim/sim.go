package sim

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/ir"
)

// Time is a time or a duration of a model in nanoseconds.
type Time int64

// Never is the time of what does not happen.
const Never Time = -1

// Programs is a schedule of which a run asks for one rank's program at a time:
// a *schedule.Spec, or what [Of] returns. What it returns must not change. If it has
// a method Maker, as *schedule.Spec does, programs are made by that.
type Programs interface {
	Header() ir.Header
	Program(rank int) ir.Program
}

// maker is programs that can also be made one after the other in the same memory:
// each is valid until the next call of what Maker returns.
type maker interface {
	Maker() func(rank int) ir.Program
}

// Of returns the programs of s.
func Of(s *ir.Schedule) Programs { return whole{s} }

type whole struct{ s *ir.Schedule }

func (w whole) Header() ir.Header { return w.s.Header }

func (w whole) Program(rank int) ir.Program { return w.s.Programs[rank] }

// Config says what is simulated. The zero value of every field but Model stands
// for what the name says is absent.
type Config struct {
	Model   Model   // what messages take
	Hosts   int     // the ranks are on so many hosts, in blocks as even as possible; 0: each on its own
	Switch  PerByte // a switch that all hosts share passes on no more than a byte in that time; 0: it is fast enough
	Fold    PerByte // what a fold takes for each byte of each operand but the first; a copy of one operand takes as much
	Bytes   int     // of one block, which is the whole message of a broadcast; ignored of a collective without blocks
	Arrival Arrival // when the ranks call the operation
	Seed    uint64  // of all that is drawn
	Noise   Time    // a message, and each copy of a multicast, is late by up to so much, drawn uniformly
	Loss    float64 // probability that a rank misses a multicast, each for itself
	// Unready: a multicast is lost by ranks that have not called the operation when
	// it arrives (paper 000, section 2.1). Otherwise it waits for them.
	Unready bool
	Fanout  Time     // what a multicast takes longer than a put
	Repair  Time     // the base timeout of repairs; 0: none is made
	Delay   Delay    // what the root waits for before it begins, if there is a root
	Before  Programs // a barrier that all ranks call before
	Path    bool     // find the critical path; takes some 40 bytes for each send and receive
}

// Counts are what happened in a run.
type Counts struct {
	Sends    int64 `json:"sends"`           // puts and multicasts that were sent
	Mcasts   int64 `json:"multicasts"`      // multicasts among them
	Received int64 `json:"received"`        // messages that were received, copies of multicasts included
	Lost     int64 `json:"lost"`            // copies of multicasts that were lost
	Repairs  int64 `json:"repairs"`         // times that a repair was made
	Folds    int64 `json:"folds,omitempty"` // folds that have been made
	Events   int64 `json:"events"`          // sends, arrivals, receives, work, and folds that take time
}

// Result is what a run has told.
type Result struct {
	Enters   []Time // by rank, when its call begins
	Returns  []Time // by rank, when its call returns; Never if it does not
	Makespan Time   // when the last call returns, Never if some call never does
	Counts   Counts
	Path     []Step // the critical path, if it was asked for
	Loads    []Load // by host, if the model has links
}

// Run simulates one operation. Its time is about that of putting the messages
// in order, its memory in proportion to the programs of the ranks that have begun
// and have not ended. Equal arguments give equal results on every machine. It fails
// if programs name ranks or slots that do not exist, or if something in c is
// negative or so large that times could overflow.
func Run(p Programs, c Config) (*Result, error) {
	s, err := New(p, c)
	if err != nil {
		return nil, err
	}
	return s.Run(c.Seed)
}

// Sim runs one operation again and again, with other seeds, in the same memory.
// It is used by one goroutine at a time.
type Sim struct {
	e      *engine
	before *Sim
	name   string
}

// New returns a simulation; see [Run].
func New(p Programs, c Config) (*Sim, error) {
	h := p.Header()
	s := &Sim{name: h.Name()}
	if c.Before != nil {
		before, alone := c, Config{Model: c.Model, Arrival: c.Arrival, Noise: c.Noise}
		h2 := before.Before.Header()
		if h2.Ranks != h.Ranks {
			return nil, fmt.Errorf("simulate %s: %d ranks, and %d of %s before it", s.name, h.Ranks, h2.Ranks, h2.Name())
		}
		var err error
		if s.before, err = New(before.Before, alone); err != nil {
			return nil, err
		}
	}
	e, err := newEngine(p, &c)
	if err != nil {
		return nil, fmt.Errorf("simulate %s: %w", s.name, err)
	}
	s.e = e
	return s, nil
}

// Run runs the operation with a seed.
func (s *Sim) Run(seed uint64) (*Result, error) {
	enters := s.e.enters(seed)
	if s.before != nil {
		r, err := s.before.Run(seed)
		if err != nil {
			return nil, err
		}
		if r.Makespan == Never {
			return nil, fmt.Errorf("simulate %s: the barrier before it never ends", s.name)
		}
		enters = r.Returns
	}
	if err := s.e.run(seed, enters); err != nil {
		return nil, fmt.Errorf("simulate %s: %w", s.name, err)
	}
	return s.e.result(), nil
}

// check returns an error for what cannot be simulated.
func (c *Config) check() error {
	for _, t := range []struct {
		name     string
		of, most Time
	}{{"noise", c.Noise, maxTime}, {"fan-out", c.Fanout, maxTime}, {"repair", c.Repair, maxRepair}, {"delay of the root", c.Delay.Fixed, maxTime}} {
		if t.of < 0 || t.of > t.most {
			return fmt.Errorf("%s of %d ns: must be in 0..%d", t.name, t.of, t.most)
		}
	}
	switch {
	case c.Model == nil:
		return fmt.Errorf("no model")
	case c.Bytes < 0:
		return fmt.Errorf("a block of %d bytes", c.Bytes)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("a loss of %v: must be in 0..1", c.Loss)
	}
	return c.Arrival.check()
}

// DefaultFold is what a fold takes for each byte unless told otherwise: sums of float64 vectors that
// are longer than a CPU's cache come to some 5 GB a second.
const DefaultFold PerByte = 200

// maxTime bounds each time that is given, some 52 days, and the sum of all is
// bounded by maxSum.
const (
	maxTime = 1 << 52
	maxSum  = math.MaxInt64 / 2

	maxRepair = 1 << 34 // 17 s; the longest wait is 64 times ir.MaxAfter of it
)

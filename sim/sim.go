package sim

import (
	"fmt"
	"math"

	"github.com/schedgen/schedgen/internal/adapt"
	"github.com/schedgen/schedgen/internal/model/link"
	"github.com/schedgen/schedgen/ir"
)

// Time is a time or a duration of a model in nanoseconds.
type Time int64

// Never is the time of an event that does not happen.
const Never Time = -1

// Programs is a schedule from which a run requests one rank's program at a time: a *schedule.Spec,
// or the result of [Of]. Its results must not change. If it has a method Maker, as *schedule.Spec
// does, the run uses that instead of Program.
type Programs interface {
	Header() ir.Header
	Program(rank int) ir.Program
}

// maker is implemented by programs that can also be made one after the other in the same memory.
// Each is valid until the next call of the function that Maker returns.
type maker interface {
	Maker() func(rank int) ir.Program
}

// Of returns the programs of s.
func Of(s *ir.Schedule) Programs { return whole{s} }

type whole struct{ s *ir.Schedule }

func (w whole) Header() ir.Header { return w.s.Header }

func (w whole) Program(rank int) ir.Program { return w.s.Programs[rank] }

// Config describes a simulation. Model is required. The zero value of every other field means that
// the feature is absent.
type Config struct {
	Model  Model   // costs of messages
	Hosts  int     // number of hosts; ranks are on them in blocks as even as possible; 0: each on its own
	Switch PerByte // time per byte of a switch that all hosts share; 0: it is fast enough
	// Fold is the time of a fold for each byte of each operand but the first. A copy of one operand
	// takes as much.
	Fold PerByte
	// Bytes is the length of one block, such as the message of a broadcast. A collective without
	// blocks ignores it.
	Bytes   int
	Arrival Arrival // when the ranks call the operation
	Seed    uint64  // of all random values
	Noise   Time    // maximum random delay of a message, and of each copy of a multicast, drawn uniformly
	Loss    float64 // probability that a rank misses a multicast, independently for each rank
	// Unready says that a rank that has not called the operation loses a multicast that arrives
	// (paper 000, section 2.1). Otherwise the multicast waits for the rank.
	Unready bool
	Fanout  Time     // additional time of a multicast compared with a put
	Repair  Time     // the base timeout of repairs; 0: no repairs
	Delay   Delay    // what the root waits for before it begins, if there is a root
	Before  Programs // a barrier that all ranks call before the operation
	// Otherwise is another schedule for the same call. Under Delay.Adaptive the root chooses it for a
	// run if multicasts have missed more than the share Lost of the drawn ranks, as a moving average
	// over about 16 runs of a Sim. So does the runtime's adaptive policy. nil: there is none.
	Otherwise Programs
	Lost      float64
	Path      bool // find the critical path; takes about 40 bytes for each send and receive
}

// Counts counts what happened in a run.
type Counts struct {
	Sends    int64 `json:"sends"`           // puts and multicasts that were sent
	Mcasts   int64 `json:"multicasts"`      // multicasts among them
	Received int64 `json:"received"`        // messages that were received, including copies of multicasts
	Lost     int64 `json:"lost"`            // copies of multicasts that were lost
	Repairs  int64 `json:"repairs"`         // repairs that were made
	Folds    int64 `json:"folds,omitempty"` // folds that were made
	Events   int64 `json:"events"`          // sends, arrivals, receives, work, and folds that take time
}

// Result is the result of a run.
type Result struct {
	Enters   []Time // by rank: when its call begins
	Returns  []Time // by rank: when its call returns; Never if it does not
	Makespan Time   // when the last call returns, Never if some call never does
	Counts   Counts // of messages, losses and other events
	Path     []Step // the critical path, if Config.Path was set
	Loads    []Load // by host, if the model is Links
	// ArcLoads counts the messages that have crossed each arc. Only the model Network sets it.
	ArcLoads []link.Count[Time]
}

// Run simulates one operation. It takes about the time of sorting the messages, and memory in
// proportion to the programs of the ranks that have begun and have not ended. Equal arguments give
// equal results on every machine. Run fails if programs name ranks or slots that do not exist, or
// if something in c is negative or so large that times could overflow.
func Run(p Programs, c Config) (*Result, error) {
	s, err := New(p, c)
	if err != nil {
		return nil, err
	}
	return s.Run(c.Seed)
}

// Sim runs one operation repeatedly with different seeds in the same memory. Only one goroutine at
// a time may use it.
type Sim struct {
	e      *engine
	other  *engine // of Config.Otherwise; nil: there is none
	missed float64 // the share of drawn ranks that multicasts have missed
	before *Sim
	name   string
}

// New returns a simulation of p. It fails if c is invalid; see [Run].
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
	if c.Otherwise != nil {
		if s.other, err = newEngine(c.Otherwise, &c); err == nil && (s.other.h.Ranks != h.Ranks || s.other.h.Root != h.Root || s.other.row.Name != e.row.Name) {
			err = fmt.Errorf("%d ranks, root %d, and otherwise %s of %d ranks, root %d", h.Ranks, h.Root, s.other.h.Name(), s.other.h.Ranks, s.other.h.Root)
		}
		if err != nil {
			return nil, fmt.Errorf("simulate %s: %w", s.name, err)
		}
	}
	return s, nil
}

// Run runs the operation with a seed. Its result depends on the runs before only if Delay.Adaptive is
// set. It fails as [Run] does, or if the barrier before the operation never ends.
func (s *Sim) Run(seed uint64) (*Result, error) {
	enters := make([]Time, len(s.e.ranks))
	s.e.c.Arrival.times(enters, s.e.h.Root, seed)
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
	e := s.e
	if s.other != nil && s.missed > e.c.Lost {
		s.other.adapted = e.adapted
		e = s.other
	}
	if err := e.simulate(seed, enters); err != nil {
		return nil, fmt.Errorf("simulate %s: %w", e.h.Name(), err)
	}
	if g := &e.gate; e.c.Delay.Adaptive && g.drawn >= 0 {
		const over = 16
		s.e.adapted = adapt.Next(e.adapted, !g.heard, g.came >= 0 && g.came <= g.began, g.came > g.calls)
		if s.missed -= s.missed / over; !g.heard {
			s.missed += 1. / over
		}
	}
	return e.result(), nil
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
		return fmt.Errorf("a block of %d bytes: must not be negative", c.Bytes)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("a loss of %v: must be in 0..1", c.Loss)
	}
	return c.Arrival.check()
}

// DefaultFold is the default time of a fold for each byte. Sums of float64 vectors that are longer
// than a CPU's cache run at about 5 GB a second.
const DefaultFold PerByte = 200

// maxTime bounds each given time, about 52 days. maxSum bounds their sum.
const (
	maxTime = 1 << 52
	maxSum  = math.MaxInt64 / 2

	maxRepair = 1 << 34 // 17 s; the longest wait is ir.MaxAfter times as long
)

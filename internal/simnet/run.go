package simnet

import (
	"cmp"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Result is the result of a run.
type Result struct {
	Violation error           // the first broken promise; nil: none
	Digest    uint64          // hash of everything that happened; the same for the same scenario
	Events    int             // steps of the simulation
	End       Time            // when the last process had ended
	Calls     []Call          // in the order of their returns
	Up, Down  []LinkCount     // by host
	Cores     []core.Counters // by rank
	Overruns  []int           // by rank: datagrams that its socket had no room for
}

// Call is one call of one rank. Step is the index of the call in Scenario.Script, from 0. Err is
// the call's error, or nil.
type Call struct {
	Rank, Step    int
	Enter, Return Time
	Err           error
}

// Violation is a broken promise of a communicator.
type Violation struct {
	At   Time
	Text string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("after %.6f ms: %s", float64(v.At)/1e6, v.Text)
}

// world is a run.
type world struct {
	sc      *Scenario
	net     Net
	comm    Comm
	now     Time
	events  events
	ties    random
	random  random // for faults
	packets packets
	hosts   []host
	hostOf  []int
	cores   []Time // when each becomes free
	procs   []*process
	trace   trace
	checker
	tamper tamper
	steps  int
}

// tamper lets tests break a run.
type tamper struct {
	wrap     func(rank int, n core.Net) core.Net
	programs func(o *Op) *ir.Schedule
	loses    func(p *packet) bool // selects packets that vanish
	over     func(w *world)       // called when everything has ended
}

// Run runs a scenario. It writes a line to trace for each event, unless trace is nil. An error
// means that the scenario is invalid or that trace could not be written; a broken promise is in the
// result.
func Run(sc *Scenario, trace io.Writer) (*Result, error) {
	return run(sc, trace, tamper{})
}

func run(sc *Scenario, trace io.Writer, t tamper) (*Result, error) {
	if err := sc.check(); err != nil {
		return nil, err
	}
	w := &world{
		sc: sc, net: sc.Net.filled(), comm: sc.Comm.filled(), now: 1, tamper: t,
		ties: seeded(sc.Seed, 't'), random: seeded(sc.Seed, 'f'),
	}
	w.trace.out = trace
	if err := w.build(); err != nil {
		return nil, err
	}
	w.loop()
	if t.over != nil {
		t.over(w)
	}
	return w.result(), w.trace.err
}

// build creates hosts and processes, and schedules when they begin and die.
func (w *world) build() error {
	spec, err := schedule.New(w.comm.Anycast, schedule.Params{Ranks: w.sc.Ranks})
	if err != nil {
		return fmt.Errorf("%w: comm.anycast: %w", ErrScenario, err)
	}
	if spec.Overlay() == nil {
		return fmt.Errorf("%w: comm.anycast: %s is not rootless", ErrScenario, w.comm.Anycast)
	}
	anyreduce, err := schedule.New(w.comm.Anyreduce, schedule.Params{Ranks: w.sc.Ranks})
	if err != nil {
		return fmt.Errorf("%w: comm.anyreduce: %w", ErrScenario, err)
	}
	if anyreduce.Overlay() == nil {
		return fmt.Errorf("%w: comm.anyreduce: %s is not rootless", ErrScenario, w.comm.Anyreduce)
	}
	w.spread()
	w.cores = make([]Time, w.net.Cores)
	w.checker.init(w)
	id := w.id()
	for rank := range w.sc.Ranks {
		p := &process{
			w: w, rank: rank, sender: sender{out: make([]*lane, w.sc.Ranks*int(wire.Lanes))},
			ending: ending{gone: make([]bool, w.sc.Ranks), late: make([]bool, w.sc.Ranks)},
		}
		p.taken, p.plans = make([]uint64, w.sc.Ranks), make(map[Op]*core.Plan)
		p.asking.got, p.asking.learnt = make([]uint64, w.sc.Ranks), make([]uint64, w.sc.Ranks)
		var n core.Net = p
		if w.tamper.wrap != nil {
			n = w.tamper.wrap(rank, n)
		}
		p.core = core.New(w.config(rank, id, spec, anyreduce), n)
		p.core.Answers(&adds, true)
		w.procs = append(w.procs, p)
		w.at(w.beginning(rank), event{kind: proceed, rank: rank})
	}
	for i := range w.sc.Faults {
		if f := &w.sc.Faults[i]; f.Kind == FaultCrash || f.Kind == FaultSilent {
			w.at(max(f.From, 1), event{kind: crash, rank: f.Rank, arg: i})
		}
	}
	return nil
}

// spread distributes the ranks over the hosts.
func (w *world) spread() {
	hosts := cmp.Or(w.sc.Hosts, w.sc.Ranks)
	w.hosts = make([]host, hosts)
	w.hostOf = make([]int, w.sc.Ranks)
	for rank := range w.sc.Ranks {
		h := rank * hosts / w.sc.Ranks
		w.hostOf[rank] = h
		w.hosts[h].ranks = append(w.hosts[h].ranks, rank)
	}
	for h := range w.hosts {
		w.hosts[h].up.Link, w.hosts[h].down.Link = w.net.Up, w.net.Down
	}
}

func (w *world) id() (id [16]byte) {
	r := seeded(w.sc.Seed, 'i')
	r.fill(id[:])
	return id
}

// config returns the configuration that runtime.Comm would give a core.
func (w *world) config(rank int, id [16]byte, anycast, questions *schedule.Spec) core.Config {
	alg, asks := anycast.Algorithm(), questions.Algorithm()
	n, c := &w.net, &w.comm
	var caps wire.Caps
	if w.sc.Net.Multicast {
		caps.Multicast, caps.Direct, caps.Datagram, caps.Room = true, true, n.Datagram, n.Room
	}
	return core.Config{
		Rank: rank, Size: w.sc.Ranks, ID: id, Epoch: 1, Caps: caps,
		Delay: c.Delay, RootDelay: c.RootDelay, Repair: c.Repair, Stall: c.Stall, Silence: c.Silence, Retain: c.Retain,
		Overlay: anycast.Overlay(), AskOverlay: questions.Overlay(), AskSpread: asks.Multicasts(), Spread: alg.Multicasts(), PublishPrint: 1, PublishWindow: c.PublishWindow, PublishBytes: c.PublishBytes, MaxMessage: c.MaxMessage,
	}
}

// at schedules an event.
func (w *world) at(t Time, e event) {
	e.at = t
	if !w.net.Ordered {
		e.tie = w.ties.next()
	}
	w.events.push(e)
}

// tripTo returns how long a short packet takes from one rank to another.
func (w *world) tripTo(from, to int) Time {
	if w.hostOf[from] == w.hostOf[to] {
		return w.net.Loop
	}
	return w.net.Up.Delay + w.net.Down.Delay + 1
}

// maxSteps bounds a run, so that an endless run is found.
const maxSteps = 1 << 30

// loop runs until all processes have ended.
func (w *world) loop() {
	bound := w.bound()
	for w.violation == nil && !w.over() {
		if w.events.queue.Len() == 0 || w.steps == maxSteps {
			w.stuck("nothing happens any more")
			return
		}
		e := w.events.pop()
		if e.at > bound {
			w.now = bound
			w.stuck("it is not over in time")
			return
		}
		w.now = e.at
		w.steps++
		w.happen(&e)
	}
}

// happen executes an event.
func (w *world) happen(e *event) {
	switch e.kind {
	case atSwitch:
		w.branch(e.pkt)
	case atHost:
		w.arrive(e.pkt, e.arg)
	case confirm:
		e.lane.confirmed(w, e.arg)
	case resend:
		e.lane.timeout(w, e.pkt, e.arg)
	case tellAgain:
		w.launch(e.pkt)
	case opened:
		e.lane.opened = true
		w.procs[e.lane.from].laneOpened(e.lane)
	case look:
		p := w.procs[e.rank]
		if p.due == e.at {
			p.due = 0
		}
		p.doDue()
	case proceed:
		w.procs[e.rank].proceed()
	case backdrop:
		w.procs[e.rank].lookBack()
	case notice:
		w.procs[e.rank].hear(e.arg, e.note)
	case crash:
		w.procs[e.rank].die(&w.sc.Faults[e.arg])
	case lingered:
		w.procs[e.rank].giveUp()
	}
}

// laneOpened continues work that waited for a connection.
func (p *process) laneOpened(l *lane) {
	if p.state == closing {
		p.part()
		return
	}
	p.doDue()
}

// proceed continues the script, unless the process is paused.
func (p *process) proceed() {
	later := max(p.w.pausedUntil(p.rank), p.busy)
	switch {
	case !p.alive() || p.state == closing:
	case later > p.w.now:
		p.w.at(later, event{kind: proceed, rank: p.rank})
	case p.state == absent:
		p.begin()
	default:
		p.next()
	}
}

func (w *world) result() *Result {
	r := &Result{Digest: w.trace.digest, Events: w.steps, End: w.now, Calls: w.calls}
	if w.violation != nil {
		r.Violation = w.violation
	}
	for h := range w.hosts {
		r.Up = append(r.Up, w.hosts[h].up.Count())
		r.Down = append(r.Down, w.hosts[h].down.Count())
	}
	for _, p := range w.procs {
		r.Cores = append(r.Cores, p.core.Counters())
		r.Overruns = append(r.Overruns, p.overrun)
	}
	return r
}

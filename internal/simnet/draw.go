package simnet

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// Draw draws a scenario of at most most ranks from a seed. The same seed gives the same scenario.
// The steps and faults are drawn so that every call could succeed if no rank died.
func Draw(seed uint64, most int) *Scenario {
	r := seeded(seed, 'd')
	s := &Scenario{Seed: seed, Eager: r.chance(400), Close: r.chance(900), Limit: 120 * Second}
	s.Ranks = 1 + min(r.below(most), r.below(most+4)) // mostly few ranks, which run faster
	if r.chance(250) {
		s.Hosts = 1 + r.below(s.Ranks)
	}
	s.Net, s.Comm = drawNet(&r), drawComm(&r)
	s.drawScript(&r)
	s.drawFaults(&r)
	s.drawOpen(&r)
	if r.chance(300) {
		s.Script = append(s.Script, Op{Kind: OpAgree})
	}
	own := seeded(seed, 'h')
	s.drawSilences(&own)
	return s
}

// drawSilences makes some ranks fall silent together in some scenarios: their hosts vanish, their
// processes are stopped and continue later, or the network is cut. Only the ranks themselves can
// detect this. All other faults are too short to count as silence.
func (s *Scenario) drawSilences(r *random) {
	if s.Ranks < 2 || r.chance(800) {
		return
	}
	s.Comm.Silence, s.Net.GiveUp = 3*Second, 3600*Second
	for _, l := range []*Link{&s.Net.Up, &s.Net.Down} {
		if l.Rate > 0 {
			l.Rate = max(l.Rate, 100e6)
		}
	}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool {
		return slices.Contains([]FaultKind{FaultSlow, FaultPartition, FaultCrash, FaultSilent, FaultMismatch}, f.Kind)
	})
	for i := range s.Faults {
		s.Faults[i].PerMille = min(s.Faults[i].PerMille, 50)
	}
	f := Fault{Kind: pick(r, FaultSilent, FaultPause, FaultPartition), From: r.upTo(pick(r, Millisecond, 20*Millisecond, 300*Millisecond))}
	f.Until = f.From + pick(r, 8*s.Comm.Silence, 15*s.Comm.Silence) + r.upTo(Second)
	group, side := s.drawGroup(r), uint64(0)
	for _, rank := range group {
		side |= 1 << (rank * cmp.Or(s.Hosts, s.Ranks) / s.Ranks)
	}
	if f.Kind == FaultPartition {
		f.Side = side
		s.Faults = append(s.Faults, f)
	} else {
		for _, f.Rank = range group {
			s.Faults = append(s.Faults, f)
		}
	}
	s.Calm = max(s.Calm, f.Until)
}

// drawGroup returns some ranks: neighbours, or any.
func (s *Scenario) drawGroup(r *random) (group []int) {
	size := 1 + r.below(s.Ranks-1)
	first, apart := r.below(s.Ranks), r.chance(500)
	for n := range s.Ranks {
		if !apart && n < size || apart && r.below(s.Ranks) < size {
			group = append(group, (first+n)%s.Ranks)
		}
	}
	return group
}

func drawNet(r *random) Net {
	l := Link{Delay: pick(r, 5*Microsecond, 20*Microsecond, 50*Microsecond, 500*Microsecond, 5*Millisecond)}
	if r.chance(600) {
		l.Rate = pick(r, int64(10e6), 100e6, 1e9, 10e9)
		l.Queue = pick(r, 0, 8<<10, 32<<10, 128<<10, 512<<10)
	}
	n := Net{
		Up: l, Down: l, Multicast: r.chance(850),
		Datagram: pick(r, 0, 0, 64, 300, 1452), Room: pick(r, 0, 0, 4<<10, 16<<10, 64<<10),
		Segment: pick(r, 0, 0, 100, 16<<10), Flight: pick(r, 0, 0, 4<<10, 1<<20), Buffer: pick(r, 0, 0, 2<<10, 16<<10),
		Resend: pick(r, 0, 5*Millisecond, 40*Millisecond),
	}
	if l.Queue > 0 {
		n.Segment = min(cmp.Or(n.Segment, 1448), l.Queue/4)
		n.Datagram = min(cmp.Or(n.Datagram, datagramBytes), l.Queue/4)
	}
	if r.chance(300) {
		n.Cost = pick(r, 200, Microsecond, 10*Microsecond)
	}
	return n
}

func drawComm(r *random) Comm {
	c := Comm{
		Anycast: pick(r, algorithms(schedule.Anycast)...),
		Chunk:   pick(r, 0, 0, 100, 1000, 4000),
		Repair:  pick(r, 0, 0, 5*Millisecond, 50*Millisecond), Stall: pick(r, 0, 0, 50*Millisecond),
		Retain:        pick(r, 0, 0, 0, 1<<10),
		PublishWindow: pick(r, 0, 0, 4, 16), PublishBytes: pick(r, 0, 0, 4<<10), MaxMessage: 64 << 10,
	}
	if r.chance(250) {
		c.Delay = core.DelayPolicy(r.below(4))
		c.RootDelay = r.upTo(2 * Millisecond)
	}
	c.Anyreduce = pick(r, "anyreduce/skip-ring", "anyreduce/circulant")
	return c
}

// algorithms returns the names of the algorithms of a collective.
func algorithms(collective string) (names []string) {
	for _, a := range schedule.AlgorithmsOf(collective) {
		names = append(names, a.Name)
	}
	return names
}

func (s *Scenario) drawScript(r *random) {
	for range 1 + r.below(12) {
		switch r.below(11) {
		case 0, 1:
			s.drawBcast(r)
		case 2, 3:
			s.drawBlocks(r)
		case 4, 5:
			s.drawBarrier(r)
		case 6:
			s.Script = append(s.Script, Op{Kind: OpCompute, Time: pick(r, Millisecond, 10*Millisecond, 100*Millisecond)})
		case 7:
			s.drawRootless(r)
		case 8:
			s.drawQuestions(r)
		default: // the same step again, so that operations follow each other
			if n := len(s.Script); n > 0 && s.Script[n-1].Kind != OpPublish && s.Script[n-1].Kind != OpAsk {
				s.Script = append(s.Script, s.Script[n-1])
			}
		}
	}
}

func (s *Scenario) drawBcast(r *random) {
	o := Op{Kind: OpBcast, Algorithm: pick(r, algorithms(schedule.Bcast)...), Root: r.below(s.Ranks), Bytes: drawBytes(r)}
	if s.Ranks > 1 && r.chance(200) {
		o.Hosts = 1 + r.below(s.Ranks)
	}
	s.Script = append(s.Script, o)
}

func drawBytes(r *random) int {
	switch r.below(4) {
	case 0:
		return r.below(64)
	case 1:
		return r.below(2 << 10)
	case 2:
		return r.below(20 << 10)
	default:
		return r.below(64 << 10)
	}
}

// drawBlocks adds a call of a collective that moves several blocks, or folds. The blocks that a
// rank holds or wants are together as long as the message of a broadcast.
func (s *Scenario) drawBlocks(r *random) {
	rows := slices.DeleteFunc(ir.Collectives(), func(row ir.Collective) bool {
		return row.Published || row.Blocks == nil || row.Blocks(2) < 2 && row.Inputs == nil || len(algorithms(row.Name)) == 0
	})
	row := pick(r, rows...)
	o := Op{Kind: OpKind(row.Name), Algorithm: pick(r, algorithms(row.Name)...), Bytes: drawBytes(r) / s.Ranks, Counted: r.chance(250)}
	if row.Rooted {
		o.Root = r.below(s.Ranks)
	}
	if s.Ranks > 1 && r.chance(200) {
		o.Hosts = 1 + r.below(s.Ranks)
	}
	if r.chance(300) {
		o.Chunks = 1 + r.below(4)
	}
	if a, _ := schedule.Named(o.Algorithm); a.Uncut() {
		o.Chunks = 0
	}
	o.Counted = o.Counted && row.Inputs == nil
	if _, err := o.spec(s); err != nil {
		o.Hosts = 0 // not all algorithms know hosts
	}
	if _, err := o.spec(s); err != nil {
		o.Counted = false // not all algorithms work without the lengths of other ranks
	}
	s.Script = append(s.Script, o)
}

func (s *Scenario) drawBarrier(r *random) {
	o := Op{Kind: OpBarrier, Algorithm: pick(r, algorithms(schedule.Barrier)...)}
	if o.Algorithm == "barrier/hsb" || o.Algorithm == "barrier/hsb-mcast" {
		o.FanIn, o.FanOut = r.below(4), r.below(4)
	} else if r.chance(500) {
		o.Degree = 2 + r.below(3)
	}
	if r.chance(200) {
		o.Hosts = 1 + r.below(s.Ranks)
	}
	s.Script = append(s.Script, o)
}

// drawRootless adds steps in which ranks publish, flush or not, and then take. If no goroutine
// takes messages meanwhile, no more messages are published than the windows allow.
func (s *Scenario) drawRootless(r *random) {
	c := s.Comm.filled()
	o := Op{Kind: OpPublish, Root: r.below(s.Ranks+1) - 1, Count: 1 + r.below(3*c.PublishWindow), Bytes: r.below(c.PublishBytes/2 + 1)}
	if !s.Eager {
		o.Count = 1 + r.below(max(1, c.PublishWindow/2))
		o.Bytes = r.below(c.PublishBytes/2/o.Count + 1)
	}
	o.Bytes = min(o.Bytes, c.MaxMessage)
	o.Count = min(o.Count, 1+(256<<10)/(o.Bytes+1)/s.Ranks)
	s.Script = append(s.Script, o)
	s.Script = append(s.Script, pick(r, nil, s.flushing())...)
	s.Script = append(s.Script, Op{Kind: OpTake})
}

// drawQuestions adds steps in which ranks ask, and then all wait for the results.
func (s *Scenario) drawQuestions(r *random) {
	s.Script = append(s.Script, Op{Kind: OpAsk, Root: r.below(s.Ranks+1) - 1, Count: 1 + r.below(4), Bytes: r.below(2 << 10)}, Op{Kind: OpLearn})
}

// flushing adds a flush. In groups so large that a rank does not learn of every goodbye, a barrier
// follows before any rank leaves.
func (s *Scenario) flushing() []Op {
	ops := []Op{{Kind: OpFlush}}
	if s.Ranks > asked+1 {
		ops = append(ops, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
	}
	return ops
}

// drawOpen lets ranks start several operations before they wait for one, and adds steps that wait
// for all.
func (s *Scenario) drawOpen(r *random) {
	if r.chance(500) {
		return
	}
	s.Open = 2 + r.below(2*core.MaxOpen)
	if at := r.below(2*len(s.Script) + 1); at < len(s.Script) && !slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == FaultMismatch }) {
		s.Script = slices.Insert(s.Script, at, Op{Kind: OpWait})
	}
}

// drawFaults adds faults for a limited time.
func (s *Scenario) drawFaults(r *random) {
	if r.chance(100) {
		return
	}
	phase := pick(r, 10*Millisecond, 50*Millisecond, 300*Millisecond, Second)
	for range r.below(6) {
		f := Fault{
			Kind: pick(r, FaultLoss, FaultLoss, FaultBurst, FaultReorder, FaultDuplicate, FaultCorrupt,
				FaultSlow, FaultPartition, FaultPause, FaultLate),
			Rank: r.below(s.Ranks), Host: r.below(s.Ranks+1) - 1,
			From: r.upTo(phase), PerMille: pick(r, 1, 10, 50, 200, 700),
		}
		f.Until = f.From + r.upTo(phase)
		s.Faults = append(s.Faults, s.drawAmount(r, f))
	}
	if s.Ranks > 1 && r.chance(200) {
		f := Fault{Kind: pick(r, FaultCrash, FaultSilent), Rank: r.below(s.Ranks), From: r.upTo(phase), Amount: r.upTo(50 * Millisecond)}
		s.Faults = append(s.Faults, f)
	}
	if s.Ranks > 1 && r.chance(40) {
		s.Faults = append(s.Faults, Fault{Kind: FaultMismatch, Rank: r.below(s.Ranks), Amount: Time(r.below(len(s.Script) + 1))})
	}
	for i := range s.Faults {
		s.Calm = max(s.Calm, s.Faults[i].From, s.Faults[i].Until)
	}
}

// drawAmount draws the fields of a fault that depend on its kind.
func (s *Scenario) drawAmount(r *random, f Fault) Fault {
	switch f.Kind {
	case FaultBurst:
		f.PerMille = min(f.PerMille, 50)
		f.Amount = pick(r, Millisecond, 5*Millisecond, 20*Millisecond)
	case FaultReorder:
		f.Amount = pick(r, 10*Microsecond, Millisecond, 30*Millisecond)
	case FaultSlow:
		f.Amount = Time(pick(r, 2, 10, 50))
	case FaultPartition:
		f.Side = r.next()
		f.Until = min(f.Until, f.From+500*Millisecond) // closing waits no longer than 2 s
	}
	return f
}

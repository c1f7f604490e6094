package runtime

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// State describes a communicator at one moment: which operations are open, which slots they lack,
// and which ranks they wait for. It is for people who want to know why nothing moves.
type State struct {
	Comm      uint8  `json:"comm"`             // the communicator's number among those of the transport; 0 is the first
	Process   int    `json:"process"`          // this process's rank in the first communicator
	Rank      int    `json:"rank"`             // this rank in the communicator
	Size      int    `json:"size"`             // number of ranks
	First     int    `json:"first"`            // the process of the communicator's rank 0: First, Comm and Epoch together identify a communicator of a job
	Epoch     uint32 `json:"epoch"`            // version of the membership: Config.Epoch, or a higher number if Split, Dup or Shrink made the communicator
	Transport string `json:"transport"`        // the package of the transport, such as tcp
	Group     string `json:"group,omitempty"`  // the address of its own multicast group; empty: it uses the transport's group
	Shared    string `json:"shared,omitempty"` // why it has no group of its own, so that its multicasts reach all ranks of the transport; empty: it has one, or needs none
	Callers   int    `json:"callers"`          // goroutines inside a call
	Begun     uint64 `json:"begun"`            // the last operation that has begun, counted from 1
	Ended     uint64 `json:"ended"`            // the last operation up to which all have ended
	Queued    int    `json:"queued"`           // operations that have been started and have not begun
	Unread    int    `json:"unread"`           // rootless messages that the process has not taken

	Questions []core.OpenQuestion `json:"questions,omitempty"` // the first questions of Ask without a result

	Open    []Operation `json:"open"`              // operations that have begun and not ended, the oldest first
	Peers   []core.Peer `json:"peers,omitempty"`   // ranks that have left, are lost, or may be lost
	Watch   *core.Watch `json:"watch,omitempty"`   // the nearest rank that this rank asks for signs of life
	Failure string      `json:"failure,omitempty"` // why the communicator has failed, or that it is closed
	Totals  Totals      `json:"totals"`            // counters since Join

	Latencies []Latency `json:"latencies,omitempty"` // with Observe.Latency, by algorithm and length
	Learned   []Learned `json:"learned,omitempty"`   // with Config.Learn, by their first calls
}

// Operation is an open operation and the ranks that it waits for.
type Operation struct {
	core.OpState

	// WaitsFor are the first ranks that, by the schedule, set one of the first missing slots.
	// SendsTo are the first ranks that this rank puts to, if frames have not left: one of these
	// ranks may not take them.
	WaitsFor []int `json:"waits_for,omitempty"`
	SendsTo  []int `json:"sends_to,omitempty"`

	programs func(rank int) ir.Program
}

// maxWaits is how many ranks a state names; maxWaitsOn is how many missing slots it looks up to
// find them.
const (
	maxWaits   = 64
	maxWaitsOn = 64
)

// State describes c at this moment. It blocks the communicator while it copies, and may be called
// by any goroutine at any time.
func (c *Comm) State() State {
	s := c.snapshot()
	for i := range s.Open {
		s.Open[i].find(s.Size, s.Rank)
	}
	return s
}

// States returns the states of all communicators that share c's transport and are not closed, by
// number and epoch. If all are closed, it returns the state of c alone.
func (c *Comm) States() []State {
	c.drv.mu.Lock()
	active := slices.Clone(c.drv.active)
	c.drv.mu.Unlock()
	if len(active) == 0 {
		active = []*Comm{c}
	}
	slices.SortFunc(active, func(a, b *Comm) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.cfg.Epoch, b.cfg.Epoch))
	})
	var all []State
	for _, of := range active {
		all = append(all, of.State())
	}
	return all
}

// snapshot is State without the parts that need other ranks' programs, which take long to make.
func (c *Comm) snapshot() State {
	d := c.drv
	d.mu.Lock()
	defer d.mu.Unlock()
	in := c.core.Inspect(d.now())
	s := State{
		Comm: c.number, Process: d.tr.Rank(), Rank: c.rank, Size: c.size, First: c.endpointOf(0), Epoch: c.cfg.Epoch, Transport: transportName(d.tr), Group: c.groupName(), Shared: c.shared,
		Callers: c.calls, Begun: in.Begun, Ended: in.Ended, Unread: in.Unread, Questions: in.Questions, Open: []Operation{}, Peers: in.Peers, Watch: in.Watch,
		Totals: c.totals(), Latencies: c.latencies.list(),
	}
	if c.learned != nil {
		s.Learned = c.learned.list()
	}
	for r := c.queue.first; r != nil; r = r.next {
		s.Queued++
	}
	for _, o := range in.Open {
		s.Open = append(s.Open, c.operation(o))
	}
	if err := c.core.Err(); err != nil {
		s.Failure = err.Error()
	}
	return s
}

// operation returns an open operation without the parts that find fills in.
func (c *Comm) operation(o core.OpState) Operation {
	op := Operation{OpState: o}
	if i := slices.IndexFunc(c.open, func(r *Request) bool { return r.seq == o.Seq }); i >= 0 {
		op.programs = c.open[i].plan.Programs
	}
	return op
}

// find fills in the ranks that the operation waits for.
func (o *Operation) find(size, rank int) {
	if o.programs == nil || size > maxSearched {
		return
	}
	var missing []ir.Slot
	for _, run := range o.Missing.Runs {
		missing = run.Slots(missing, maxWaitsOn-len(missing))
	}
	if len(missing) > 0 {
		o.WaitsFor = waitingFor(o.programs, size, rank, missing, maxWaits)
	}
	if o.Unsent > 0 {
		o.SendsTo = targets(o.programs(rank))
	}
	o.programs = nil
}

// targets returns the first ranks that p puts to, ascending.
func targets(p ir.Program) []int {
	var to []int
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Op == ir.Put {
				to = append(to, int(a.To))
			}
		}
	}
	slices.Sort(to)
	to = slices.Compact(to)
	return to[:min(len(to), maxWaits)]
}

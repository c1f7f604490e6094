package core

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
)

// The state of a core, for people who want to know why nothing moves. Inspect only reads; the core
// keeps nothing for it except two moments that a tick writes.

// Inspection is the state of a core.
type Inspection struct {
	Begun  uint64    // the last operation that has begun, counted from 1
	Ended  uint64    // all operations up to this one have ended
	Open   []OpState // operations that have begun and not ended, the oldest first
	Peers  []Peer    // ranks that have left, are lost, or may be lost
	Watch  *Watch    // the nearest rank that this rank asks for signs of life
	Unread int       // rootless messages that the process has not taken

	Questions []OpenQuestion // the first questions without a result
}

// OpenQuestion is a question without a result.
type OpenQuestion struct {
	Origin int    `json:"origin"` // the rank that has asked
	Seq    uint64 `json:"seq"`    // its number among the origin's questions, from 0
	// WaitsFor are the ranks whose answers this rank lacks: itself, or ranks that it has asked.
	// Their answers cover all ranks behind them. If it lacks no answer, WaitsFor is the rank that
	// sends it the result.
	WaitsFor []int `json:"waits_for"`
}

// OpState is an open operation. Times are in nanoseconds, and 0 until the first tick after the
// operation began.
type OpState struct {
	Name   string `json:"name"` // "bcast/mcast-chain"
	Seq    uint64 `json:"seq"`
	Root   int    `json:"root"`  // -1: the operation has no root
	Bytes  int    `json:"bytes"` // bytes of a block; for a broadcast, of the message
	Chunks int    `json:"chunks"`
	Age    Time   `json:"age_ns"`   // since it began
	Quiet  Time   `json:"quiet_ns"` // since a slot was last set; for the oldest operation only
	Fired  int    `json:"fired"`    // rules that have fired,
	Rules  int    `json:"rules"`    // of this many that must fire

	Missing Missing `json:"missing"`           // slots that the call waits for
	Absent  []int   `json:"absent,omitempty"`  // ranks that have said that they have not entered it
	Delayed bool    `json:"delayed,omitempty"` // the root has not started, because of its policy

	Unsent  int       `json:"unsent"`            // frames that have not left this process
	Waiting []Waiting `json:"waiting,omitempty"` // what rules have asked for and must wait

	Repairs   int `json:"repairs"`    // repair rules that are armed
	Asked     int `json:"asked"`      // fragments or chunks that have been asked for and have not arrived
	FromMcast int `json:"from_mcast"` // chunks that arrived by multicast first
	FromPut   int `json:"from_put"`   // chunks that arrived by put first
}

// Missing holds the slots that have not arrived, and for which the rank waits.
type Missing struct {
	Runs    []Run `json:"runs,omitempty"` // the first runs
	Chunks  int   `json:"chunks"`         // number of missing chunks and partial results
	Signals int   `json:"signals"`        // number of missing signals
}

// Waiting are the actions of an operation that wait for the same thing.
type Waiting struct {
	// For is what they wait for. entry: puts, until their receivers have entered the operation or
	// this rank has settled earlier ones. report: puts of chunks that their receivers may get by
	// multicast, and report. room: multicasts, until receivers have room. work: long folds, done
	// part by part.
	For   string `json:"for"`
	Ranks []int  `json:"ranks,omitempty"` // the ranks that they wait for
	Slots []Run  `json:"slots"`           // the first runs of slots that are sent or made, ascending
	Count int    `json:"count"`           // number of slots
}

// Run is a range of consecutive slots, from First to Last inclusive.
type Run struct{ First, Last ir.Slot }

// String returns the run as text, such as c4-c17 or s2.
func (r Run) String() string {
	if r.First == r.Last {
		return r.First.String()
	}
	return fmt.Sprintf("%v-%v", r.First, r.Last)
}

// MarshalText returns the text of String.
func (r Run) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Peer is a rank that has left, is lost, or may be lost.
type Peer struct {
	Rank  int    `json:"rank"`
	State string `json:"state"`           // suspected: it takes no connections; left: in good order; lost
	Last  uint64 `json:"last,omitempty"`  // left: the last operation that it took part in, if it has said so
	Cause string `json:"cause,omitempty"` // suspected: the cause
}

// Watch is a rank that this rank asks for signs of life.
type Watch struct {
	Rank  int  `json:"rank"`
	Quiet Time `json:"quiet_ns"` // time since the last sign
	Limit Time `json:"limit_ns"` // time without a sign after which it is lost
}

// maxRuns is how many runs of missing slots an inspection lists.
const maxRuns = 64

// Inspect returns the state of the core at time now. It changes nothing.
func (c *Core) Inspect(now Time) Inspection {
	in := Inspection{Begun: c.ops.seq, Ended: c.ops.complete, Open: []OpState{}, Peers: peersOf(&c.members), Unread: c.Mail()}
	for seq := c.ops.complete + 1; seq <= c.ops.seq; seq++ {
		if o := c.ops.open(seq); o != nil {
			in.Open = append(in.Open, c.ops.inspect(o, now))
		}
	}
	in.Questions = c.surveys.inspect()
	if rank, last, ok := c.watch.Nearest(); ok {
		in.Watch = &Watch{Rank: rank, Quiet: now - last, Limit: c.env.Silence}
	}
	return in
}

func peersOf(r *presence.Roster) []Peer {
	var peers []Peer
	for _, a := range r.All() {
		p := Peer{Rank: a.Rank, State: [...]string{presence.Suspected: "suspected", presence.Left: "left", presence.Lost: "lost"}[a.State]}
		if a.State == presence.Left && a.Last != presence.Unknown {
			p.Last = a.Last
		}
		if a.Err != nil {
			p.Cause = a.Err.Error()
		}
		peers = append(peers, p)
	}
	return peers
}

func (ops *operations) inspect(o *op, now Time) OpState {
	s := OpState{
		Name: o.plan.Name, Seq: o.seq, Root: o.root, Bytes: o.n, Chunks: o.chunks,
		Delayed: o.gate.closed, Unsent: o.unsent, FromMcast: o.lost.ByMcast, FromPut: o.lost.ByPut,
	}
	s.Repairs, s.Asked, _ = o.lost.Usage()
	if !o.plan.header.Rooted() {
		s.Root = -1
	}
	s.Age, s.Quiet = o.pulse.Inspect(now)
	s.Fired, s.Rules = o.machine.Progress()
	s.Missing.add(o.machine.Missing())
	s.Absent = slices.Clone(ops.absent.In(o.seq))
	for _, r := range flow.Reasons() {
		if o.outbox.Has(r) {
			s.Waiting = append(s.Waiting, o.waiting(r))
		}
	}
	return s
}

// waiting describes the actions that wait because of r.
func (o *op) waiting(r flow.Reason) Waiting {
	w := Waiting{For: r.String()}
	var slots []ir.Slot
	for _, a := range o.outbox.All(r) {
		switch {
		case a.Op == ir.Put:
			w.Ranks = append(w.Ranks, int(a.To))
		case a.Joins: // a further operand
			continue
		}
		slots = append(slots, a.Sets())
	}
	if r == flow.ByRoom {
		w.Ranks = o.window.Awaited()
	}
	slices.Sort(w.Ranks)
	w.Ranks = slices.Compact(w.Ranks)
	slices.Sort(slots)
	slots = slices.Compact(slots)
	w.Slots, w.Count = runsOf(slots), len(slots)
	return w
}

// add adds slots, which must be ascending.
func (m *Missing) add(slots []ir.Slot) {
	m.Runs = runsOf(slots)
	for _, slot := range slots {
		if slot.Kind() == ir.KindSignal {
			m.Signals++
		} else {
			m.Chunks++
		}
	}
}

// runsOf returns the first runs of slots, which must be ascending.
func runsOf(slots []ir.Slot) (runs []Run) {
	for _, slot := range slots {
		if n := len(runs); n > 0 && runs[n-1].Last+1 == slot {
			runs[n-1].Last = slot
		} else if n < maxRuns {
			runs = append(runs, Run{slot, slot})
		}
	}
	return runs
}

// Slots appends the slots of the run to dst, at most most.
func (r Run) Slots(dst []ir.Slot, most int) []ir.Slot {
	for s := r.First; s <= r.Last && most > 0; s++ {
		dst = append(dst, s)
		most--
	}
	return dst
}

// UnmarshalText reads the text of MarshalText.
func (r *Run) UnmarshalText(text []byte) error {
	first, last, several := bytes.Cut(text, []byte("-"))
	if !several {
		last = first
	}
	from, ok := ir.ParseSlot(first)
	to, okay := ir.ParseSlot(last)
	if !ok || !okay || from.Kind() != to.Kind() || from > to || from.Kind() == ir.KindInput {
		return fmt.Errorf("no run of slots: %q", text)
	}
	*r = Run{from, to}
	return nil
}

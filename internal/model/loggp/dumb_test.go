package loggp_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// dumb is an independent version of the model, as LogGOPSim runs it. It has one list of sends and
// messages and tries the first of them. If its rank is busy, the element goes back into the list
// with the time when the rank is free.
type dumb struct {
	s     *ir.Schedule
	p     loggp.Params
	bytes int
	ranks []dumbRank
	ops   []dumbOp
	seq   int
}

type dumbRank struct {
	cpu, in, out, returns loggp.Time
	set                   map[ir.Slot]bool
	fired                 map[int]bool
	unsent                int
}

type dumbOp struct {
	at      loggp.Time
	seq     int
	rank    int
	acts    []ir.Action // of one message
	message bool
}

func runDumb(s *ir.Schedule, p loggp.Params, bytes int) []loggp.Time {
	d := &dumb{s: s, p: p, bytes: bytes, ranks: make([]dumbRank, s.Ranks)}
	for r := range d.ranks {
		d.ranks[r] = dumbRank{returns: loggp.Never, set: map[ir.Slot]bool{ir.Enter: true}, fired: map[int]bool{}}
		for k := range s.Chunks {
			d.ranks[r].set[ir.Chunk(k)] = dumbHolds(&s.Header, r, k)
		}
		d.fire(r)
		d.mayReturn(r)
	}
	for len(d.ops) > 0 {
		first := 0
		for i, op := range d.ops {
			if f := d.ops[first]; op.at < f.at || op.at == f.at && op.seq < f.seq {
				first = i
			}
		}
		d.try(first)
	}
	var returns []loggp.Time
	for _, r := range d.ranks {
		returns = append(returns, r.returns)
	}
	return returns
}

// fire fires the rules that are ready, in their order.
func (d *dumb) fire(r int) {
	own := &d.ranks[r]
	for i, rule := range d.s.Programs[r].Rules {
		unset := func(s ir.Slot) bool { return !own.set[s] }
		if own.fired[i] || rule.IsRepair() || slices.ContainsFunc(rule.When, unset) {
			continue
		}
		own.fired[i] = true
		for i := range rule.Do {
			if rule.Do[i].Joins {
				last := &d.ops[len(d.ops)-1]
				last.acts = append(last.acts, rule.Do[i])
				continue
			}
			own.unsent++
			d.ops = append(d.ops, dumbOp{max(own.cpu, own.out), d.seq, r, []ir.Action{rule.Do[i]}, false})
			d.seq++
		}
	}
}

func (d *dumb) mayReturn(r int) {
	own := &d.ranks[r]
	unset := func(s ir.Slot) bool { return !own.set[s] }
	if own.returns == loggp.Never && own.unsent == 0 && !slices.ContainsFunc(d.s.Programs[r].Done, unset) {
		own.returns = own.cpu
	}
}

func (d *dumb) try(i int) {
	op := &d.ops[i]
	own := &d.ranks[op.rank]
	free := max(own.cpu, own.out)
	if op.message {
		free = max(own.cpu, own.in)
	}
	if free > op.at {
		op.at = free
		return
	}
	done := *op
	d.ops = slices.Delete(d.ops, i, i+1)
	bytes := 0
	for _, a := range done.acts {
		bytes += d.length(a.Slot)
	}
	wire := loggp.Time(max(0, bytes-1)) * d.p.GPerByte
	if done.message {
		own.cpu, own.in = done.at+d.p.O+wire, done.at+d.p.Gap+wire
		for _, a := range done.acts {
			own.set[a.Slot] = true
		}
		d.fire(done.rank)
	} else {
		own.cpu, own.out = done.at+d.p.O, done.at+d.p.Gap+wire
		own.unsent--
		d.transmit(done)
	}
	d.mayReturn(done.rank)
}

// transmit lists the messages of a send.
func (d *dumb) transmit(op dumbOp) {
	for to := range d.ranks {
		if a := op.acts[0]; a.Op == ir.Put && to == int(a.To) || a.Op == ir.Mcast && to != op.rank {
			d.ops = append(d.ops, dumbOp{op.at + d.p.O + d.p.L, d.seq, to, op.acts, true})
		}
	}
	d.seq++
}

// length returns the bytes of a slot. A chunk is cut from its own block, which has d.bytes.
func (d *dumb) length(s ir.Slot) int {
	if s.Kind() != ir.KindChunk {
		return 1
	}
	per := d.s.Chunks
	switch d.s.Collective {
	case "scatter", "gather", "allgather":
		per /= d.s.Ranks
	case "alltoall":
		per /= d.s.Ranks * d.s.Ranks
	}
	lo, hi := ir.ChunkBounds(d.bytes, per, s.Index()%per)
	return hi - lo
}

// dumbHolds reports whether a rank has a chunk when it enters.
func dumbHolds(h *ir.Header, rank, k int) bool {
	switch h.Collective {
	case "gather", "allgather":
		return k/(h.Chunks/h.Ranks) == rank
	case "alltoall":
		return k/(h.Chunks/h.Ranks) == rank // a rank has a row of P blocks
	}
	return rank == h.Root
}

// randomSchedule draws a schedule of two chunks a block in which ranks send anything to any rank,
// alone or with several slots in one message.
func randomSchedule(rnd *rand.Rand) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Algorithm: "random", Ranks: 1 + rnd.IntN(6), Chunks: 2}}
	s.Root = rnd.IntN(s.Ranks)
	switch s.Collective = []string{"bcast", "bcast", "scatter", "gather", "allgather", "alltoall"}[rnd.IntN(6)]; s.Collective {
	case "scatter", "gather":
		s.Chunks *= s.Ranks
	case "allgather":
		s.Root, s.Chunks = 0, s.Chunks*s.Ranks
	case "alltoall":
		s.Root, s.Chunks = 0, s.Chunks*s.Ranks*s.Ranks
	}
	for r := range s.Ranks {
		chunk := func() ir.Slot { return ir.Chunk(rnd.IntN(s.Chunks)) }
		slots := []ir.Slot{ir.Enter, ir.Chunk(0), ir.Chunk(1), ir.Signal(0), ir.Signal(1)}
		if s.Chunks > 2 {
			slots[1], slots[2] = chunk(), chunk()
		}
		p := ir.Program{Rank: r, Signals: 2, Done: []ir.Slot{slots[rnd.IntN(5)], slots[rnd.IntN(5)]}}
		for range rnd.IntN(5) {
			rule := ir.Rule{When: []ir.Slot{slots[rnd.IntN(5)], slots[rnd.IntN(5)]}[:rnd.IntN(3)]}
			if rnd.IntN(8) == 0 {
				rule.Unless = ir.Signal(0)
			}
			for range rnd.IntN(4) {
				rule.Do = append(rule.Do, ir.PutTo(slots[1+rnd.IntN(4)], rnd.IntN(s.Ranks)))
			}
			if rnd.IntN(3) == 0 {
				rule.Do = append(rule.Do, ir.PutAll(rnd.IntN(s.Ranks), chunk(), chunk(), chunk())...)
			}
			if rnd.IntN(4) == 0 {
				rule.Do = append(rule.Do, ir.McastOf(chunk()))
			}
			p.Rules = append(p.Rules, rule)
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

func TestAgreesWithDumb(t *testing.T) {
	for seed := range heavy.Seeds(20_000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := randomSchedule(rnd)
		draw := func() loggp.Time { return loggp.Time(rnd.IntN(4)) }
		p, bytes := loggp.Params{L: draw(), O: draw(), Gap: draw(), GPerByte: draw()}, rnd.IntN(6)
		got, err := loggp.Run(s, p, bytes)
		require.NoError(t, err)
		require.Equal(t, runDumb(s, p, bytes), got.Returns, "seed %d: %v, %d bytes, %+v", seed, p, bytes, s)
	}
}

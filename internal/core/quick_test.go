package core

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// shelved records laid chunks and notes.
type shelved struct {
	recorder
	told []string
	full bool // no line may be written
}

func (s *shelved) Reaches(int) bool                  { return true }
func (s *shelved) Waits() bool                       { return false }
func (s *shelved) Flag(to, line int, f wire.Flag)    { s.tell("flag", to, line, f) }
func (s *shelved) Post(l int, to []int, f wire.Flag) { s.tell("post", l, to, f) }
func (s *shelved) Revoke(line int)                   { s.tell("revoke", line) }
func (s *shelved) Passed(seq uint64)                 { s.tell("passed", seq) }

func (s *shelved) Note(seq uint64, fingerprint uint32) { s.tell("note", seq, fingerprint) }

func (s *shelved) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	if s.full {
		return false, false
	}
	s.tell("lay", line, to, f, string(body), whole)
	return false, true
}

func (s *shelved) tell(what ...any) { s.told = append(s.told, fmt.Sprint(what...)) }

// plansOf returns the plans of all ranks; ranks on one host reach each other.
func plansOf(t require.TestingT, name string, params schedule.Params, hosts []int) []*Plan {
	spec, err := schedule.New(name, params)
	require.NoError(t, err)
	h := spec.Header()
	var plans []*Plan
	for rank := range params.Ranks {
		program := spec.Program(rank)
		compiled, err := machine.Compile(&h, &program)
		require.NoError(t, err)
		p := NewPlan(&h, compiled, spec.Program(h.Root), 0)
		p.Shelve(rank, func(other int) bool { return other != rank && hosts[other] == hosts[rank] }, spec.Program)
		plans = append(plans, p)
	}
	return plans
}

// plainly runs an operation on the general path.
func plainly(t require.TestingT, c *Core, p *Plan, mem Buffers) {
	c.Begin(p, mem)
	for len(c.Awaits().Flags) > 0 {
		at := c.Awaits().Flags[0]
		f := wire.Flag{Seq: at.Seq, Mark: at.Mark, From: at.Rank}
		dst, chunk := c.Buffer(0, f)
		if chunk != at.IsChunk() {
			require.Fail(t, "no place for the chunk")
		}
		copy(dst, bytes.Repeat([]byte{byte(at.Rank)}, len(dst)))
		c.Flagged(0, f)
	}
	begun, _ := c.Seq()
	require.True(t, c.Ready(begun))
	c.End(begun)
}

// buffersOf returns memory for an operation with blocks of n bytes. Each block that the rank holds
// has a different byte.
func buffersOf(p *Plan, n int) Buffers {
	pl := &p.places
	switch {
	case pl.folds:
		mem := Buffers{In: bytes.Repeat([]byte{3}, n*p.header.Row().Inputs(p.header.Ranks)), Block: n, Fold: sum}
		if mem.Out = mem.In; n%2 == 0 || pl.wanted.Count == 0 {
			mem.Out = make([]byte, n*pl.wanted.Count)
		}
		return mem
	case pl.blocks == 0:
		return Buffers{}
	case pl.blocks == 1:
		return InPlace(make([]byte, n))
	}
	mem := Buffers{Out: make([]byte, n*pl.wanted.Count), Block: n}
	for i := range pl.held.Count {
		mem.In = append(mem.In, bytes.Repeat([]byte{byte(1 + i)}, n)...)
	}
	return mem
}

// After each operation on the quick path, a core is in the same state as one that begins and ends
// operations, and has sent the same, whatever operations it has run before.
func TestQuickIsAsOthers(t *testing.T) {
	quick := 0
	form := deep.NewForm()
	stateOf := func(c *Core) []byte {
		c = deep.Copy(form, c)
		c.Normalize()
		return deep.Append(form, nil, c)
	}
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 5).Draw(t, "ranks")
		rank := rapid.IntRange(0, ranks-1).Draw(t, "rank")
		cfg := Config{Rank: rank, Size: ranks, Epoch: 7, Retain: 1 << 20, Overlay: nowhere{}}
		var nets [2]*shelved
		var cores [2]*Core
		var plans [2][]*Plan
		for i := range cores {
			nets[i] = new(shelved)
			cores[i] = New(cfg, nets[i])
			for _, of := range []struct {
				name   string
				root   int
				chunks int
			}{{"bcast/linear", 0, 1}, {"bcast/linear", 1, 1}, {"bcast/binomial", 0, 1}, {"bcast/linear", 0, 3}, {"barrier/dissemination", 0, 0}, {"barrier/hsb", 0, 0}, {"barrier/exchange", 0, 0},
				{"gather/linear", 0, 1}, {"gather/linear", 1, 1}, {"scatter/linear", 0, 1}, {"alltoall/linear", 0, 1}, {"gather/binomial", 0, 1},
				{"allreduce/doubling", 0, 1}} {
				params := schedule.Params{Ranks: ranks, Root: of.root, Chunks: of.chunks}
				spec, err := schedule.New(of.name, params)
				require.NoError(t, err)
				p := planOf(t, of.name, params, rank)
				if all := func(other int) bool { return other != rank }; of.chunks > 0 {
					p.Shelve(rank, all, spec.Program)
				} else {
					places, ok := windows.Of(rank, ranks, spec.Program)
					require.True(t, ok)
					p.Flags(rank, all, true, &places)
					require.True(t, p.isQuick(), of.name)
				}
				plans[i] = append(plans[i], p)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			of := rapid.IntRange(0, len(plans[0])-1).Draw(t, "plan")
			n := rapid.SampledFrom([]int{0, 2, 48, 49, wire.CopiedTo, wire.CopiedTo + 1}).Draw(t, "bytes")
			full := rapid.IntRange(0, 9).Draw(t, "full") == 0
			nets[0].full, nets[1].full = full, full
			if of >= 4 && of < 7 {
				n = 0
			}
			plainly(t, cores[0], plans[0][of], buffersOf(plans[0][of], n))
			p, c := plans[1][of], cores[1]
			q, told := c.Quick(p, n), len(nets[1].told)
			ok, mem := q != nil, buffersOf(p, n)
			if q != nil {
				q.Own(p, &mem)
			}
			for i := 0; ok && i < len(q.Steps); i++ {
				if s := &q.Steps[i]; s.Rank >= 0 {
					c.Note(q)
					if s.Chunk {
						dst := q.Into(s)
						copy(dst, bytes.Repeat([]byte{byte(s.Rank)}, len(dst)))
					}
				}
				ok = c.Write(q, &q.Steps[i])
			}
			if ok && rapid.IntRange(0, 4).Draw(t, "late") > 0 {
				c.Through(p, q, n)
				quick++
			} else {
				nets[1].told = nets[1].told[:told] // the line is written again
				if q != nil {
					q.Undo()
				}
				if p.places.folds {
					require.Equal(t, buffersOf(p, n).In, mem.In)
				}
				plainly(t, c, p, buffersOf(p, n))
			}
			require.True(t, bytes.Equal(stateOf(cores[0]), stateOf(c)))
			require.Equal(t, cores[0].ops.totals, c.ops.totals)
			require.Equal(t, cores[0].Usage(), c.Usage())
			require.ElementsMatch(t, nets[0].told, nets[1].told)
			require.Equal(t, nets[0].puts, nets[1].puts)
			require.Equal(t, cores[0].ops.describe(c.ops.seq, 0), c.ops.describe(c.ops.seq, 0))
			require.Equal(t, cores[0].ops.history.Before(c.ops.seq+1), c.ops.history.Before(c.ops.seq+1))
		}
	})
	require.NotZero(t, quick)
}

// A broadcast of one chunk takes the quick path if the rank lays the chunk for all its receivers,
// or relays nothing.
func TestQuickOperations(t *testing.T) {
	for rank := range 4 {
		for name, want := range map[string]bool{"bcast/linear": true, "bcast/binomial": rank != 2, "bcast/chain": rank == 0 || rank == 3} {
			params := schedule.Params{Ranks: 4, Chunks: 1}
			require.Equal(t, want, plansOf(t, name, params, make([]int, 4))[rank].isQuick(), "%s, rank %d", name, rank)
			params.Chunks = 2
			require.False(t, plansOf(t, name, params, make([]int, 4))[rank].isQuick())
		}
		require.Equal(t, rank == 1, plansOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, []int{0, 0, 1, 1})[rank].isQuick(), "not all are reached")
		require.Equal(t, rank < 2, plansOf(t, "bcast/binomial", schedule.Params{Ranks: 4, Chunks: 1}, []int{0, 0, 0, 1})[rank].isQuick(),
			"rank 2 collects from rank 0, and passes on to rank 3 by frame")
	}
}

// A barrier with more signals than lines must Begin.
func TestBarrierWithoutLinesIsNotQuick(t *testing.T) {
	for fan, quick := range map[int]bool{2: true, 99: false} {
		params := schedule.Params{Ranks: 100, FanIn: fan, FanOut: fan}
		spec, err := schedule.New("barrier/hsb", params)
		require.NoError(t, err)
		places, ok := windows.Of(0, 100, spec.Program)
		require.True(t, ok)
		plan := planOf(t, "barrier/hsb", params, 0)
		plan.Flags(0, func(other int) bool { return other != 0 }, true, &places)
		require.Equal(t, quick, plan.isQuick(), "fan %d", fan)
	}
}

// Activity besides an operation makes it Begin.
func TestNotQuick(t *testing.T) {
	prepare := func() (*Core, *Plan) {
		return New(Config{Rank: 1, Size: 4, Overlay: nowhere{}}, new(shelved)), plansOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, make([]int, 4))[1]
	}
	for name, happens := range map[string]func(c *Core, p *Plan){
		"open":     func(c *Core, p *Plan) { c.Begin(p, InPlace(make([]byte, 2))) },
		"failed":   func(c *Core, _ *Plan) { c.Fail("bcast", 1, ErrProtocol) },
		"traced":   func(c *Core, _ *Plan) { c.env.Trace = func(Event) {} },
		"called":   func(c *Core, _ *Plan) { c.ops.overlap.calls = []call{{1, 1, 0}} },
		"absent":   func(c *Core, _ *Plan) { c.ops.absent.Say(1) },
		"left":     func(c *Core, _ *Plan) { c.members.Suspect(3, errAway) },
		"early":    func(c *Core, _ *Plan) { c.ops.earlies[1].list = make([]early, 1) },
		"unsent":   func(c *Core, _ *Plan) { c.ops.ring[1].unsent = 1 },
		"disputed": func(c *Core, _ *Plan) { c.fate.dispute.Open(0, "") },
	} {
		c, p := prepare()
		require.NotNil(t, c.Quick(p, 2))
		happens(c, p)
		require.Nil(t, c.Quick(p, 2), name)
	}
	c, p := prepare()
	require.Nil(t, c.Quick(p, wire.CopiedTo+1))
}

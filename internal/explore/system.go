package explore

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
)

// system is the system under exploration: the ranks and their calls. States of ranks and messages
// are interned, so that the state of the whole is a short list of numbers, and the effect of an
// event on a rank's state is computed once.
type system struct {
	Options
	scripts [][]*call // the calls of each rank
	parted  int       // the first call in which the odd rank differs

	locals   []*local
	localIDs map[string]uint32
	messages []message
	msgIDs   map[message]uint32
	outcomes map[uint64]*outcome
	scratch  []byte
	form     *deep.Form
	reduction

	// tamper, if not nil, may change a message that is sent, and returns how many copies are sent.
	// Tests use it to make the network faulty.
	tamper func(*message) int
	// mistake, if not nil, may change the header of a message that a rank is about to take. Tests
	// use it to make ranks faulty.
	mistake func(*local, *wire.Header)
}

// call is a prepared call.
type call struct {
	Call
	root          int
	plans         []*core.Plan // by rank
	seq           uint64       // number of the operation; 0 for rootless messages
	message       []byte       // all blocks one after the other, or a rootless message, or a question
	answer        []byte       // the folded answers to a question
	block         int          // length of a block in bytes; 0 for a barrier and for rootless messages
	contributions [][]byte     // by rank: what it contributes to a call that folds
}

func (c *call) isMessage() bool { return c.Schedule == nil }

// publishes reports whether the call is a rootless message.
func (c *call) publishes() bool { return c.isMessage() && !c.Flush && c.Asks == nil }

// synchronizes reports whether no rank may return from the call before all have entered it.
func (c *call) synchronizes() bool { return c.Schedule != nil && c.Schedule.Synchronizes() }

func (c *call) name() string {
	switch {
	case c.Flush:
		return "flush"
	case c.Asks != nil:
		return "question"
	case c.isMessage():
		return "message"
	}
	return c.Schedule.Name()
}

// The content of a process's memory before a message is received into it, and after a call has
// returned.
const (
	blank = 0xEE
	spent = 0xDD
)

// pieceBytes is the length of a datagram's payload in bytes.
const pieceBytes = 4

// Timeouts of the cores in nanoseconds. Their lengths have no effect.
const (
	base  = core.Time(1 << 20)
	stall = core.Time(1 << 30)
)

func newSystem(o Options) (*system, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	s := &system{
		Options: o, localIDs: make(map[string]uint32), msgIDs: make(map[message]uint32), outcomes: make(map[uint64]*outcome), form: deep.NewForm(), reduction: newReduction(),
	}
	common, err := s.prepareAll(o.Calls)
	if err != nil {
		return nil, err
	}
	odd, err := s.prepareAll(o.Odd)
	if err != nil {
		return nil, err
	}
	for rank := range o.Ranks {
		s.scripts = append(s.scripts, common)
		if o.Odd != nil && rank == o.OddRank {
			s.scripts[rank] = odd
		}
	}
	for s.parted < min(len(common), len(odd)) && common[s.parted].same(odd[s.parted]) {
		s.parted++
	}
	return s, nil
}

// same reports whether two calls are the same.
func (c *call) same(d *call) bool {
	var texts [2]bytes.Buffer
	for i, of := range []*call{c, d} {
		fmt.Fprintln(&texts[i], of.name(), of.Origin)
		if !of.isMessage() {
			_ = ir.WriteText(&texts[i], of.Schedule) // a buffer accepts every write
		}
	}
	return bytes.Equal(texts[0].Bytes(), texts[1].Bytes())
}

func (s *system) prepareAll(calls []Call) (script []*call, err error) {
	seq := uint64(0)
	for i, c := range calls {
		ready, err := s.prepare(i, c)
		if err != nil {
			return nil, fmt.Errorf("%w: call %d: %w", ErrInput, i+1, err)
		}
		if !ready.isMessage() {
			seq++
			ready.seq = seq
		}
		script = append(script, ready)
	}
	return script, nil
}

// prepare compiles a call. Every piece of every message has distinct bytes.
func (s *system) prepare(i int, c Call) (*call, error) {
	r := &call{Call: c}
	if r.isMessage() {
		for piece := range s.Pieces {
			r.message = append(r.message, byte(i+1), byte(c.Origin), byte(piece), 0xA5)
		}
		if c.Asks == nil {
			return r, nil
		}
		chunks, err := s.results(i, c.Asks)
		if err == nil {
			r.answer = bytes.Join(chunks[c.Asks.BlockChunks():], nil) // behind the block of the question
		}
		return r, err
	}
	h := &c.Schedule.Header
	r.root = h.Root
	if h.Folds() {
		chunks, err := s.results(i, c.Schedule)
		if err != nil {
			return nil, err
		}
		for _, chunk := range chunks {
			r.message = append(r.message, append(chunk, make([]byte, s.Pieces*pieceBytes-len(chunk))...)...)
		}
		r.block = len(r.message) / h.Blocks()
		for rank := range h.Ranks {
			var own []byte
			for k := range h.InputChunks() {
				own = append(own, s.contribution(i, rank, k)...)
			}
			own = append(own, r.contents(h.Held(rank))...)
			r.contributions = append(r.contributions, own)
		}
	} else if h.HasMessage() {
		for k := range h.Chunks {
			r.message = append(r.message, s.given(i, k)...)
		}
		r.block = len(r.message) / h.Blocks()
	}
	for rank := range c.Schedule.Programs {
		plan, err := s.plan(c.Schedule, rank)
		if err != nil {
			return nil, err
		}
		plan.InPlace = c.NoCopy
		if c.Otherwise != nil {
			other, err := s.plan(c.Otherwise, rank)
			if err == nil {
				err = plan.Otherwise(other, -1)
			}
			if err != nil {
				return nil, err
			}
		}
		r.plans = append(r.plans, plan)
	}
	return r, nil
}

// plan compiles a rank's program.
func (s *system) plan(of *ir.Schedule, rank int) (*core.Plan, error) {
	p, err := machine.Compile(&of.Header, &of.Programs[rank])
	if err != nil {
		return nil, err
	}
	plan := core.NewPlan(&of.Header, p, of.Programs[of.Root], 0)
	s.stand(plan, rank, of)
	return plan, nil
}

// given returns chunk k of call i, as a rank holds it when it enters.
func (s *system) given(i, k int) (chunk []byte) {
	for piece := range s.Pieces {
		chunk = append(chunk, byte(i+1), byte(k+1), byte(piece), 0xA5)
	}
	return chunk
}

// sizes returns the lengths of a rank's output and input in bytes. A rank with a single block sends
// it from where it receives it.
func (c *call) sizes(rank int) (out, in int) {
	if c.block == 0 {
		return 0, 0
	}
	out = c.Schedule.Wanted(rank).Count * c.block
	if c.contributions != nil {
		return out, len(c.contributions[rank])
	}
	if c.Schedule.Blocks() > 1 {
		in = c.Schedule.Held(rank).Count * c.block
	}
	return out, in
}

// held returns what a rank has when it enters.
func (c *call) held(rank int) []byte {
	if c.contributions != nil {
		return c.contributions[rank]
	}
	return c.contents(c.Schedule.Held(rank))
}

// contents returns the bytes of blocks.
func (c *call) contents(of ir.Chunks) (all []byte) {
	for i := range of.Count {
		all = append(all, c.message[of.At(i)*c.block:][:c.block]...)
	}
	return all
}

// buffers returns the output and input of a rank, which lie in its memory for the call.
func (c *call) buffers(rank int, memory []byte) core.Buffers {
	if c.block == 0 {
		return core.Buffers{}
	}
	out, _ := c.sizes(rank)
	mem := core.Buffers{Out: memory[:out:out], In: memory[out:], Block: c.block}
	switch {
	case c.contributions != nil:
		if mem.Fold = &tree; c.InPlace && out == c.block && len(mem.In) == out {
			mem.In = mem.Out
		}
	case c.Schedule.Blocks() == 1:
		return core.InPlace(memory)
	}
	return mem
}

// stand makes signals and chunks stand in windows, if there are windows.
func (s *system) stand(p *core.Plan, rank int, of *ir.Schedule) {
	reaches := func(other int) bool { return s.reaches(rank, other) }
	programs := func(rank int) ir.Program { return of.Programs[rank] }
	switch {
	case s.Windows.Ranks == 0:
	case p.Chunks > 0:
		p.Shelve(rank, reaches, programs)
	case windows.Has(of):
		places, _ := windows.Of(rank, of.Ranks, programs)
		p.Flags(rank, reaches, !s.Windows.Remote, &places)
	}
}

// newLocal returns the state of a rank before its first call.
func (s *system) newLocal(rank int) *local {
	longest := 0
	for _, c := range s.scripts[rank] {
		out, in := c.sizes(rank)
		longest = max(longest, out+in)
	}
	caps := wire.Caps{Local: s.Ranks}
	if !s.NoMulticast {
		caps = wire.Caps{Multicast: true, Direct: true, Datagram: pieceBytes, Room: s.Window * s.Pieces * pieceBytes, Local: s.Ranks}
	}
	cfg := core.Config{
		Rank: rank, Size: s.Ranks, Epoch: 1, Caps: caps, Delay: s.Delay, RootDelay: base,
		Repair: base, Stall: stall, Retain: 1 << 20,
		Overlay: s.overlay(), Spread: s.multicasts(false), AskSpread: s.multicasts(true), PublishPrint: 1, PublishWindow: s.PublishWindow, PublishBytes: 1 << 20, MaxMessage: 1 << 10,
	}
	if s.Parts {
		cfg.FoldAtOnce = pieceBytes
	}
	sent := &outbox{sys: s}
	l := &local{rank: rank, script: s.scripts[rank], out: sent, core: core.New(cfg, s.net(rank, sent)), buf: bytes.Repeat([]byte{spent}, longest*s.Open)}
	if slices.ContainsFunc(l.script, func(c *call) bool { return c.Asks != nil }) {
		l.core.Answers(&tree, true)
	}
	return l
}

// overlay returns the trees of the rootless messages.
func (s *system) overlay() core.Overlay {
	for _, script := range s.scripts {
		if i := slices.IndexFunc(script, (*call).isMessage); i >= 0 {
			return script[i].Overlay
		}
	}
	return nowhere{}
}

// multicasts reports whether rootless messages are multicast, or whether questions are.
func (s *system) multicasts(questions bool) bool {
	for _, script := range s.scripts {
		if slices.ContainsFunc(script, func(c *call) bool { return c.isMessage() && c.Multicast && (c.Asks != nil) == questions }) {
			return true
		}
	}
	return false
}

// nowhere is an overlay without channels.
type nowhere struct{}

func (nowhere) Channels(dst []int, _ int) []int      { return dst }
func (nowhere) Forward(dst []int, _, _, _ int) []int { return dst }
func (nowhere) Sender(_, origin int) int             { return origin }

// add interns a state of a rank.
func (s *system) add(l *local) uint32 {
	l.derive(s)
	switch {
	case l.closed:
		*l = local{rank: l.rank, script: l.script, closed: true, quit: l.quit}
	case l.dead:
		*l = local{rank: l.rank, script: l.script, dead: true, begun: l.begun, over: l.over, whole: l.whole}
	}
	s.scratch = l.key(s.form, s.scratch[:0])
	id, known := s.localIDs[string(s.scratch)]
	if !known {
		id = uint32(len(s.locals))
		s.locals = append(s.locals, l)
		s.localIDs[string(s.scratch)] = id
	}
	return id
}

// intern interns a message.
func (s *system) intern(m message) uint32 {
	id, known := s.msgIDs[m]
	if !known {
		id = uint32(len(s.messages))
		s.messages = append(s.messages, m)
		s.msgIDs[m] = id
	}
	return id
}

// hasMessages reports whether the calls include rootless messages. A rank that waits for a rootless
// message has no rank to ask whether it is still alive, so all ranks are then taken to be
// connected.
func (s *system) hasMessages() bool { return s.overlay() != core.Overlay(nowhere{}) }

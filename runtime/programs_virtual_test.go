package runtime_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// Drawn programs combine what other tests test alone: algorithms, hosts, chunks, counts, calls in place,
// folds, requests, prepared calls, learning, communicators of communicators, questions and rootless
// messages, on a network that loses, delays, repeats and reorders.

// drawnStep is what all ranks do at one point of a program.
type drawnStep struct {
	what  string // call, split, dup, close, wait, agree, publish, ask, late
	on    int    // index of the communicator, modulo those that are open
	rank  int    // the rank that is late or asks, modulo those of the communicator
	lasts time.Duration

	row      ir.Collective
	mode     string // do, start, prepare
	times    int
	root     int // modulo the ranks
	n        int // numbers of a block
	fold     *runtime.Fold
	counted  bool
	inPlace  bool
	colors   int
	reversed bool // a Split numbers the ranks the other way round; a wait begins with the last request
}

var drawnFolds = []*runtime.Fold{sums, concat, trees, commuting}

func drawStep(rt *rapid.T) drawnStep {
	s := drawnStep{
		what: rapid.SampledFrom([]string{"call", "call", "call", "call", "call", "call", "call", "split", "dup", "close", "wait", "agree", "publish", "ask", "late"}).Draw(rt, "what"),
		on:   rapid.IntRange(0, 3).Draw(rt, "communicator"),
	}
	switch s.what {
	case "call":
		s.row = rapid.SampledFrom(called()).Draw(rt, "collective")
		s.mode = rapid.SampledFrom([]string{"do", "start", "prepare"}).Draw(rt, "mode")
		s.times = rapid.SampledFrom([]int{1, 2, 5, 30}).Draw(rt, "times")
		s.root = rapid.IntRange(0, 6).Draw(rt, "root")
		s.n = rapid.SampledFrom([]int{0, 1, 2, 7, 100, 1500}).Draw(rt, "numbers")
		s.fold = rapid.SampledFrom(drawnFolds).Draw(rt, "fold")
		s.counted = rapid.Bool().Draw(rt, "counted")
		s.inPlace = rapid.Bool().Draw(rt, "in place")
	case "split":
		s.colors, s.reversed = rapid.IntRange(1, 3).Draw(rt, "colors"), rapid.Bool().Draw(rt, "reversed")
	case "wait":
		s.reversed = rapid.Bool().Draw(rt, "last first")
	case "ask", "publish", "late":
		s.rank = rapid.IntRange(0, 6).Draw(rt, "rank")
		s.lasts = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 300 * time.Millisecond}).Draw(rt, "duration")
	}
	return s
}

// drawnConfig draws what all ranks agree on.
func drawnConfig(rt *rapid.T, ranks int) runtime.Config {
	cfg := runtime.Config{
		Reproducible: rapid.Bool().Draw(rt, "reproducible"),
		Chunk:        rapid.SampledFrom([]int{0, 0, 100, 3000}).Draw(rt, "chunk"),
		Retain:       rapid.SampledFrom([]int{0, 0, -1, 3000}).Draw(rt, "retain"),
		Delay:        rapid.SampledFrom([]runtime.DelayPolicy{runtime.DelayNone, runtime.DelayFixed, runtime.DelayRandomPeer, runtime.DelayAdaptive}).Draw(rt, "delay"),
		RootDelay:    time.Millisecond,
		Algorithms:   runtime.Algorithms{},
		Repair:       base,
	}
	if rapid.Bool().Draw(rt, "learn") {
		cfg.Learn = os.DevNull
	}
	for _, row := range ir.Collectives() {
		if !rapid.Bool().Draw(rt, "by rules: "+row.Name) {
			continue
		}
		of := schedule.AlgorithmsOf(row.Name)
		alg := rapid.SampledFrom(of).Draw(rt, "algorithm")
		p := schedule.Params{Ranks: ranks}
		if slices.Contains(alg.Params, "chunks") {
			p.Chunks = rapid.IntRange(0, 4).Draw(rt, "chunks")
		}
		if slices.Contains(alg.Params, "hosts") {
			p.Hosts = rapid.IntRange(0, ranks).Draw(rt, "hosts")
		}
		if _, err := schedule.New(alg.Name, p); err != nil || cfg.Reproducible && row.Inputs != nil {
			continue
		}
		cfg.Algorithms[row.Name] = runtime.Algorithm{Name: alg.Name, Params: schedule.Params{Chunks: p.Chunks, Hosts: p.Hosts}}
	}
	return cfg
}

func drawnNetwork(rt *rapid.T) mem.Options {
	probability := func(what string) float64 { return rapid.SampledFrom([]float64{0, 0, 0.1, 0.6}).Draw(rt, what) }
	return mem.Options{
		Seed: rapid.Uint64().Draw(rt, "seed"), Loss: probability("loss"), Duplicate: probability("duplicate"), Reorder: probability("reorder"),
		Delay:  rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond}).Draw(rt, "under way"),
		Resent: rapid.SampledFrom([]float64{0, 0, 0.1}).Draw(rt, "resent"), ResendAfter: 5 * time.Millisecond,
		Datagram:    rapid.SampledFrom([]int{0, 0, 300}).Draw(rt, "datagram"),
		NoMulticast: rapid.Bool().Draw(rt, "no multicast"), Windows: rapid.Bool().Draw(rt, "windows"),
		Groups: rapid.SampledFrom([]int{0, -1, 1}).Draw(rt, "groups"), Link: rapid.SampledFrom([]int{0, 2}).Draw(rt, "link"),
		Queue: rapid.SampledFrom([]int{0, 4}).Draw(rt, "queue"),
	}
}

// Every call of a drawn program has the right result at every rank, or all ranks refuse it.
func TestDrawnPrograms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(1, 7).Draw(rt, "ranks")
		cfg, o := drawnConfig(rt, ranks), drawnNetwork(rt)
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 20).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) {
			comms := group(t, ranks, o, cfg)
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			err = each(comms, func(c *runtime.Comm) error {
				p := &drawnProgram{comms: []*runtime.Comm{c}, answers: make(map[*runtime.Comm]bool)}
				err := p.run(ctx, steps)
				if err != nil {
					err = fmt.Errorf("rank %d of %d: %w", c.Rank(), c.Size(), err)
				}
				return errors.Join(err, p.close())
			})
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// drawnProgram is what one rank has open.
type drawnProgram struct {
	comms []*runtime.Comm // with their parents first
	open  []openCall
	round int

	answers map[*runtime.Comm]bool // the communicators that answer questions
}

// openCall is a started call and how to check its result.
type openCall struct {
	wait  func(ctx context.Context) error
	check func() error
}

func (p *drawnProgram) close() (err error) {
	for _, c := range slices.Backward(p.comms) {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (p *drawnProgram) run(ctx context.Context, steps []drawnStep) error {
	for i := range steps {
		if err := p.step(ctx, &steps[i]); err != nil {
			return fmt.Errorf("step %d, %s %s: %w", i, steps[i].what, steps[i].row.Name, err)
		}
	}
	if err := p.wait(ctx, false); err != nil {
		return err
	}
	return p.comms[0].Barrier(ctx)
}

func (p *drawnProgram) wait(ctx context.Context, lastFirst bool) error {
	if lastFirst {
		slices.Reverse(p.open)
	}
	for _, o := range p.open {
		if err := errors.Join(o.wait(ctx), o.check()); err != nil {
			return err
		}
	}
	p.open = p.open[:0]
	return nil
}

func (p *drawnProgram) step(ctx context.Context, s *drawnStep) error {
	c := p.comms[s.on%len(p.comms)]
	switch s.what {
	case "call":
		for range s.times {
			p.round++
			if err := p.call(ctx, c, s); err != nil {
				return err
			}
		}
	case "wait":
		return p.wait(ctx, s.reversed)
	case "late":
		if c.Rank() == s.rank%c.Size() {
			time.Sleep(s.lasts) // virtual
		}
	case "split", "dup":
		return p.derive(ctx, c, s)
	case "close":
		if err := p.wait(ctx, false); err != nil || len(p.comms) == 1 {
			return err
		}
		last := p.comms[len(p.comms)-1]
		p.comms = p.comms[:len(p.comms)-1]
		if err := last.Barrier(ctx); err != nil {
			return err
		}
		return last.Close()
	case "agree":
		flags, gone, err := c.Agree(ctx, uint32(1)<<c.Rank()|1<<31)
		if want := uint32(1) << 31; err == nil && (len(gone) > 0 || flags != want && c.Size() > 1) {
			return fmt.Errorf("agreed on %x without %v", flags, gone)
		}
		return err
	case "publish":
		return p.publish(ctx, c, s)
	case "ask":
		return p.ask(ctx, c, s)
	}
	return nil
}

func (p *drawnProgram) derive(ctx context.Context, c *runtime.Comm, s *drawnStep) error {
	if len(p.comms) == 4 {
		return nil
	}
	var child *runtime.Comm
	var err error
	if s.what == "dup" {
		child, err = c.Dup(ctx)
	} else {
		key := c.Rank()
		if s.reversed {
			key = -key
		}
		child, err = c.Split(ctx, c.Rank()%s.colors, key)
	}
	if errors.Is(err, runtime.ErrInput) { // an algorithm of Config that cannot run among the members
		return nil
	}
	if err == nil {
		p.comms = append(p.comms, child)
	}
	return err
}

// publish lets one rank publish messages, and all others take them.
func (p *drawnProgram) publish(ctx context.Context, c *runtime.Comm, s *drawnStep) error {
	const messages = 3
	origin := s.rank % c.Size()
	p.round++
	for i := range messages {
		want := bytes.Repeat([]byte{byte(p.round), byte(i), byte(origin)}, 200*i)
		if c.Rank() == origin {
			if err := c.Publish(ctx, want); err != nil {
				return err
			}
			continue
		}
		msg, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if msg.Origin != origin || !bytes.Equal(msg.Data, want) {
			return fmt.Errorf("message %d of rank %d has %d bytes of rank %d", i, origin, len(msg.Data), msg.Origin)
		}
	}
	if c.Rank() == origin {
		if err := c.Flush(ctx); err != nil {
			return err
		}
	}
	return c.Barrier(ctx) // messages of the next origin may overtake
}

// ask lets one rank ask all others, which answer once for each question.
func (p *drawnProgram) ask(ctx context.Context, c *runtime.Comm, s *drawnStep) error {
	if !p.answers[c] {
		p.answers[c] = true
		if err := c.Answers(runtime.Answering{Fold: sums, Answer: func(q runtime.Message) []byte {
			return binary.LittleEndian.AppendUint64(nil, uint64(len(q.Data)*(c.Rank()+1)))
		}}); err != nil {
			return err
		}
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	if c.Rank() == s.rank%c.Size() {
		got, err := c.Ask(ctx, make([]byte, 10))
		if err != nil {
			return err
		}
		if want := uint64(10 * c.Size() * (c.Size() + 1) / 2); binary.LittleEndian.Uint64(got) != want {
			return fmt.Errorf("the answer is %d, not %d", binary.LittleEndian.Uint64(got), want)
		}
	}
	return c.Barrier(ctx)
}

// call makes one call, and checks its result now or when the program waits for it.
func (p *drawnProgram) call(ctx context.Context, c *runtime.Comm, s *drawnStep) error {
	call, want := s.at(c, p.round)
	src, inPlace := bytes.Clone(call.Src), len(call.Src) > 0 && len(call.Dst) == len(call.Src) && &call.Dst[0] == &call.Src[0]
	round := p.round
	check := func() error {
		if want != nil && !bytes.Equal(call.Dst, want) {
			return fmt.Errorf("%s, %s, round %d, rank %d of %d, %d numbers, counted %v, in place %v: the result is wrong",
				call.Collective, s.mode, round, c.Rank(), c.Size(), s.n, call.Counted, inPlace)
		}
		if !inPlace && !bytes.Equal(call.Src, src) {
			return fmt.Errorf("%s, %s, round %d, rank %d: src was written", call.Collective, s.mode, round, c.Rank())
		}
		return nil
	}
	var err error
	switch s.mode {
	case "do":
		err = c.Do(ctx, call)
	case "start":
		var r *runtime.Request
		if r, err = c.Start(ctx, call); err == nil {
			p.open = append(p.open, openCall{r.Wait, check})
			return nil
		}
	case "prepare":
		var ready *runtime.Prepared
		if ready, err = c.Prepare(ctx, call); err == nil {
			if err = ready.Start(ctx); err == nil {
				p.open = append(p.open, openCall{ready.Wait, check})
				return nil
			}
		}
	}
	if errors.Is(err, runtime.ErrInput) && c.Err() == nil { // all ranks refuse it
		return nil
	}
	if err != nil {
		return err
	}
	return check()
}

// at returns the call of a rank, and what its dst must have at the end, or nil if the algorithm
// decides.
func (s *drawnStep) at(c *runtime.Comm, round int) (call runtime.Call, want []byte) {
	row, ranks, rank, root := &s.row, c.Size(), c.Rank(), 0
	if row.Rooted {
		root = s.root % ranks
	}
	switch {
	case row.Blocks == nil:
		return runtime.Call{Collective: row.Name}, nil
	case s.counted && row.TakesCounts():
		lengths := make([]int, row.Blocks(ranks))
		for b := range lengths {
			lengths[b] = (s.n + b*b) % (s.n + 5)
		}
		if row.Inputs != nil {
			return countedCall(row, lengths, ranks, root, rank)
		}
		return counted(row, lengths, ranks, root, rank, round)
	case row.Inputs == nil:
		h, held, wanted := ir.Header{Collective: row.Name}, row.Held(ranks, root, rank), row.Wanted(ranks, root, rank)
		want = blocks(&h, wanted, 8*s.n, round)
		call = runtime.Call{Collective: row.Name, Root: root, Src: blocks(&h, held, 8*s.n, round), Dst: make([]byte, len(want))}
		if s.inPlace && held.Count == 1 && wanted.Index(held.At(0)) >= 0 {
			own := call.Dst[8*s.n*wanted.Index(held.At(0)):][:len(call.Src)]
			copy(own, call.Src)
			call.Src = own
		}
		return call, want
	}
	wanted := row.Wanted(ranks, root, rank)
	call = runtime.Call{
		Collective: row.Name, Root: root, Fold: s.fold,
		Src: input(row, ranks, root, rank, round, s.n), Dst: make([]byte, wanted.Count*s.n*8),
	}
	if s.inPlace && len(call.Dst) == len(call.Src) && wanted.Count == 1 {
		call.Dst = call.Src
	}
	if s.fold == sums || s.fold == concat {
		want = folded(row, s.fold, ranks, root, rank, round, s.n)
	}
	return call, want
}

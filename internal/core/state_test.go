package core

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/publish"
	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// considered says for every field of the core's types what AppendState and Clone do with it:
//
//	state    is part of the state (some: as far as it matters)
//	derived  follows from the state and the configuration
//	time     a moment or a duration, which Settle makes alike
//	counter  is for users only
//	scratch  has no meaning between two steps
//	link     leads to another part of the core
var considered = map[string]string{
	"Core.env": "derived", "Core.fate": "state", "Core.members": "state", "Core.ops": "state",
	"Core.agree": "state", "Core.bodies": "scratch", "Core.watch": "time",

	"env.Config": "derived", "env.net": "link", "env.queued": "scratch", "env.frame": "scratch",

	"failure.env": "link", "failure.err": "state", "failure.seq": "derived", "failure.members": "link", "failure.closing": "state", "failure.orderly": "state",
	"failure.told": "state", "failure.passed": "state", "failure.why": "state",
	"failure.dispute": "state", "Dispute.open": "state", "Dispute.whole": "state", "Dispute.about": "state", "Dispute.text": "state", "Dispute.until": "time",
	"operations.history": "derived", "History.last": "derived", "History.prints": "derived", "History.calls": "derived", "History.runs": "derived", "History.run": "derived",
	"run.first": "derived", "run.call": "derived", "pastCall.call": "derived", "pastCall.n": "derived", "pastCall.own": "derived", "operations.print": "derived",
	"Plan.header": "derived", "Plan.digest": "derived", "Plan.note": "derived",
	"reason.cause": "state", "reason.origin": "state", "reason.about": "state", "reason.text": "state",

	"Roster.absent": "state",
	"Absence.Rank":  "state", "Absence.State": "state", "Absence.Last": "state", "Absence.Print": "state", "Absence.Silent": "state", "Absence.Err": "state", "Absence.Until": "time",

	"agreement.Agreements": "state", "agreement.settled": "state", "agreement.missed": "time", "agreement.until": "time", "agreement.ask": "time", "agreement.out": "state",
	"Agreements.rank": "derived", "Agreements.size": "derived", "Agreements.ballots": "state", "Agreements.last": "state", "Agreements.taken": "state", "Agreements.out": "scratch",
	"Message.To": "scratch", "Message.Ballot": "scratch", "Message.Kind": "scratch", "Message.Body": "scratch",
	"ballot.size": "derived", "ballot.rank": "derived", "ballot.number": "state", "ballot.out": "scratch",
	"ballot.voted": "state", "ballot.own": "state", "ballot.losses": "state", "Losses.Lost": "state", "Losses.Silent": "state", "ballot.gone": "state", "ballot.above": "derived",
	"ballot.below": "derived", "ballot.missing": "state", "ballot.joined": "state", "ballot.raised": "state", "ballot.without": "state",
	"ballot.known": "state", "ballot.is": "state", "ballot.apart": "state", "ballot.dead": "state",
	"Vote.Flags": "state", "Vote.Generation": "state", "Vote.came": "state", "span.least": "state", "span.most": "state",

	// No rank is watched where durations are left out: Silence is 0.
	"Watch.cfg": "derived", "WatchConfig.Rank": "derived", "WatchConfig.Size": "derived", "WatchConfig.Silence": "derived", "WatchConfig.Datagrams": "derived",
	"Watch.wanted": "time", "Watch.on": "time", "Watch.until": "time", "Watch.targets": "time", "Watch.ask": "time", "Watch.looked": "time",
	"Watch.awaited": "time", "Watch.next": "time", "Watch.askers": "time",
	"target.rank": "time", "target.heard": "time", "target.took": "time", "target.last": "time", "target.alive": "time",

	"operations.env": "link", "operations.fate": "link", "operations.members": "link",
	"operations.seq": "state", "operations.complete": "state", "operations.ring": "state",
	"operations.earlies": "state", "operations.joined": "state", "operations.delay": "state", "operations.totals": "counter",
	"operations.overlap": "state", "overlap.settled": "derived", "overlap.calls": "state",
	"operations.absent": "state", "Latecomers.seq": "state", "Latecomers.ranks": "state", "Latecomers.own": "state",
	"operations.refusal": "state", "refusal.seq": "state", "refusal.words": "state", "refusal.asked": "state", "refusal.until": "time",
	"call.seq": "state", "call.print": "state", "call.from": "state",
	"op.outbox": "state", "queue.list": "state", "queue.first": "derived", "op.entries": "state", "entries.asked": "state", "entries.known": "state",
	"earlies.seq": "state", "earlies.seen": "derived", "earlies.odd": "derived", "earlies.list": "state", "early.slot": "state", "early.print": "state", "early.from": "state",

	"op.seq": "state", "op.state": "state", "op.root": "state", "op.print": "state", "op.plan": "state",
	"op.machine": "state", "op.chunks": "state", "op.n": "derived", "op.gone": "state", "op.keep": "scratch",
	"op.unsent": "state", "op.gate": "state", "op.pulse": "time", "op.lost": "state",

	"Plan.Name": "state", "Plan.Chunks": "derived", "Plan.Programs": "derived", "Plan.program": "derived", "Plan.base": "derived", "Plan.multicasts": "derived", "Plan.manyCast": "derived",
	"Plan.answers": "derived", "Plan.places": "derived", "places.blocks": "derived", "places.per": "derived", "places.held": "derived", "places.inputs": "derived", "places.wanted": "derived",
	"places.whole": "derived", "places.wantedBy": "derived", "places.heldBy": "derived", "operations.apart": "scratch", "places.relayed": "derived", "places.kept": "derived", "both.held": "derived", "both.wanted": "derived", "op.key": "derived", "Plan.counted": "derived", "Plan.shared": "derived", "operations.askers": "derived", "operations.asked": "derived", "Recovery.pace": "time", "operations.repairing": "scratch", "operations.loss": "state", "Recovery.cfg": "derived", "Recovery.seq": "derived", "Recovery.repeats": "scratch", "Recovery.out": "scratch",
	"Output.Do": "scratch", "Output.To": "scratch", "Output.Chunk": "scratch", "Output.Lo": "scratch", "Output.Hi": "scratch", "Output.Request": "scratch",
	"Config.Direct": "derived", "pace.last": "time", "pace.least": "time", "pace.asked": "time",
	"Step.acts": "derived", "act.slot": "derived", "act.to": "derived", "act.own": "derived", "act.line": "derived", "act.from": "derived", "act.made": "derived", "act.into": "derived", "act.of": "derived", "Quick.cells": "scratch", "Quick.given": "scratch", "Quick.broken": "scratch",
	"op.folds": "state", "folding.with": "derived", "folding.made": "scratch", "folding.done": "state", "operations.folding": "derived",
	"cells.of": "derived", "cells.parts": "derived", "cells.late": "derived", "Plan.InPlace": "derived", "operations.spare": "scratch", "Fold.Kernel": "derived", "Fold.Name": "derived", "Fold.Commutes": "derived", "Fold.Element": "derived", "Fold.Trusted": "derived", "Fold.Exact": "derived",
	"op.memory": "state", "op.unit": "derived", "op.shared": "derived", "places.folds": "derived", "places.cells": "derived", "memory.areas": "state", "memory.per": "derived", "memory.element": "derived", "memory.apart": "derived", "items.bytes": "state", "items.n": "derived", "items.uneven": "derived", "items.at": "derived", "place.area": "derived", "place.item": "derived", "place.part": "derived", "Step.into": "derived", "Quick.mem": "scratch", "Quick.fold": "scratch",
	"Plan.recovers": "derived", "Plan.yields": "derived", "Plan.recovery": "derived",

	"operations.ledger": "state", "ledger.net": "link", "ledger.shelf": "link", "ledger.waits": "link", "ledger.Ledger": "state", "op.turn": "state", "gate.behind": "state",
	"Ledger.begun": "state", "Ledger.last": "derived", "Ledger.inside": "state", "Ledger.awaits": "state", "Ledger.used": "state", "Ledger.passed": "state", "Ledger.lent": "state",
	"Awaits.Flags": "state", "Awaits.Over": "derived", "Awaited.Rank": "derived", "Awaited.Line": "derived", "Awaited.Seq": "derived", "Awaited.Mark": "derived", "Awaited.Slot": "derived", "Lent.Line": "derived", "Lent.Seq": "derived",
	"Plan.lines": "derived", "Plan.steps": "derived", "Layout.Known": "derived", "Layout.Posts": "derived", "Layout.Flags": "derived", "Layout.Chunks": "derived", "Layout.Shelved": "derived",
	"Post.Slot": "derived", "Post.Ranks": "derived", "Post.Sets": "derived", "Post.Near": "derived", "Post.Far": "derived",
	"Plan.printed": "derived", "printed.n": "derived", "printed.print": "derived", "Core.quick": "scratch", "Quick.Flag": "scratch", "Quick.Steps": "scratch", "Quick.root": "scratch", "Quick.turn": "scratch", "Quick.noted": "scratch", "op.quick": "derived",
	"Step.Rank": "derived", "Step.Line": "derived", "Step.Chunk": "derived", "Step.slot": "derived",

	"Machine.plan": "derived", "Machine.set": "state", "Machine.left": "derived", "Machine.fired": "scratch",
	"Machine.joined": "scratch", "Machine.doneLeft": "derived", "Machine.mustLeft": "derived",

	"gate.closed": "state", "gate.met": "state", "gate.peer": "state", "gate.wait": "time", "gate.until": "time",
	"Pulse.stirred": "time", "Pulse.moved": "time", "Pulse.probes": "time", "Pulse.since": "time", "Pulse.still": "time",
	"Fragments.size": "derived", "Fragments.first": "derived", "Fragments.got": "state", "Fragments.left": "derived",

	"Peers.cfg": "derived", "Peers.reports": "state", "Peers.silent": "state", "Peers.tells": "time", "Peers.behind": "derived", "Peers.chunks": "scratch", "operations.peers": "state",
	"Config.Repair": "derived", "Config.Multicast": "derived", "Config.Network": "derived", "Config.Room": "derived", "Config.Datagram": "derived", "Config.Ahead": "derived",
	"Recovery.lossy": "state", "Recovery.repairs": "counter", "Recovery.doubled": "counter",
	"Recovery.datagrams": "state", "Recovery.puts": "state", "ring.list": "state", "ring.next": "state", "Recovery.answers": "time", "Recovery.rhythm": "time", "Delay.mean": "time", "Delay.off": "time", "Request.body": "scratch", "Request.n": "scratch", "Request.Late": "scratch", "Request.Unsent": "state",
	"child.rank": "derived", "child.chunk": "state", "child.given": "state",
	"report.seq": "state", "report.print": "state", "report.chunk": "state",
	"report.have": "state",

	"Losses.repairs": "state", "Losses.gaps": "state", "Losses.debts": "state", "Losses.served": "state", "op.window": "state", "op.yields": "state",
	"Losses.Heard": "state", "Recovery.doubles": "time", "Recovery.wary": "time", "Double.Seq": "time", "Double.Slot": "time", "Double.Print": "time", "Double.To": "time",
	"Double.times": "time", "Double.due": "time", "Losses.Parts": "state", "Losses.chunks": "derived", "Losses.bytes": "derived", "Losses.root": "derived", "Losses.ask": "derived", "Losses.asked": "derived", "Losses.unheard": "state", "Losses.since": "time", "Losses.ByMcast": "state", "Losses.ByPut": "state",
	"repairs.list": "state", "repairs.armed": "state",
	"repair.rule": "state", "Rule.Number": "state", "Rule.After": "derived", "Rule.Chunks": "derived", "Rule.To": "derived", "repair.armed": "state", "repair.spared": "state", "repair.behind": "state", "repair.rounds": "state",
	"repair.due": "state", "repair.wait": "time", "repair.since": "time",
	"gaps.armed": "state", "gaps.fresh": "state", "gaps.given": "time", "gaps.first": "time", "gaps.last": "time", "gaps.top": "state",
	"gaps.lost": "state", "gaps.reach": "state", "gaps.tries": "state", "gaps.quiet": "time", "gaps.told": "time", "gaps.pass": "state",
	"pass.open": "state", "pass.from": "state", "pass.to": "state", "pass.turn": "state", "pass.asked": "state", "pass.again": "state",
	"pass.mark": "state", "pass.tries": "state", "pass.pending": "state", "pass.recent": "state", "pass.last": "time", "pass.came": "state", "pass.vain": "time",
	"pass.due": "state", "pass.sample": "time", "pass.since": "time", "pass.timed": "time",
	"debt.rank": "state", "debt.late": "state", "debt.chunks": "state", "debt.parts": "state",
	"service.rank": "state", "service.chunks": "state",
	"Window.on": "state", "Window.chunks": "derived", "Window.size": "derived", "Window.step": "derived", "Window.parent": "derived", "Window.children": "state",
	"Window.own": "state", "Window.progress": "state",
	"Window.bytes": "derived", "Window.behind": "state",
	"Window.stirred": "time", "Window.moved": "time",
	"Yields.on": "state", "Yields.chunks": "derived", "Yields.reports": "derived", "Yields.step": "derived", "Yields.least": "derived", "receiver.told": "time", "receiver.heard": "time", "Yields.have": "state", "Yields.whole": "state",
	"Yields.heard": "state", "Yields.receivers": "state",
	"receiver.rank": "derived", "receiver.have": "state", "receiver.waits": "derived", "receiver.given": "state",
	"receiver.stirred": "time", "receiver.late": "time", "receiver.moved": "time", "receiver.turns": "time",

	"Core.messages": "state", "Messages.Config": "derived", "Messages.host": "link", "Messages.members": "link", "Messages.frame": "scratch", "Messages.inbox": "state",
	"Messages.incoming": "scratch", "Messages.spare": "scratch", "spare.parcels": "scratch", "spare.bytes": "scratch", "Messages.counts": "counter", "Messages.sources": "state", "Messages.listeners": "state",
	"Messages.streams": "state", "Messages.longest": "derived", "Messages.share": "derived", "Messages.timed": "time", "Messages.used": "state",
	"stream.origin": "derived", "stream.up": "state", "stream.below": "state", "stream.ring": "state", "stream.next": "state", "stream.known": "state", "stream.asked": "state",
	"stream.consumed": "state", "stream.freed": "state", "stream.held": "derived", "stream.came": "state", "stream.own": "state", "stream.told": "state", "stream.wanted": "state",
	"stream.ack": "state", "stream.lack": "state", "timer.on": "state", "timer.due": "time",
	"progress.here": "state", "progress.taken": "state", "load.bytes": "state", "load.room": "state",
	"piece.parcel": "state", "piece.seq": "derived", "piece.state": "state", "piece.bytes": "state", "piece.parts": "derived", "piece.got": "state", "piece.before": "state",
	"below.rank": "state", "below.progress": "state", "below.waits": "state", "below.asked": "state", "below.mark": "state", "below.late": "state", "below.lacks": "state",

	"sources.list": "derived", "sources.sought": "derived", "sources.listening": "state",
	"parcel.data": "state", "parcel.unsent": "state",
	"inbox.letters": "state", "inbox.head": "derived", "letter.origin": "state", "letter.seq": "state",

	"Core.surveys": "state", "surveys.env": "link", "surveys.fate": "link", "surveys.members": "link",
	"surveys.askers": "state", "surveys.incoming": "scratch", "surveys.tasks": "state", "surveys.done": "state", "surveys.fold": "state", "surveys.learns": "state", "surveys.failed": "state", "surveys.waiting": "derived",
	"surveys.asked": "counter", "surveys.answered": "counter",
	"asker.tree": "state", "asker.next": "state", "asker.open": "state",
	"inquiry.seq": "state", "inquiry.body": "state", "inquiry.state": "state", "inquiry.bytes": "state", "inquiry.unwanted": "state",
	"task.origin": "state", "task.seq": "state", "task.body": "state", "task.learn": "state", "task.result": "state", "result.of": "state", "result.data": "state", "result.err": "state",
	"ballot.answers": "state", "ballot.agreed": "state", "answersTo.origin": "state", "answersTo.seq": "state", "answersTo.in": "state",
}

// fieldsOf collects the fields of t and of all types of this module that it holds.
func fieldsOf(t reflect.Type, into map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		fieldsOf(t.Elem(), into)
	case reflect.Map:
		fieldsOf(t.Key(), into)
		fieldsOf(t.Elem(), into)
	case reflect.Struct:
		// A core's configuration and its counters for users are not part of its state.
		ours := strings.HasPrefix(t.PkgPath(), reflect.TypeFor[Core]().PkgPath()) || t == reflect.TypeFor[machine.Machine]()
		if !ours || slices.Contains([]reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[Totals](), reflect.TypeFor[publish.Config](), reflect.TypeFor[publish.Counts]()}, t) {
			return
		}
		for i := range t.NumField() {
			name := t.Name() + "." + t.Field(i).Name
			if !into[name] {
				into[name] = true
				fieldsOf(t.Field(i).Type, into)
			}
		}
	}
}

// A new field of the core must be listed in considered, with what Clone and AppendState do with it.
func TestStateHasEveryField(t *testing.T) {
	found := make(map[string]bool)
	fieldsOf(reflect.TypeFor[Core](), found)
	for name := range found {
		if considered[name] == "" {
			t.Errorf("%s is not considered: see AppendState, Clone and Settle", name)
		}
	}
	for name := range considered {
		if !found[name] {
			t.Errorf("%s is considered, but there is no such field any more", name)
		}
	}
}

// spy keeps the frames of a core as text.
type spy struct{ sent []string }

func (s *spy) note(kind string, to int, f *wire.Frame) {
	s.sent = append(s.sent, kind+string(rune('0'+to))+f.Slot.String()+string(f.Body))
	f.Release()
}

func (s *spy) Put(to int, f *wire.Frame)      { s.note("put", to, f) }
func (s *spy) Mcast(f *wire.Frame)            { s.note("mcast", 0, f) }
func (s *spy) Datagram(to int, f *wire.Frame) { s.note("datagram", to, f) }

// A clone has the state of its core, does the same, and leaves the core alone.
func TestCloneIsAlikeAndApart(t *testing.T) {
	net := &spy{}
	c := New(Config{
		Rank: 2, Size: 4, Epoch: 1, Repair: 1000, Stall: 100000, Retain: 1 << 20, PublishWindow: 1, Overlay: nowhere{},
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 4},
	}, net)
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 3}, 2)
	buf := []byte("............")
	c.Begin(plan, InPlace(buf))
	h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 1, Print: plan.print(12), Len: 4, Slot: ir.Chunk(1)}
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, []byte("bbbb")))
	c.Normalize()
	net.sent = nil
	before := c.AppendState(nil)

	d := deep.Copy(nil, c)
	copied, sent := d.ops.open(1).memory.areas[areaOut].bytes, d.env.net.(*spy)
	require.Equal(t, before, d.AppendState(nil))
	put := func(c *Core, k int, body string) {
		h := h
		h.Slot = ir.Chunk(k)
		dst, v := c.Body(&h)
		require.Equal(t, wire.Accept, v)
		copy(dst, body)
		c.Arrived(&h, dst)
	}
	run := func(c *Core) {
		put(c, 0, "aaaa")
		put(c, 2, "cccc")
		c.Normalize()
		for range 3 {
			for _, a := range c.Alarms(nil) {
				require.True(t, c.Ring(a), "%v", a)
			}
		}
	}
	run(d)
	require.Equal(t, before, c.AppendState(nil), "the core has not been touched")
	require.Equal(t, "....bbbb....", string(buf))
	require.Equal(t, "aaaabbbbcccc", string(copied))
	require.Empty(t, net.sent)
	require.NotEmpty(t, sent.sent)
	run(c)
	require.Equal(t, sent.sent, net.sent)
	require.Equal(t, d.AppendState(nil), c.AppendState(nil))
}

// A settled core stays settled: another tick at the same time changes nothing.
func TestSettledIsSettled(t *testing.T) {
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, Repair: 1000, Stall: 100000, PublishWindow: 1, Overlay: nowhere{},
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 4}}, &spy{})
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 3}, 0)
	c.Begin(plan, InPlace(make([]byte, 12)))
	c.Normalize()
	for range 4 {
		for _, a := range c.Alarms(nil) {
			require.True(t, c.Ring(a), "%v", a)
			before := c.AppendState(nil)
			c.Normalize()
			require.Equal(t, before, c.AppendState(nil), "after %v", a)
		}
	}
}

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime/sim"
)

// The network of bench/netns, with its flags' defaults, and the systems on it.
const (
	queueBytes = 128 << 10
	burstBytes = 8 << 10 // at least
	// delay is of half a link, through namespaces and bridge.
	delay = 25 * sim.Microsecond
	// cost is what a process needs for a frame.
	cost = 2 * sim.Microsecond
	// A connection begins with ten segments, and every other is confirmed by a
	// frame without data. Losses do not narrow BBR's window.
	firstBytes   = 10 * 1448
	confirmBytes = 66 / 2
	// turnBytes is that of runtime/tcp.
	turnBytes = 64 << 10
)

// burst is what a link takes at once: as much as it carries in half a millisecond,
// since the system's token bucket is refilled by timers that come no more often
// where cores are busy. With less a link of 1 Gbit/s is one of 850 Mbit/s.
func burst(rate int64) int { return max(burstBytes, int(rate/8/2000)) }

// scenario is what is measured in a cell: a barrier, an operation and, behind a broadcast without
// acknowledgements, a barrier; once to warm up, and then again and again.
func scenario(c cell, iterations int) *sim.Scenario {
	link := sim.Link{Rate: c.rate, Queue: queueBytes, Burst: burst(c.rate), Delay: delay}
	s := &sim.Scenario{
		Seed: 1, Ranks: c.hosts, Shared: true, Limit: simulated,
		Net: sim.Net{
			Up: link, Down: link, Multicast: true, Ordered: true, Cost: cost,
			First: firstBytes, Confirm: confirmBytes, Steady: true, Turn: turnBytes,
		},
	}
	if c.perMille > 0 {
		s.Faults = []sim.Fault{{Kind: sim.FaultLoss, Host: -1, Until: simulated, PerMille: c.perMille}}
	}
	for range iterations + 1 {
		o := sim.Op{Kind: sim.OpKind(c.collective()), Algorithm: c.algorithm, Bytes: c.bytes}
		s.Script = append(s.Script, meet, o)
		if meets(&o) {
			s.Script = append(s.Script, meet)
		}
	}
	return s
}

// meets reports whether a barrier behind an operation is a part of its time: it tells the root of a broadcast
// that all ranks have the message, unless the algorithm does.
func meets(o *sim.Op) bool { return o.Kind == sim.OpBcast && !acked(o.Algorithm) }

var meet = sim.Op{Kind: sim.OpBarrier, Algorithm: "barrier/hsb"}

// simulated bounds a prediction's virtual time.
const simulated = 3600 * sim.Second

// acked reports whether the root of an algorithm knows by itself when all ranks
// have the message.
func acked(algorithm string) bool { return algorithm == "bcast/mcast-acktree" }

// timesOf returns how long the operations of a scenario took but the first: broadcasts at the root, and others
// at the rank whose call took longest.
func timesOf(s *sim.Scenario, r *sim.Result) (times, error) {
	if r.Violation != nil {
		return times{}, r.Violation
	}
	const root = 0
	enter, leave, longest := make([]sim.Time, len(s.Script)), make([]sim.Time, len(s.Script)), make([]sim.Time, len(s.Script))
	for _, c := range r.Calls {
		longest[c.Step] = max(longest[c.Step], c.Return-c.Enter)
		if c.Rank == root {
			enter[c.Step], leave[c.Step] = c.Enter, c.Return
		}
	}
	var all []sim.Time
	for i, o := range s.Script {
		switch {
		case o.Kind == sim.OpBarrier:
		case meets(&o):
			all = append(all, leave[i+1]-enter[i])
		case o.Kind == sim.OpBcast:
			all = append(all, leave[i]-enter[i])
		default:
			all = append(all, longest[i])
		}
	}
	all = all[1:]
	slices.Sort(all)
	at := func(i int) float64 { return time.Duration(all[i]).Seconds() }
	return times{at(0), at((len(all) - 1) / 2), at(len(all) - 1)}, nil
}

// childVerb has this program read a scenario and print its times: a prediction
// is a process, so that it can be ended.
const childVerb = "predict"

func predict(ctx context.Context, limit time.Duration, r *row) (times, error) {
	text, err := json.Marshal(scenario(r.cell, r.iterations))
	if err != nil {
		return times{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return times{}, fmt.Errorf("find this program: %w", err)
	}
	return run(ctx, limit, []string{self, childVerb}, text, func(out []byte) (t times, err error) {
		_, err = fmt.Fscan(bytes.NewReader(out), &t.min, &t.median, &t.max)
		return t, err
	})
}

func predictChild(in io.Reader, out io.Writer) error {
	s, err := sim.ReadScenario(in)
	if err != nil {
		return err
	}
	r, err := sim.Run(s, nil)
	if err != nil {
		return err
	}
	t, err := timesOf(s, r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, t.min, t.median, t.max)
	return err
}

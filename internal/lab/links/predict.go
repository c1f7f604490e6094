//go:build linux

package links

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/simnet"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Parameters of the network of schedlab netns with default flags, and of the systems on it.
const (
	queueBytes = 128 << 10
	burstBytes = 8 << 10 // at least
	// delay is the delay of half a link, through namespaces and bridge.
	delay = 25 * simnet.Microsecond
	// cost is the time that a process needs for a frame.
	cost = 2 * simnet.Microsecond
	// A connection begins with ten segments, and a frame without data acknowledges every second
	// segment. Losses do not narrow BBR's window.
	firstBytes   = 10 * 1448
	confirmBytes = 66 / 2
	// turnBytes is the value of runtime/tcp.
	turnBytes = 64 << 10
)

// burst returns the burst of a link: the traffic of half a millisecond. Timers refill the system's
// token bucket, and they do not run more often when cores are busy. With a smaller burst, a link of
// 1 Gbit/s carries only 850 Mbit/s.
func burst(rate int64) int { return max(burstBytes, int(rate/8/2000)) }

// scenario returns the operations of a cell: a barrier, the operation and, after a broadcast
// without acknowledgements, another barrier. They run once to warm up, and then repeatedly.
func scenario(c cell, iterations int) *simnet.Scenario {
	link := simnet.Link{Rate: c.rate, Queue: queueBytes, Burst: burst(c.rate), Delay: delay}
	s := &simnet.Scenario{
		Seed: 1, Ranks: c.hosts, Shared: true, Limit: simulated,
		Net: simnet.Net{
			Up: link, Down: link, Multicast: true, Ordered: true, Cost: cost,
			First: firstBytes, Confirm: confirmBytes, Steady: true, Turn: turnBytes,
		},
	}
	if c.perMille > 0 {
		s.Faults = []simnet.Fault{{Kind: simnet.FaultLoss, Host: -1, Until: simulated, PerMille: c.perMille}}
	}
	for range iterations + 1 {
		o := simnet.Op{Kind: simnet.OpKind(c.collective()), Algorithm: c.algorithm, Bytes: c.bytes}
		s.Script = append(s.Script, meet, o)
		if meets(&o) {
			s.Script = append(s.Script, meet)
		}
	}
	return s
}

// meets reports whether the time of an operation includes a barrier after it. The barrier tells the
// root of a broadcast that all ranks have the message, unless the algorithm itself does.
func meets(o *simnet.Op) bool {
	return o.Kind == simnet.OpBcast && o.Algorithm != "bcast/mcast-acktree"
}

var meet = simnet.Op{Kind: simnet.OpBarrier, Algorithm: "barrier/hsb"}

// simulated is the longest virtual time of a prediction.
const simulated = 3600 * simnet.Second

// timesOf returns the times of all operations of a scenario except the first. A broadcast is timed
// at the root, and any other operation at the slowest rank.
func timesOf(s *simnet.Scenario, r *simnet.Result) (times, error) {
	if r.Violation != nil {
		return times{}, r.Violation
	}
	const root = 0
	enter, leave, longest := make([]simnet.Time, len(s.Script)), make([]simnet.Time, len(s.Script)), make([]simnet.Time, len(s.Script))
	for _, c := range r.Calls {
		longest[c.Step] = max(longest[c.Step], c.Return-c.Enter)
		if c.Rank == root {
			enter[c.Step], leave[c.Step] = c.Enter, c.Return
		}
	}
	var all []simnet.Time
	for i, o := range s.Script {
		switch {
		case o.Kind == simnet.OpBarrier:
		case meets(&o):
			all = append(all, leave[i+1]-enter[i])
		case o.Kind == simnet.OpBcast:
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

// predictVerb is the name of the hidden verb that reads a scenario and prints its times. A prediction
// is a process of its own, so that it can be ended.
const predictVerb = "links-predict"

// Predict is the hidden verb.
type Predict struct{}

// Run reads the scenario and prints its times.
func (Predict) Run(std terminal.Stdio) error { return predictChild(std.In, std.Out) }

func predict(ctx context.Context, limit time.Duration, r *row) (times, error) {
	text, err := json.Marshal(scenario(r.cell, r.iterations))
	if err != nil {
		return times{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return times{}, fmt.Errorf("find this program: %w", err)
	}
	return timesBy(ctx, limit, []string{self, predictVerb}, text, func(out []byte) (t times, err error) {
		_, err = fmt.Fscan(bytes.NewReader(out), &t.min, &t.median, &t.max)
		return t, err
	})
}

func predictChild(in io.Reader, out io.Writer) error {
	s, err := simnet.ReadScenario(in)
	if err != nil {
		return err
	}
	r, err := simnet.Run(s, nil)
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

package soak

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/schedgen/schedgen/internal/simnet"
)

// soakObject is the JSON form of the result of many seeds.
type soakObject struct {
	Seeds     uint64          `json:"seeds"`
	From      uint64          `json:"from"`
	Ranks     int             `json:"ranks"`
	Seconds   float64         `json:"seconds"`
	PerSecond float64         `json:"per_second"`
	Events    int             `json:"events"`
	Failures  []failureObject `json:"failures"`
}

type failureObject struct {
	Seed      uint64           `json:"seed"`
	Violation string           `json:"violation"`
	Smaller   *simnet.Scenario `json:"smaller"`
	Trials    int              `json:"trials"`
}

func (s *soak) object() soakObject {
	o := soakObject{
		Seeds: s.done, From: *s.cmd.From, Ranks: s.cmd.Ranks,
		Seconds: s.took.Seconds(), PerSecond: s.rate(), Events: s.events, Failures: []failureObject{},
	}
	for _, f := range s.fails {
		o.Failures = append(o.Failures, failureObject{f.seed, f.err.Error(), f.small, f.trials})
	}
	return o
}

// scenarioObject is the JSON form of the result of one run. Times are in nanoseconds.
type scenarioObject struct {
	Scenario  *simnet.Scenario   `json:"scenario"`
	Violation string             `json:"violation,omitempty"`
	Digest    string             `json:"digest"`
	Events    int                `json:"events"`
	End       simnet.Time        `json:"end"`
	Calls     []callObject       `json:"calls"`
	Up        []simnet.LinkCount `json:"up"`
	Down      []simnet.LinkCount `json:"down"`
}

type callObject struct {
	Rank   int         `json:"rank"`
	Step   int         `json:"step"`
	Enter  simnet.Time `json:"enter"`
	Return simnet.Time `json:"return"`
	Error  string      `json:"error,omitempty"`
}

func newScenarioObject(sc *simnet.Scenario, r *simnet.Result) scenarioObject {
	o := scenarioObject{
		Scenario: sc, Digest: fmt.Sprintf("%016x", r.Digest), Events: r.Events, End: r.End,
		Calls: []callObject{}, Up: r.Up, Down: r.Down,
	}
	if r.Violation != nil {
		o.Violation = r.Violation.Error()
	}
	for _, c := range r.Calls {
		call := callObject{Rank: c.Rank, Step: c.Step, Enter: c.Enter, Return: c.Return}
		if c.Err != nil {
			call.Error = c.Err.Error()
		}
		o.Calls = append(o.Calls, call)
	}
	return o
}

// printReplay prints for each step when its first call began, when its first and its last call
// returned and how many calls failed, and then the packets that crossed the links.
func printReplay(w io.Writer, sc *simnet.Scenario, r *simnet.Result, name string) error {
	fmt.Fprintf(w, "%s: %d ranks, %d steps, %d faults; over after %v, digest %016x\n\n",
		name, sc.Ranks, len(sc.Script), len(sc.Faults), time.Duration(r.End), r.Digest)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tentered from\treturned from\tuntil\tcalls\tfailed\t")
	for i := range sc.Script {
		printStep(t, i, &sc.Script[i], r)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	up, down := total(r.Up), total(r.Down)
	_, err := fmt.Fprintf(w, "\nhosts to switch: %d packets, %d bytes, %d dropped by full queues\nswitch to hosts: %d packets, %d bytes, %d dropped by full queues\n",
		up.Packets, up.Bytes, up.Dropped, down.Packets, down.Bytes, down.Dropped)
	return err
}

func printStep(w io.Writer, i int, o *simnet.Op, r *simnet.Result) {
	var calls, failed int
	var enter, first, last simnet.Time
	for _, c := range r.Calls {
		switch {
		case c.Step != i:
		case c.Err != nil:
			failed++
		default:
			if calls++; calls == 1 {
				enter, first = c.Enter, c.Return
			}
			enter, first, last = min(enter, c.Enter), min(first, c.Return), max(last, c.Return)
		}
	}
	what := string(o.Kind)
	if o.Algorithm != "" {
		what = o.Algorithm
	}
	fmt.Fprintf(w, "%d %s\t%v\t%v\t%v\t%d\t%d\t\n", i, what, time.Duration(enter), time.Duration(first), time.Duration(last), calls, failed)
}

func total(links []simnet.LinkCount) (sum simnet.LinkCount) {
	for _, l := range links {
		sum.Packets += l.Packets
		sum.Bytes += l.Bytes
		sum.Dropped += l.Dropped
	}
	return sum
}

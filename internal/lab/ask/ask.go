// Package ask is the verb ask of schedlab.
package ask

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// The ranks with a role, and the length of an answer.
const (
	asker  = 1
	hub    = 0
	answer = 8 // bytes
)

// byMulticast asks by multicast.
const byMulticast = "anyreduce/mcast-acktree"

// Verb measures questions that one rank asks and all ranks answer.
type Verb struct {
	options.RoundsFlag `embed:"" set:"rounds=200"`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Compares a question that one rank asks and all ranks answer with an allreduce that all ranks call,
and with a coordinator, which paper 001 names as the alternative: a rank that gets the question, asks
all others, adds up the answers and tells all the result.

The first table comes from the LogGP model with the parameters of paper 001's figures, and depends on
no machine. The other two are measured on this host, over TCP and over TCP with UDP multicast, by
which the question and the result then go. All ranks are goroutines of one process. The asker is rank
1 and the coordinator rank 0. Answers are one number of 8 bytes.

For Ask, the other ranks are in no call: the runtime answers for them in the background. It first has
to take over from the barrier before. "Ask, rested" asks 10 ms after the barrier, so that it has done
so. In all other columns every rank makes the call at the same time and polls. The operations take
turns in each round, in a random order, and all ranks meet between them.

Example:

  schedlab ask > docs/results/ask.md`
}

// Run prints the tables in Markdown.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.CheckRounds(1); err != nil {
		return err
	}
	return run(ctx, std.Out, []int{8, 16, 32}, v.Rounds)
}

func run(ctx context.Context, w io.Writer, sizes []int, rounds int) error {
	fmt.Fprintln(w, "# Questions that one rank asks and all answer")
	fmt.Fprintln(w, "\n`schedlab ask`: one number of 8 bytes of every rank is added up, for a question of rank 1.")
	fmt.Fprintln(w, "\nIn the LogGP model (L = 1 µs, o = g = 0.3 µs, 10 GB/s), in µs until the asker has the result, and until all have it:")
	fmt.Fprintln(w)
	report.WriteTitles(w, "ranks:", "anyreduce/skip-ring:", "anyreduce/circulant:", "anyreduce/mcast-acktree:", "coordinator:", "allreduce/doubling:")
	for _, size := range sizes {
		times, err := modelled(size)
		if err != nil {
			return err
		}
		report.WriteCells(w, slices.Concat([]any{size}, times)...)
	}
	for _, by := range []struct {
		words     string
		multicast bool
	}{{"TCP", false}, {"TCP and UDP multicast", true}} {
		fmt.Fprintf(w, "\nMeasured over %s on one host, median µs at the asker of %d rounds:\n", by.words, rounds)
		if err := table(ctx, w, sizes, rounds, by.multicast); err != nil {
			return fmt.Errorf("%s: %w", by.words, err)
		}
	}
	return nil
}

// table measures and prints the times over one transport.
func table(ctx context.Context, w io.Writer, sizes []int, rounds int, multicast bool) error {
	for i, size := range sizes {
		names, times, err := measured(ctx, size, rounds, multicast)
		if err != nil {
			return fmt.Errorf("%d ranks: %w", size, err)
		}
		if i == 0 {
			titles := []string{"ranks:"}
			for _, name := range names {
				titles = append(titles, name+":")
			}
			fmt.Fprintln(w)
			report.WriteTitles(w, titles...)
		}
		cells := []any{size}
		for _, t := range times {
			cells = append(cells, report.Float(float64(t.Nanoseconds())/1e3, 0))
		}
		report.WriteCells(w, cells...)
	}
	return nil
}

// coordinated returns the schedule of a coordinator.
func coordinated(ranks int) (*ir.Schedule, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "schedule anyreduce/coordinator ranks=%d root=%d chunks=2\nrank %d\n", ranks, asker, hub)
	tell := func(chunk string, first int) {
		var puts []string
		for rank := first; rank < ranks; rank++ {
			puts = append(puts, fmt.Sprintf("put %s @%d", chunk, rank))
		}
		fmt.Fprintf(&b, "  %s -> %s\n", chunk, strings.Join(puts, ", "))
	}
	tell("c0", asker+1)
	answers := ""
	for rank := 1; rank < ranks; rank++ {
		answers += fmt.Sprint(" v", rank-1)
	}
	fmt.Fprintf(&b, "  enter c0%s -> fold c1 = x0%s\n", answers, answers)
	tell("c1", asker)
	fmt.Fprintf(&b, "  done c0 c1\nrank %d\n  enter -> put c0 @%d\n  enter -> put x0 @%d as v0\n  done c1\n", asker, hub, hub)
	for rank := asker + 1; rank < ranks; rank++ {
		fmt.Fprintf(&b, "rank %d\n  enter c0 -> put x0 @%d as v%d\n  done c0 c1\n", rank, hub, rank-1)
	}
	return ir.ParseText(strings.NewReader(b.String()))
}

// modelled returns the cells of a row of the table of the model, one for each way to ask.
func modelled(ranks int) (times []any, err error) {
	star, err := coordinated(ranks)
	if err != nil {
		return nil, err
	}
	var all []sim.Programs
	for _, name := range []string{"anyreduce/skip-ring", "anyreduce/circulant", byMulticast, "", "allreduce/doubling"} {
		if name == "" {
			all = append(all, sim.Of(star))
			continue
		}
		params := schedule.Params{Ranks: ranks}
		if a, _ := schedule.Named(name); a.Row().Rooted {
			params.Root = asker
		}
		spec, err := schedule.New(name, params)
		if err != nil {
			return nil, err
		}
		all = append(all, spec)
	}
	for _, p := range all {
		r, err := sim.Run(p, sim.Config{Model: sim.LogGP{L: 1000, O: 300, Gap: 300, GPerByte: 100}, Bytes: answer})
		if err != nil {
			return nil, err
		}
		times = append(times, fmt.Sprintf("%.1f, %.1f", float64(r.Returns[asker])/1e3, float64(r.Makespan)/1e3))
	}
	return times, nil
}

// sum adds numbers of 8 bytes.
var sum = &runtime.Fold{Name: "sum of uint64", Element: answer, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := 0; i < len(dst); i += answer {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(a[i:])+binary.LittleEndian.Uint64(b[i:]))
	}
}}

func number(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// operation is an operation to measure.
type operation struct {
	name   string
	listen bool                                                               // only the asker calls
	rest   time.Duration                                                      // before the asker calls
	call   func(ctx context.Context, c *runtime.Comm) (got []byte, err error) // got: at the asker
	times  []time.Duration                                                    // at the asker
}

func operations(ranks int, multicast bool) ([]*operation, error) {
	ask := func(ctx context.Context, c *runtime.Comm) ([]byte, error) { return c.Ask(ctx, number(0)) }
	all := []*operation{
		{name: "Ask", listen: true, call: ask},
		{name: "Ask, rested", listen: true, rest: 10 * time.Millisecond, call: ask},
	}
	names := []string{"anyreduce/skip-ring", "anyreduce/circulant", "coordinator"}
	if multicast {
		names = []string{byMulticast, "coordinator"}
	}
	star, err := coordinated(ranks)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s := star
		if name != "coordinator" {
			spec, err := schedule.New(name, schedule.Params{Ranks: ranks, Root: asker, Chunks: 1})
			if err != nil {
				return nil, err
			}
			s = spec.Schedule()
		}
		of, err := machine.Of(s)
		if err != nil {
			return nil, err
		}
		all = append(all, &operation{name: name, call: func(ctx context.Context, c *runtime.Comm) ([]byte, error) {
			src, dst := number(1), make([]byte, 2*answer) // dst: the question, and the answers of all
			if c.Rank() == asker {
				src = append(src, number(0)...) // its answer, and the question
			}
			err := c.Use(of)
			if err == nil {
				err = c.Do(ctx, runtime.Call{Collective: schedule.Anyreduce, Dst: dst, Src: src, Root: asker, Fold: sum})
			}
			return dst[answer:], err
		}})
	}
	all = append(all, &operation{name: "Allreduce", call: func(ctx context.Context, c *runtime.Comm) ([]byte, error) {
		buf := number(1)
		return buf, c.Do(ctx, runtime.Call{Collective: schedule.Allreduce, Dst: buf, Src: buf, Fold: sum})
	}})
	return all, nil
}

// measured returns the names of the operations, and the median time of each at the asker.
func measured(ctx context.Context, ranks, rounds int, multicast bool) (names []string, medians []time.Duration, err error) {
	ops, err := operations(ranks, multicast)
	if err != nil {
		return nil, nil, err
	}
	comms, err := connect(ctx, ranks, multicast)
	if err != nil {
		return nil, nil, err
	}
	const warm = 5
	for round := range warm + rounds {
		for _, i := range rand.Perm(len(ops)) {
			took, err := once(ctx, comms, ops[i])
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", ops[i].name, err)
			}
			if round >= warm {
				ops[i].times = append(ops[i].times, took)
			}
		}
	}
	for _, o := range ops {
		slices.Sort(o.times)
		names, medians = append(names, o.name), append(medians, o.times[len(o.times)/2])
	}
	return names, medians, eachRank(comms, func(c *runtime.Comm) error { return c.Close() })
}

// once does an operation and returns its time at the asker.
func once(ctx context.Context, comms []*runtime.Comm, o *operation) (took time.Duration, err error) {
	return took, errors.Join(
		eachRank(comms, func(c *runtime.Comm) error { return c.Barrier(ctx) }),
		eachRank(comms, func(c *runtime.Comm) error {
			if o.listen && c.Rank() != asker {
				return nil
			}
			time.Sleep(o.rest)
			start := time.Now()
			got, err := o.call(ctx, c)
			if c.Rank() == asker {
				took = time.Since(start)
				if n := binary.LittleEndian.Uint64(got); err == nil && n != uint64(len(comms)) {
					err = fmt.Errorf("%d answers of %d ranks", n, len(comms))
				}
			}
			return err
		}))
}

func eachRank(comms []*runtime.Comm, f func(c *runtime.Comm) error) error {
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() { errs[i] = f(c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// connect joins ranks over TCP, or over TCP and multicast, which answer questions with the number 1.
func connect(ctx context.Context, ranks int, multicast bool) ([]*runtime.Comm, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	comms, errs := make([]*runtime.Comm, ranks), make([]error, ranks)
	var wg sync.WaitGroup
	for rank := range ranks {
		wg.Go(func() {
			cfg := tcp.Config{Rank: rank, Size: ranks, Coordinator: l.Addr().String()}
			if rank == 0 {
				cfg.Listener = l
			}
			var by runtime.Config
			var err error
			if multicast {
				by.Algorithms = runtime.Algorithms{schedule.Anyreduce: {Name: byMulticast}}
				by.Transport, err = mcast.Join(ctx, mcast.Config{TCP: cfg})
			} else {
				by.Transport, err = tcp.Join(ctx, cfg)
			}
			if err == nil {
				comms[rank], err = runtime.Join(ctx, by)
			}
			if err == nil {
				err = comms[rank].Answers(runtime.Answering{Fold: sum, Answer: func(runtime.Message) []byte { return number(1) }})
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	return comms, errors.Join(errs...)
}

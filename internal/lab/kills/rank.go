//go:build linux

package kills

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/transport"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/verbs"
)

// rankVerb is the name of the hidden verb of a rank.
const rankVerb = "kills-rank"

// Rank is the hidden verb of a rank.
type Rank struct{}

// Run is the process of a rank.
func (Rank) Run(std terminal.Stdio) error {
	return terminal.Failed(rank(std.In, std.Out))
}

// job tells a rank what to do, as a line of JSON.
type job struct {
	ranks.Seat
	Work     string
	Patience time.Duration
	Silence  time.Duration
	Quorum   bool
}

const overVerbs = "verbs"

// usualNames returns the transports that work on this host.
func usualNames() []string {
	return slices.DeleteFunc(transport.Names(), func(name string) bool {
		return name == overVerbs && verbs.Check(verbs.Config{}) != nil
	})
}

// works are the operations that ranks repeat until they fail. turn counts the repetitions.
var works = []struct {
	name string
	do   func(ctx context.Context, c *runtime.Comm, turn int, buf []byte) error
}{
	{"bcast", func(ctx context.Context, c *runtime.Comm, turn int, buf []byte) error {
		return c.Bcast(ctx, buf, turn%c.Size())
	}},
	{"barrier", func(ctx context.Context, c *runtime.Comm, _ int, _ []byte) error { return c.Barrier(ctx) }},
	{"rootless", func(ctx context.Context, c *runtime.Comm, _ int, buf []byte) error {
		if err := c.Publish(ctx, buf[:100]); err != nil {
			return err
		}
		for range c.Size() - 1 {
			if _, err := c.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}},
	{"asks", func(ctx context.Context, c *runtime.Comm, _ int, buf []byte) error {
		total, err := c.Ask(ctx, buf[:100])
		if err == nil && (len(total) != 1 || int(total[0]) != c.Size()%256) {
			err = fmt.Errorf("%d ranks answer, and the sum is %v", c.Size(), total)
		}
		return err
	}},
	{"blocks", func(ctx context.Context, c *runtime.Comm, turn int, buf []byte) error {
		for _, row := range ir.Collectives() {
			if row.Inputs != nil {
				call := callOf(&row, c, turn, func(int) int { return len(buf) })
				call.Src, call.Fold = append(call.Src, make([]byte, len(buf)*row.Inputs(c.Size()))...), sum
				call.SrcCounts, call.DstCounts = nil, nil
				if err := c.Do(ctx, call); err != nil {
					return err
				}
				continue
			}
			if row.Blocks == nil || row.Blocks(2) < 2 {
				continue
			}
			for _, shift := range []int{1, 3} { // blocks of equal lengths, and of three lengths
				call := callOf(&row, c, turn, func(block int) int { return len(buf) >> (block % shift) })
				call.Counted = shift > 1
				if err := c.Do(ctx, call); err != nil {
					return err
				}
			}
		}
		return nil
	}},
}

// answer has a rank answer each question with 1, so the sum of the answers is the number of ranks.
func answer(c *runtime.Comm) error {
	return c.Answers(runtime.Answering{Fold: sum, Answer: func(runtime.Message) []byte { return []byte{1} }})
}

// sum adds bytes.
var sum = &runtime.Fold{Name: "sum of bytes", Element: 1, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}}

// callOf returns the call of a collective with blocks of the given lengths. The root changes from
// turn to turn.
func callOf(row *ir.Collective, c *runtime.Comm, turn int, length func(block int) int) runtime.Call {
	call := runtime.Call{Collective: row.Name}
	if row.Rooted {
		call.Root = turn % c.Size()
	}
	memory := func(of ir.Blocks) (b []byte, counts []int) {
		bytes := 0
		for i := range of.Count {
			counts = append(counts, length(of.At(i)))
			bytes += counts[i]
		}
		return make([]byte, bytes), counts
	}
	call.Src, call.SrcCounts = memory(row.Held(c.Size(), call.Root, c.Rank()))
	call.Dst, call.DstCounts = memory(row.Wanted(c.Size(), call.Root, c.Rank()))
	return call
}

// halves is the work of ranks that are split into two halves and run barriers there. When a call
// fails in one half, its ranks go back to the communicator of all. The ranks of the other half
// check whether that communicator has failed.
const halves = "halves"

func workNames() (names []string) {
	names = append(names, halves)
	for _, w := range works {
		names = append(names, w.name)
	}
	return names
}

// rank is the process of a rank. It prints that it is ready, and later its report.
func rank(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*j.Patience)
	defer cancel()
	c, err := j.join(ctx, stdout)
	if err != nil {
		return err
	}
	if err := errors.Join(answer(c), c.Barrier(ctx)); err != nil {
		return err
	}
	fmt.Fprintln(stdout, ranks.Ready)
	t := survivor{Rank: j.Rank}
	c = j.outlive(ctx, c, &t)
	if err := json.NewEncoder(stdout).Encode(t); err != nil {
		return err
	}
	_, err = in.ReadByte() // wait until all have sent their reports
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, c.Close())
}

func (j *job) join(ctx context.Context, stdout io.Writer) (*runtime.Comm, error) {
	t, err := j.Open(ctx, stdout)
	if err != nil {
		return nil, err
	}
	cfg := runtime.Config{Transport: t, Silence: j.Silence}
	if j.Quorum {
		cfg.Quorum = runtime.Majority
	}
	return runtime.Join(ctx, cfg)
}

// outlive works until a call fails, and then continues without the lost ranks. It returns the
// communicator of the survivors.
func (j *job) outlive(ctx context.Context, c *runtime.Comm, t *survivor) *runtime.Comm {
	buf := make([]byte, 20_000)
	err := j.work(ctx, c, buf)
	t.At, t.Err = time.Now().UnixNano(), err.Error()
	var lost *runtime.LostError
	var about *runtime.RankError
	switch {
	case errors.As(err, &lost):
		t.Lost, t.Answers = lost.Ranks, fmt.Sprint(lost.Answers)
	case errors.Is(err, runtime.ErrPeerLost) && errors.As(err, &about):
		t.Self = about.Rank == j.Rank
	}
	for {
		next, err := c.Shrink(ctx)
		if err != nil {
			t.After, t.Few = err.Error(), errors.Is(err, runtime.ErrQuorum)
			return c
		}
		c = next
		if err = without(ctx, c, buf); err == nil {
			return c
		}
		if !errors.Is(err, runtime.ErrPeerLost) {
			t.After = err.Error()
			return c
		}
	}
}

func (j *job) work(ctx context.Context, c *runtime.Comm, buf []byte) error {
	if j.Work == halves {
		return j.workInHalves(ctx, c)
	}
	for turn := 0; ; turn++ {
		for _, w := range works {
			if w.name != j.Work {
				continue
			}
			if err := w.do(ctx, c, turn, buf); err != nil {
				return err
			}
		}
	}
}

// worldTurns is the number of turns in the halves after which all ranks meet, because the network
// may be cut between the halves.
const worldTurns = 100

func (j *job) workInHalves(ctx context.Context, c *runtime.Comm) error {
	half, err := c.Split(ctx, c.Rank()%2, 0)
	if err != nil {
		return err
	}
	for turn := 1; c.Err() == nil; turn++ {
		err := half.Barrier(ctx)
		if err != nil || turn%worldTurns == 0 {
			err = c.Barrier(ctx)
		}
		if err != nil {
			return errors.Join(err, half.Close())
		}
	}
	return errors.Join(c.Err(), half.Close())
}

// without runs an operation of each kind in the communicator of the survivors.
func without(ctx context.Context, c *runtime.Comm, buf []byte) error {
	if err := errors.Join(answer(c), c.Barrier(ctx)); err != nil {
		return err
	}
	for turn := range 3 {
		for _, w := range works {
			if err := w.do(ctx, c, turn, buf); err != nil {
				return err
			}
		}
	}
	return c.Barrier(ctx)
}

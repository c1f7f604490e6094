package invented

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/explore"
	_ "github.com/schedgen/schedgen/internal/test/ballast"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/sim"
	"github.com/schedgen/schedgen/verify"
)

// A halo is a scatter with an overlap, as solvers on a grid need it: the root has P+1 blocks, and
// rank r wants the blocks r and r+1.
const halo = "halo"

func TestMain(m *testing.M) {
	err := ir.Define(ir.Collective{
		Name:   halo,
		Rooted: true,
		Blocks: func(ranks int) int { return ranks + 1 },
		Held: func(ranks, root, rank int) ir.Blocks {
			if rank != root {
				return ir.Blocks{}
			}
			return ir.Blocks{First: 0, Step: 1, Count: ranks + 1}
		},
		Wanted: func(_, _, rank int) ir.Blocks { return ir.Blocks{First: rank, Step: 1, Count: 2} },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// linear has the root put to each rank what that wants, in one message.
func linear(ranks, root, perBlock int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{
		Collective: halo, Algorithm: "linear", Ranks: ranks, Root: root, Chunks: perBlock * (ranks + 1),
	}}
	var sends []ir.Action
	for rank := range ranks {
		p := ir.Program{Rank: rank, Done: []ir.Slot{ir.Enter}}
		if rank != root {
			p.Done = nil
			for k := range s.Wanted(rank).All() {
				p.Done = append(p.Done, ir.Chunk(k))
			}
			sends = append(sends, ir.PutAll(rank, p.Done...)...)
		}
		s.Programs = append(s.Programs, p)
	}
	if len(sends) > 0 {
		s.Programs[root].Rules = []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: sends}}
	}
	return s
}

// Every number of ranks, root and number of chunks is proved, reads back, and is run with every
// length.
func TestProvedAndRun(t *testing.T) {
	for ranks := 1; ranks <= 6; ranks++ {
		for _, root := range []int{0, ranks / 2, ranks - 1} {
			for _, perBlock := range []int{1, 3} {
				t.Run(fmt.Sprintf("ranks=%d,root=%d,chunks=%d", ranks, root, perBlock), func(t *testing.T) {
					s := linear(ranks, root, perBlock)
					report, err := verify.Run(s)
					require.NoError(t, err)
					require.NoError(t, report.Err())
					var text, json bytes.Buffer
					require.NoError(t, ir.WriteText(&text, s))
					back, err := ir.ParseText(&text)
					require.NoError(t, err)
					require.Equal(t, s, back)
					require.NoError(t, emit.Write(&json, "json", s, emit.Options{Proved: true}))
					back, err = ir.ParseJSON(&json)
					require.NoError(t, err)
					require.Equal(t, s, back)
					run(t, s)
				})
			}
		}
	}
}

// run has ranks in goroutines run s, and compares every byte.
func run(t *testing.T, s *ir.Schedule) {
	program, err := machine.Of(s)
	require.NoError(t, err)
	transports, err := mem.New(s.Ranks, mem.Options{})
	require.NoError(t, err)
	rank := func(rank int) (err error) {
		ctx := context.Background()
		c, err := runtime.Join(ctx, runtime.Config{Transport: transports[rank]})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		if err := c.Use(program); err != nil {
			return err
		}
		for turn, n := range []int{0, 1, 7, 1000, 100_000} {
			block := func(b int) []byte { return bytes.Repeat([]byte{byte(1 + turn + 16*b)}, n) }
			var src []byte
			if rank == s.Root {
				for b := range s.Ranks + 1 {
					src = append(src, block(b)...)
				}
			}
			dst := make([]byte, 2*n)
			if err := c.Collective(ctx, halo, dst, src, s.Root); err != nil {
				return err
			}
			if !bytes.Equal(dst, append(block(rank), block(rank+1)...)) {
				return fmt.Errorf("rank %d has wrong bytes of blocks of %d", rank, n)
			}
		}
		return nil
	}
	errs := make([]error, s.Ranks)
	var wg sync.WaitGroup
	for r := range errs {
		wg.Go(func() { errs[r] = rank(r) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// TestFoundWrong checks that a schedule that forgets a block is refuted, and that the error names
// the missing block.
func TestFoundWrong(t *testing.T) {
	s := linear(4, 1, 1)
	do := s.Programs[1].Rules[0].Do
	s.Programs[1].Rules[0].Do = do[:len(do)-1]
	s.Programs[1].Rules[0].Do[len(do)-2].Joins = false
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.ErrorContains(t, report.Err(), "coverage: rank 3 never gets c4")
}

// Every format writes it, or says why it cannot; pictures name the root and the blocks.
func TestShown(t *testing.T) {
	s := linear(5, 2, 1)
	for _, f := range emit.Formats() {
		var out bytes.Buffer
		var err error
		if f.Write != nil {
			err = emit.Write(&out, f.Name, s, emit.Options{Proved: true})
		} else {
			err = emit.WriteRanks(func(_ int, write func(io.Writer) error) error { return write(&out) }, f.Name, s, emit.Options{})
		}
		if unfit := new(emit.Unfit); errors.As(err, &unfit) {
			require.Contains(t, err.Error(), halo, f.Name)
			continue
		}
		require.NoError(t, err, f.Name)
		require.Contains(t, out.String(), halo, f.Name)
	}
	var rounds, told bytes.Buffer
	require.NoError(t, emit.Rounds(&rounds, s, emit.RoundsOptions{Width: 100}))
	require.Contains(t, rounds.String(), "5 ranks, root 2")
	require.Contains(t, rounds.String(), "1 round")
	require.NoError(t, emit.Explain(&told, s, 4))
	require.Contains(t, told.String(), "the rank has chunks 4 and 5 (from rank 2)")
}

// The simulator counts its messages and their bytes: two blocks for each rank but the root.
func TestSimulated(t *testing.T) {
	const gap, block = 3, 1000
	model := &sim.LogGP{L: 100, O: 10, Gap: gap, GPerByte: sim.PerByte(1 << 10)}
	s := linear(5, 2, 1)
	r, err := sim.Run(sim.Of(s), sim.Config{Model: model, Bytes: block})
	require.NoError(t, err)
	require.Equal(t, int64(4), r.Counts.Sends)
	require.Equal(t, int64(4), r.Counts.Received)
	require.NotEqual(t, sim.Never, r.Makespan)
	twice, err := sim.Run(sim.Of(s), sim.Config{Model: model, Bytes: 2 * block})
	require.NoError(t, err)
	require.Greater(t, twice.Makespan, r.Makespan, "bytes count")
}

// The code that runs goes through every order of events.
func TestExplored(t *testing.T) {
	for ranks := 2; ranks <= 3; ranks++ {
		s := linear(ranks, ranks-1, 1)
		r, err := explore.Run(context.Background(), explore.Options{Ranks: ranks, Calls: []explore.Call{{Schedule: s}, {Schedule: s}}, Early: 0, Open: 1})
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		require.True(t, r.Complete)
		require.Greater(t, r.States, ranks)
	}
}

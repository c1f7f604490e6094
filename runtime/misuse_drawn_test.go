package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// drawnCall is a call of all ranks.
type drawnCall struct {
	row     ir.Collective
	root    int
	length  int // elements of a block
	element int
	counted bool // block b has b more elements than length
	wrong   int  // index of one of wrong; negative: the call is right
}

func (d *drawnCall) at(ranks, rank int) runtime.Call {
	root := d.root
	if !d.row.Rooted {
		root = 0
	}
	var call runtime.Call
	switch {
	case d.row.Blocks == nil:
		call = runtime.Call{Collective: d.row.Name}
	case d.counted && d.row.Blocks(2) > 1 && d.row.Inputs == nil:
		call = countedOf(&d.row, ranks, root, rank, func(b int) int { return d.length + b })
	default:
		call = callOf(&d.row, ranks, root, rank, d.length*d.element)
		if call.Element = d.element; call.Fold != nil {
			call.Fold = byteSum("sum of bytes", d.element)
		}
	}
	if d.wrong >= 0 {
		wrong[d.wrong].change(&call, ranks)
	}
	return call
}

// deviate draws how one rank's call differs from the others'.
func (d *drawnCall) deviate(rt *rapid.T, ranks int) {
	ways := []string{"collective", "wrong"}
	if d.row.Rooted {
		ways = append(ways, "root")
	}
	if d.row.Blocks != nil {
		ways = append(ways, "length")
		if d.row.Blocks(2) > 1 && d.row.Inputs == nil {
			ways = append(ways, "counted")
		}
		if !d.counted || d.row.Blocks(2) < 2 || d.row.Inputs != nil {
			ways = append(ways, "element")
		}
	}
	switch rapid.SampledFrom(ways).Draw(rt, "way") {
	case "collective":
		other := d.row.Name
		d.row = rapid.SampledFrom(called()).Filter(func(row ir.Collective) bool { return row.Name != other }).Draw(rt, "other collective")
	case "wrong":
		d.wrong = rapid.IntRange(0, len(wrong)-2).Draw(rt, "wrong") // the last one is right for a barrier
	case "root":
		d.root = (d.root + rapid.IntRange(1, ranks-1).Draw(rt, "other root")) % ranks
	case "length":
		d.length += rapid.IntRange(1, 3000).Draw(rt, "longer")
	case "counted":
		d.counted = !d.counted
	case "element":
		d.element *= 2
	}
}

// If one rank differs in one argument of one of several calls, all ranks fail with the same words.
func TestOneRankDeviatesSomewhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(2, 6).Draw(rt, "ranks")
		calls := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) drawnCall {
			return drawnCall{
				row: rapid.SampledFrom(called()).Draw(rt, "collective"), root: rapid.IntRange(0, ranks-1).Draw(rt, "root"),
				length: rapid.SampledFrom([]int{0, 1, 100, 9000}).Draw(rt, "length"), element: rapid.SampledFrom([]int{1, 8}).Draw(rt, "element"),
				counted: rapid.Bool().Draw(rt, "counted"), wrong: -1,
			}
		}), 1, 6).Draw(rt, "calls")
		odd, place := rapid.IntRange(0, ranks-1).Draw(rt, "odd"), rapid.IntRange(0, len(calls)-1).Draw(rt, "place")
		deviating := calls[place]
		deviating.deviate(rt, ranks)
		o := mem.Options{
			Seed: rapid.Uint64().Draw(rt, "seed"), Windows: rapid.Bool().Draw(rt, "windows"),
			Delay: rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(rt, "delay"), Loss: rapid.SampledFrom([]float64{0, 0.3}).Draw(rt, "loss"),
		}
		var err error
		synctest.Test(t, func(t *testing.T) {
			err = somewhere(t, ranks, o, func(c *runtime.Comm, i int) *drawnCall {
				if c.Rank() == odd && i == place {
					return &deviating
				}
				return &calls[i]
			}, len(calls))
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// somewhere lets ranks make n calls and then a barrier. It returns an error unless all ranks fail
// with the same mismatch.
func somewhere(t *testing.T, ranks int, o mem.Options, call func(c *runtime.Comm, i int) *drawnCall, n int) error {
	comms := group(t, ranks, o, runtime.Config{})
	defer func() {
		for _, c := range comms {
			_ = c.Close() // they have failed
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := each(comms, func(c *runtime.Comm) error {
		for i := range n {
			err := c.Do(ctx, call(c, i).at(ranks, c.Rank()))
			if errors.Is(err, runtime.ErrInput) || errors.Is(err, runtime.ErrMismatch) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("rank %d: call %d: %w", c.Rank(), i, err)
			}
		}
		if err := c.Barrier(ctx); !errors.Is(err, runtime.ErrMismatch) {
			return fmt.Errorf("rank %d: no mismatch, but: %w", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	time.Sleep(time.Second) // until all ranks know
	for _, c := range comms {
		if got := c.Err(); !errors.Is(got, runtime.ErrMismatch) || got.Error() != comms[0].Err().Error() {
			return fmt.Errorf("rank %d: %w; rank 0: %w", c.Rank(), got, comms[0].Err())
		}
	}
	return nil
}

package schedgen_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen"
)

// particle has padding bytes between its fields.
type particle struct {
	Kind     byte
	Position [3]float64
	Charge   int16
}

// testMoves calls every collective with elements of type T. value returns element i of block b of
// the collective in a round.
func testMoves[T comparable](t *testing.T, value func(round, b, i int) T) {
	block := func(round, b, n int) []T {
		all := make([]T, n)
		for i := range all {
			all[i] = value(round, b, i)
		}
		return all
	}
	blocks := func(round, first, step, count, n int) (all []T) {
		for b := range count {
			all = append(all, block(round, first+b*step, n)...)
		}
		return all
	}
	var zero T
	t.Run(reflect.TypeOf(zero).String(), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			size := rapid.IntRange(1, 7).Draw(rt, "ranks")
			root := rapid.IntRange(0, size-1).Draw(rt, "root")
			n := rapid.SampledFrom([]int{0, 1, 2, 5, 100, 3000}).Draw(rt, "elements of a block")
			start := rapid.Bool().Draw(rt, "start")
			inPlace := rapid.Bool().Draw(rt, "in place")
			comms := group(rt, size, schedgen.Config{})
			err := each(comms, func(c *schedgen.Comm) error {
				ctx := t.Context()
				wait := func(r *schedgen.Request, err error) error {
					if err != nil {
						return err
					}
					return r.Wait(ctx)
				}
				own := func(dst []T, round int) []T { // a block to send
					if inPlace && dst != nil {
						copy(dst[c.Rank()*n:], block(round, c.Rank(), n))
						return dst[c.Rank()*n:][:n]
					}
					return block(round, c.Rank(), n)
				}
				check := func(what string, got, want []T) error {
					if !slices.Equal(got, want) {
						return fmt.Errorf("rank %d: %s: got other elements than were sent", c.Rank(), what)
					}
					return nil
				}
				atRoot := func(blocks int) []T {
					if c.Rank() != root {
						return nil
					}
					return make([]T, blocks*n)
				}

				buf := make([]T, n)
				if c.Rank() == root {
					buf = block(0, root, n)
				}
				bcast := func() error { return schedgen.Bcast(ctx, c, buf, root) }
				scatterTo, scattered := make([]T, n), []T(nil)
				if c.Rank() == root {
					scattered = blocks(1, 0, 1, size, n)
				}
				scatter := func() error { return schedgen.Scatter(ctx, c, scatterTo, scattered, root) }
				gathered := atRoot(size)
				gather := func() error { return schedgen.Gather(ctx, c, gathered, own(gathered, 2), root) }
				all := make([]T, size*n)
				allgather := func() error { return schedgen.Allgather(ctx, c, all, own(all, 3)) }
				turned, turning := make([]T, size*n), blocks(4, c.Rank()*size, 1, size, n)
				alltoall := func() error { return schedgen.Alltoall(ctx, c, turned, turning) }
				barrier := func() error { return schedgen.Barrier(ctx, c) }
				if start {
					bcast = func() error { return wait(schedgen.StartBcast(ctx, c, buf, root)) }
					scatter = func() error { return wait(schedgen.StartScatter(ctx, c, scatterTo, scattered, root)) }
					gather = func() error { return wait(schedgen.StartGather(ctx, c, gathered, own(gathered, 2), root)) }
					allgather = func() error { return wait(schedgen.StartAllgather(ctx, c, all, own(all, 3))) }
					alltoall = func() error { return wait(schedgen.StartAlltoall(ctx, c, turned, turning)) }
					barrier = func() error { return wait(schedgen.StartBarrier(ctx, c)) }
				}
				for _, call := range []func() error{bcast, scatter, gather, allgather, alltoall, barrier} {
					if err := call(); err != nil {
						return err
					}
				}
				var atRootOnly []T
				if c.Rank() == root {
					atRootOnly = blocks(2, 0, 1, size, n)
				}
				for _, one := range []struct {
					what      string
					got, want []T
				}{
					{"Bcast", buf, block(0, root, n)},
					{"Scatter", scatterTo, block(1, c.Rank(), n)},
					{"Gather", gathered, atRootOnly},
					{"Allgather", all, blocks(3, 0, 1, size, n)},
					{"Alltoall", turned, blocks(4, c.Rank(), size, size, n)},
					{"Alltoall's src", turning, blocks(4, c.Rank()*size, 1, size, n)},
				} {
					if err := check(one.what, one.got, one.want); err != nil {
						return err
					}
				}
				return nil
			})
			require.NoError(rt, err)
			closeAll(rt, comms)
		})
	})
}

// TestElementsArrive checks that every collective moves elements of every type to their places, for
// any number of ranks, root and length of blocks.
func TestElementsArrive(t *testing.T) {
	testMoves(t, func(round, b, i int) byte { return byte(round*31 + b*7 + i) })
	testMoves(t, func(round, b, i int) int32 { return int32(round<<24 | b<<16 | i) })
	testMoves(t, func(round, b, i int) float64 { return float64(round) + float64(b)/64 - float64(i) })
	testMoves(t, func(round, b, i int) [3]uint16 { return [3]uint16{uint16(round), uint16(b), uint16(i)} })
	testMoves(t, func(round, b, i int) particle {
		return particle{byte(round), [3]float64{float64(b), float64(i), -1}, int16(i)}
	})
}

func TestBcastBytes(t *testing.T) {
	ranks(t, 4, func(c *schedgen.Comm) error {
		var msg []byte
		for i := range 3 {
			want := fmt.Sprint("message ", i, make([]byte, 1000*i))
			if c.Rank() == i {
				msg = []byte(want)
			}
			var err error
			if msg, err = schedgen.BcastBytes(t.Context(), c, msg, i); err != nil {
				return err
			}
			if string(msg) != want {
				return fmt.Errorf("rank %d has %q, want %q", c.Rank(), msg, want)
			}
		}
		return nil
	})
}

// TestValues checks that values of any lengths arrive, and that wrong numbers of them and a value
// that is too long are errors.
func TestValues(t *testing.T) {
	ranks(t, 3, func(c *schedgen.Comm) error {
		ctx, rank := t.Context(), c.Rank()
		value := func(from, to int) []byte { return bytes.Repeat([]byte{byte('a' + from), byte('0' + to)}, from*to*100) }
		var mine, want [][]byte // for all ranks, and of all ranks for this one
		for other := range 3 {
			mine, want = append(mine, value(rank, other)), append(want, value(other, rank))
		}
		got, err := schedgen.AlltoallBytes(ctx, c, mine)
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			return fmt.Errorf("rank %d has %q: %w", rank, got, err)
		}
		var values [][]byte
		if rank == 2 {
			values = mine
		}
		one, err := schedgen.ScatterBytes(ctx, c, values, 2)
		if err != nil || !bytes.Equal(one, value(2, rank)) {
			return fmt.Errorf("rank %d has %q: %w", rank, one, err)
		}
		all, err := schedgen.AllgatherBytes(ctx, c, one)
		if err != nil || !slices.EqualFunc(all, [][]byte{value(2, 0), value(2, 1), value(2, 2)}, bytes.Equal) {
			return fmt.Errorf("rank %d has %q: %w", rank, all, err)
		}
		if all, err = schedgen.GatherBytes(ctx, c, one, 1); err != nil || len(all) != map[bool]int{true: 3}[rank == 1] {
			return fmt.Errorf("rank %d has %q: %w", rank, all, err)
		}
		return nil
	})
	comms := group(t, 2, schedgen.Config{MaxBcast: 10})
	for _, call := range []func() error{
		func() error { _, err := schedgen.AlltoallBytes(t.Context(), comms[0], make([][]byte, 3)); return err },
		func() error { _, err := schedgen.ScatterBytes(t.Context(), comms[0], nil, 0); return err },
		func() error { _, err := schedgen.ScatterBytes(t.Context(), comms[0], make([][]byte, 2), 1); return err },
		func() error { _, err := schedgen.GatherBytes(t.Context(), comms[0], nil, 2); return err },
		func() error { _, err := schedgen.AllgatherBytes(t.Context(), nil, nil); return err },
	} {
		require.ErrorIs(t, call(), schedgen.ErrInput)
	}
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		_, err := schedgen.GatherBytes(t.Context(), c, make([]byte, 10+c.Rank()), 0)
		var about *schedgen.RankError
		if !errors.Is(err, schedgen.ErrTooLarge) || !errors.As(err, &about) || about.Rank != 1 {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		return c.Close()
	}))
}

// TestRequestsOverlap checks that a program may wait for requests in any order while others run.
func TestRequestsOverlap(t *testing.T) {
	ranks(t, 3, func(c *schedgen.Comm) error {
		var requests []*schedgen.Request
		var got [6][]int
		for i := range got {
			got[i] = make([]int, 3)
			r, err := schedgen.StartAllgather(t.Context(), c, got[i], []int{100*i + c.Rank()})
			if err != nil {
				return err
			}
			requests = append(requests, r)
		}
		for _, r := range slices.Backward(requests) {
			if err := r.Wait(t.Context()); err != nil {
				return err
			}
			<-r.Done()
		}
		for i := range got {
			if want := []int{100 * i, 100*i + 1, 100*i + 2}; !slices.Equal(got[i], want) {
				return fmt.Errorf("rank %d: %v, want %v", c.Rank(), got[i], want)
			}
		}
		return nil
	})
}

// TestSplit checks that communicators of Split and Dup are independent, and that a rank without a
// color gets none.
func TestSplit(t *testing.T) {
	ranks(t, 5, func(c *schedgen.Comm) error {
		color := c.Rank() % 2
		if c.Rank() == 4 {
			color = schedgen.Undefined
		}
		part, err := c.Split(t.Context(), color, -c.Rank())
		if err != nil {
			return err
		}
		if c.Rank() == 4 {
			if part != nil {
				return fmt.Errorf("rank 4 has a communicator")
			}
			return nil
		}
		got := make([]int, part.Size())
		if err := schedgen.Allgather(t.Context(), part, got, []int{c.Rank()}); err != nil {
			return err
		}
		if want := []int{2 + color, color}; !slices.Equal(got, want) {
			return fmt.Errorf("rank %d: %v, want %v", c.Rank(), got, want)
		}
		twin, err := part.Dup(t.Context())
		if err != nil {
			return err
		}
		if err := schedgen.Barrier(t.Context(), twin); err != nil {
			return err
		}
		if err := twin.Close(); err != nil {
			return err
		}
		return part.Close()
	})
}

func TestPublish(t *testing.T) {
	ranks(t, 3, func(c *schedgen.Comm) error {
		ctx := t.Context()
		if _, ok, err := c.TryNext(); ok || err != nil {
			return fmt.Errorf("a message before one was published, or %w", err)
		}
		if err := schedgen.Barrier(ctx, c); err != nil { // no rank has published before it
			return err
		}
		if c.Rank() == 1 {
			if err := c.Publish(ctx, []byte("one")); err != nil {
				return err
			}
			if err := c.Publish(ctx, []byte("two")); err != nil {
				return err
			}
			if err := c.Flush(ctx); err != nil {
				return err
			}
			return schedgen.Barrier(ctx, c)
		}
		msg, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if msg.Origin != 1 || msg.Seq != 0 || string(msg.Data) != "one" {
			return fmt.Errorf("got %+v", msg)
		}
		for msg, err := range c.Messages(ctx) {
			if err != nil || string(msg.Data) != "two" {
				return fmt.Errorf("got %+v, %w", msg, err)
			}
			break
		}
		return schedgen.Barrier(ctx, c)
	})
}

// TestWarmCollectivesDoNotAllocate checks that a warm communicator allocates nothing for a
// collective.
func TestWarmCollectivesDoNotAllocate(t *testing.T) {
	const size, n, warm, rounds = 4, 100, 300, 200
	comms := group(t, size, schedgen.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, one := range []struct {
		name string
		call func(c *schedgen.Comm, dst, src []particle) error
	}{
		{"Bcast", func(c *schedgen.Comm, dst, src []particle) error { return schedgen.Bcast(ctx, c, dst[:n], 0) }},
		{"Scatter", func(c *schedgen.Comm, dst, src []particle) error {
			if c.Rank() != 1 {
				src = nil
			}
			return schedgen.Scatter(ctx, c, dst[:n], src, 1)
		}},
		{"Gather", func(c *schedgen.Comm, dst, src []particle) error {
			if c.Rank() != 1 {
				dst = nil
			}
			return schedgen.Gather(ctx, c, dst, src[:n], 1)
		}},
		{"Allgather", func(c *schedgen.Comm, dst, src []particle) error { return schedgen.Allgather(ctx, c, dst, src[:n]) }},
		{"Alltoall", func(c *schedgen.Comm, dst, src []particle) error { return schedgen.Alltoall(ctx, c, dst, src) }},
		{"Barrier", func(c *schedgen.Comm, dst, src []particle) error { return schedgen.Barrier(ctx, c) }},
	} {
		t.Run(one.name, func(t *testing.T) {
			per := 0.0
			require.NoError(t, each(comms, func(c *schedgen.Comm) (err error) {
				dst, src := make([]particle, size*n), make([]particle, size*n)
				call := func() {
					if err == nil {
						err = one.call(c, dst, src)
					}
				}
				for range warm {
					call()
				}
				if err == nil {
					err = schedgen.Barrier(ctx, c)
				}
				if c.Rank() == 0 {
					per = testing.AllocsPerRun(rounds, call) // of all ranks
				} else {
					for range rounds + 1 { // AllocsPerRun calls once more
						call()
					}
				}
				return err
			}))
			require.Zero(t, per)
		})
	}
	closeAll(t, comms)
}

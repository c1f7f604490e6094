package schedgen_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime"
)

// asks makes all ranks answer and learn, and ask one question each at the same time. want is the
// value of every result.
func asks[T any](t *testing.T, op schedgen.Op, answer func(rank int) []T, want []T) {
	t.Helper()
	const size = 5
	comms := group(t, size, schedgen.Config{})
	var mu sync.Mutex
	learnt := make(map[string]int) // by origin and question: ranks
	var all sync.WaitGroup
	all.Add(size * size)
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		err := schedgen.Answer(c, op, func(schedgen.Message) []T { return answer(c.Rank()) }, func(r schedgen.Result[T]) {
			mu.Lock()
			defer mu.Unlock()
			if r.Err == nil && fmt.Sprint(r.Value) == fmt.Sprint(want) {
				learnt[fmt.Sprint(r.Question.Origin, string(r.Question.Data))]++
			}
			all.Done()
		})
		if err != nil {
			return err
		}
		if err := schedgen.Barrier(t.Context(), c); err != nil {
			return err
		}
		got, err := schedgen.Ask[T](t.Context(), c, fmt.Append(nil, "question of ", c.Rank()))
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("rank %d has %v, want %v", c.Rank(), got, want)
		}
		return nil
	}))
	all.Wait()
	for origin := range size {
		require.Equal(t, size, learnt[fmt.Sprint(origin, "question of ", origin)], "%v", learnt)
	}
	closeAll(t, comms)
}

// Every operation folds answers: numbers, votes, places and the program's own.
func TestAskFoldsByAllOperations(t *testing.T) {
	t.Parallel()
	rank := func(rank int) []float64 { return []float64{float64(rank), 1} }
	t.Run("Sum", func(t *testing.T) { asks(t, schedgen.Sum, rank, []float64{10, 5}) })
	t.Run("Max", func(t *testing.T) { asks(t, schedgen.Max, rank, []float64{4, 1}) })
	t.Run("And", func(t *testing.T) {
		asks(t, schedgen.And, func(rank int) []bool { return []bool{rank != 3, true} }, []bool{false, true})
	})
	t.Run("Or", func(t *testing.T) {
		asks(t, schedgen.Or, func(rank int) []uint8 { return []uint8{1 << rank} }, []uint8{31})
	})
	t.Run("MinLoc", func(t *testing.T) {
		asks(t, schedgen.MinLoc, func(rank int) []schedgen.Loc[float32] {
			return []schedgen.Loc[float32]{{Value: float32((rank + 2) % 5), Index: int64(rank)}}
		}, []schedgen.Loc[float32]{{Value: 0, Index: 3}})
	})
	t.Run("Exact", func(t *testing.T) {
		asks(t, schedgen.Sum, func(rank int) []schedgen.Exact {
			var e schedgen.Exact
			e.Add([]float64{1e300, 1, -1e300}[rank%3])
			return []schedgen.Exact{e}
		}, []schedgen.Exact{exact(1e300, 1, -1e300, 1e300, 1)})
	})
	t.Run("none", func(t *testing.T) {
		asks(t, schedgen.Sum, func(int) []int64 { return nil }, []int64{})
	})
	type span struct{ First, Last int32 }
	join := schedgen.Func("join", true, func(dst, src []span) {
		for i, s := range src {
			dst[i] = span{min(dst[i].First, s.First), max(dst[i].Last, s.Last)}
		}
	})
	t.Run("Func", func(t *testing.T) {
		asks(t, join, func(rank int) []span { return []span{{int32(-rank), int32(rank)}} }, []span{{-4, 4}})
	})
}

func exact(terms ...float64) (e schedgen.Exact) {
	for _, x := range terms {
		e.Add(x)
	}
	return e
}

// If rank 0 asks, answers are folded in the order of ranks, as by an operation that does not
// commute.
func TestAskFoldsInTheOrderOfRanks(t *testing.T) {
	type word struct {
		Letters [8]byte
		N       int64
	}
	concat := schedgen.Func("concat", false, func(dst, src []word) {
		for i, s := range src {
			copy(dst[i].Letters[dst[i].N:], s.Letters[:s.N])
			dst[i].N += s.N
		}
	})
	ranks(t, 7, func(c *schedgen.Comm) error {
		err := schedgen.Answer(c, concat, func(schedgen.Message) []word { return []word{{[8]byte{byte('a' + c.Rank())}, 1}} })
		if err != nil {
			return err
		}
		if err := schedgen.Barrier(t.Context(), c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			got, err := schedgen.Ask[word](t.Context(), c, nil)
			if err != nil {
				return err
			}
			if s := string(got[0].Letters[:got[0].N]); s != "abcdefg" {
				return fmt.Errorf("the answers are %s", s)
			}
		}
		return schedgen.Barrier(t.Context(), c)
	})
}

// Wrong calls return errors that name the mistake, and leave the communicator intact.
func TestAskInput(t *testing.T) {
	one := func(schedgen.Message) []float64 { return []float64{1} }
	require.ErrorIs(t, schedgen.Answer(nil, schedgen.Sum, one), schedgen.ErrInput)
	_, err := schedgen.Ask[float64](t.Context(), nil, nil)
	require.ErrorIs(t, err, schedgen.ErrInput)
	ranks(t, 1, func(c *schedgen.Comm) error {
		_, err := schedgen.Ask[float64](t.Context(), c, nil)
		require.ErrorIs(t, err, schedgen.ErrInput)
		require.ErrorContains(t, schedgen.Answer(c, schedgen.Sum, func(schedgen.Message) []string { return nil }), "only types without pointers")
		require.ErrorContains(t, schedgen.Answer(c, schedgen.And, one), "Answer: rank 0 of 1: ")
		require.ErrorContains(t, schedgen.Answer[float64](c, schedgen.Sum, nil), "is nil")
		require.NoError(t, schedgen.Answer(c, schedgen.Sum, one))
		require.ErrorIs(t, schedgen.Answer(c, schedgen.Sum, one), schedgen.ErrInput)
		_, err = schedgen.Ask[int](t.Context(), c, nil)
		require.ErrorContains(t, err, "this rank asks for int and answers with float64")
		got, err := schedgen.Ask[float64](t.Context(), c, nil)
		require.Equal(t, []float64{1}, got)
		return err
	})
}

// A question without a result has an error of both packages.
func TestAskErrorsAreOfBothPackages(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	var wait sync.WaitGroup
	wait.Add(1)
	for _, c := range comms[:2] {
		require.NoError(t, schedgen.Answer(c, schedgen.Sum, func(schedgen.Message) []int32 { return []int32{1} }, func(r schedgen.Result[int32]) {
			var of *schedgen.AskError
			if c.Rank() == 1 {
				require.ErrorAs(t, r.Err, &of)
				require.Empty(t, r.Value)
				wait.Done()
			}
		}))
	}
	_, err := schedgen.Ask[int32](t.Context(), comms[0], []byte("all?"))
	wait.Wait()
	require.ErrorIs(t, err, schedgen.ErrUnanswered)
	require.ErrorIs(t, err, runtime.ErrUnanswered)
	var of *schedgen.AskError
	var below *runtime.AskError
	var rank *schedgen.RankError
	require.ErrorAs(t, err, &of)
	require.ErrorAs(t, err, &below)
	require.ErrorAs(t, of, &rank, "also below an AskError")
	require.Equal(t, 2, rank.Rank)
	require.Equal(t, []int{0, 1}, of.Answered)
	require.Equal(t, below.Error(), of.Error())
	require.True(t, strings.HasSuffix(err.Error(), "rank 2: no usable answer: it has no handler for questions"), "%v", err)
	require.NoError(t, comms[0].Err())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = schedgen.Ask[int32](ctx, comms[0], nil)
	require.ErrorIs(t, err, context.Canceled)
	closeAll(t, comms)
}

// The error of a question names all ranks whose answers are not in, and says what is wrong with that
// of the first.
func TestAskErrorNamesAllRanksAtFault(t *testing.T) {
	for size, others := range map[int]string{3: "answer of rank 2", 4: "answers of ranks 2, 3"} {
		comms := group(t, size, schedgen.Config{})
		for rank, c := range comms[:2] {
			require.NoError(t, schedgen.Answer(c, schedgen.Sum, func(schedgen.Message) []int32 { return make([]int32, 2-rank) }))
		}
		_, err := schedgen.Ask[int32](t.Context(), comms[0], []byte("all?"))
		require.ErrorIs(t, err, schedgen.ErrUnanswered)
		require.EqualError(t, err, "ask: question 0 of rank 0, with 1 answer: rank 1: no usable answer: its answer has 1 element, and that of rank 0 has 2; the fold also lacks the "+others)
		closeAll(t, comms)
	}
}

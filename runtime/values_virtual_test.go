package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// valueCalls are the functions that move values. Each takes value(s, d), of rank s for rank d, and
// returns what it gets by sender, or an error. A value for all ranks is the one for rank 0.
var valueCalls = []struct {
	name string
	do   func(t *testing.T, c *runtime.Comm, root int, value func(from, to int) []byte) (got map[int][]byte, err error)
	to   func(c *runtime.Comm) int // the rank for which the values of this rank are
}{
	{"GatherBytes", func(t *testing.T, c *runtime.Comm, root int, value func(from, to int) []byte) (map[int][]byte, error) {
		all, err := c.GatherBytes(t.Context(), value(c.Rank(), 0), root)
		if err == nil && (all == nil) != (c.Rank() != root) {
			err = fmt.Errorf("rank %d gets %d values", c.Rank(), len(all))
		}
		return byRank(all), err
	}, toAll},
	{"AllgatherBytes", func(t *testing.T, c *runtime.Comm, _ int, value func(from, to int) []byte) (map[int][]byte, error) {
		all, err := c.AllgatherBytes(t.Context(), value(c.Rank(), 0))
		return byRank(all), err
	}, toAll},
	{"AlltoallBytes", func(t *testing.T, c *runtime.Comm, _ int, value func(from, to int) []byte) (map[int][]byte, error) {
		all, err := c.AlltoallBytes(t.Context(), valuesOf(c, value))
		return byRank(all), err
	}, (*runtime.Comm).Rank},
	{"ScatterBytes", func(t *testing.T, c *runtime.Comm, root int, value func(from, to int) []byte) (map[int][]byte, error) {
		var values [][]byte
		if c.Rank() == root {
			values = valuesOf(c, value)
		}
		got, err := c.ScatterBytes(t.Context(), values, root)
		return map[int][]byte{root: got}, err
	}, (*runtime.Comm).Rank},
}

func toAll(*runtime.Comm) int { return 0 }

func byRank(values [][]byte) map[int][]byte {
	all := make(map[int][]byte)
	for rank, v := range values {
		all[rank] = v
	}
	return all
}

// valuesOf returns the values of a rank for all ranks.
func valuesOf(c *runtime.Comm, value func(from, to int) []byte) (values [][]byte) {
	for to := range c.Size() {
		values = append(values, value(c.Rank(), to))
	}
	return values
}

// Every rank gets the values for it, whatever their lengths.
func TestValues(t *testing.T) {
	lengths := []int{0, 1, 70_000, 0, 33}
	for _, call := range valueCalls {
		for size := 1; size <= 5; size++ {
			t.Run(fmt.Sprint(call.name, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					comms := group(t, size, mem.Options{Seed: 1, Loss: 0.3}, runtime.Config{Chunk: 20_000})
					require.NoError(t, each(comms, func(c *runtime.Comm) error {
						for turn := range len(lengths) {
							value := func(from, to int) []byte {
								n := lengths[(turn+from*2+to*3)%len(lengths)]
								return message(uint64(turn*100+from*10+to), n)
							}
							root := turn % size
							got, err := call.do(t, c, root, value)
							if err != nil {
								return err
							}
							if call.name != "ScatterBytes" && len(got) > 0 && len(got) != size {
								return fmt.Errorf("%d values of %d", len(got), size)
							}
							for from, v := range got {
								if want := value(from, call.to(c)); v == nil || !bytes.Equal(v, want) || cap(v) != len(v) {
									return fmt.Errorf("rank %d gets %d bytes of rank %d that are not its %d", c.Rank(), len(v), from, len(want))
								}
							}
						}
						return c.Barrier(t.Context())
					}))
					require.NoError(t, each(comms, (*runtime.Comm).Close))
				})
			})
		}
	}
}

// A value that is too long is an error at all ranks that names its rank. The communicator works on.
func TestValueTooLong(t *testing.T) {
	const size, limit, guilty = 4, 100, 2
	for _, call := range valueCalls {
		t.Run(call.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				comms := group(t, size, mem.Options{}, runtime.Config{MaxBcast: limit})
				require.NoError(t, each(comms, func(c *runtime.Comm) error {
					for _, excess := range []int{1, 0} {
						_, err := call.do(t, c, guilty, func(from, to int) []byte {
							if from == guilty && (to == 0 || to == 3) {
								return make([]byte, limit+excess)
							}
							return make([]byte, limit)
						})
						want := fmt.Sprintf("%s: rank %d: message too large: 101 bytes, at most 100", call.name, guilty)
						var about *runtime.RankError
						switch {
						case excess == 0 && err != nil:
							return err
						case excess == 0:
						case !errors.Is(err, runtime.ErrTooLarge) || !errors.As(err, &about) || about.Rank != guilty || err.Error() != want:
							return fmt.Errorf("want %q, got %w", want, err)
						}
					}
					return c.Barrier(t.Context())
				}))
				require.NoError(t, each(comms, (*runtime.Comm).Close))
			})
		})
	}
}

// Ranks that call different functions, or have other bounds or roots, fail.
func TestValuesMismatch(t *testing.T) {
	value := func(_, to int) []byte { return make([]byte, 10+to) }
	for i, a := range valueCalls {
		for j, b := range valueCalls {
			if i >= j {
				continue
			}
			t.Run(a.name+b.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mismatched(t, group(t, 2, mem.Options{}, runtime.Config{}), func(c *runtime.Comm) error {
						call := a
						if c.Rank() == 1 {
							call = b
						}
						_, err := call.do(t, c, 0, value)
						return err
					})
				})
			})
		}
	}
	for _, call := range valueCalls {
		t.Run(call.name, func(t *testing.T) {
			if call.name != "AllgatherBytes" && call.name != "AlltoallBytes" {
				synctest.Test(t, func(t *testing.T) {
					mismatched(t, group(t, 2, mem.Options{}, runtime.Config{}), func(c *runtime.Comm) error {
						_, err := call.do(t, c, c.Rank(), value)
						return err
					})
				})
			}
			synctest.Test(t, func(t *testing.T) {
				ts, err := mem.New(2, mem.Options{})
				require.NoError(t, err)
				var comms []*runtime.Comm
				for rank, limit := range []int{100, 200} {
					c, err := runtime.Join(t.Context(), runtime.Config{Transport: ts[rank], MaxBcast: limit})
					require.NoError(t, err)
					comms = append(comms, c)
				}
				mismatched(t, comms, func(c *runtime.Comm) error {
					_, err := call.do(t, c, 0, value)
					return err
				})
			})
		})
	}
}

// A wrong number of values and a wrong root are refused.
func TestValuesRefused(t *testing.T) {
	var none context.Context
	c := group(t, 1, mem.Options{}, runtime.Config{})[0]
	for _, err := range []error{
		second(c.AlltoallBytes(t.Context(), nil)),
		second(c.ScatterBytes(t.Context(), make([][]byte, 2), 0)),
		second(c.ScatterBytes(t.Context(), make([][]byte, 1), 1)),
		second(c.GatherBytes(t.Context(), nil, -1)),
		second(c.GatherBytes(none, nil, 0)),
	} {
		require.ErrorIs(t, err, runtime.ErrInput)
	}
	require.NoError(t, second(c.AlltoallBytes(t.Context(), make([][]byte, 1))))
	require.NoError(t, c.Close())
}

func second[T any](_ T, err error) error { return err }

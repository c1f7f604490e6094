package schedgen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// TestFuncPanics checks that a panic in the function of an operation reaches the caller of the
// collective with the function's stack, that Close then returns, and that the others get the text.
func TestFuncPanics(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c *schedgen.Comm, buf []int, op schedgen.Op) error{
		"at once": func(ctx context.Context, c *schedgen.Comm, buf []int, op schedgen.Op) error {
			return schedgen.Allreduce(ctx, c, buf, op)
		},
		"request": func(ctx context.Context, c *schedgen.Comm, buf []int, op schedgen.Op) error {
			r, err := schedgen.StartAllreduce(ctx, c, buf, op)
			if err != nil {
				return err
			}
			return r.Wait(ctx)
		},
		"counts": func(ctx context.Context, c *schedgen.Comm, buf []int, op schedgen.Op) error {
			return schedgen.ReduceScatterv(ctx, c, buf, make([]int, 3*len(buf)), []int{len(buf), len(buf), len(buf)}, op)
		},
		"prepared": func(ctx context.Context, c *schedgen.Comm, buf []int, op schedgen.Op) error {
			p, err := schedgen.PrepareAllreduce(ctx, c, buf, op)
			for err == nil {
				err = p.Do(ctx)
			}
			return err
		},
		"ask": func(ctx context.Context, c *schedgen.Comm, buf []int, op schedgen.Op) error {
			_, err := schedgen.Ask[int](ctx, c, nil)
			return err
		},
	} {
		for _, windows := range []bool{false, true} {
			for _, n := range []int{1, 100_000} { // at once, and in parts
				t.Run(fmt.Sprintf("%s,windows=%v,n=%d", name, windows, n), func(t *testing.T) {
					comms := groupOf(t, 3, mem.Options{Windows: windows}, schedgen.Config{})
					errs := make([]error, 3)
					var calls atomic.Int32
					victim := -1
					require.NoError(t, each(comms, func(c *schedgen.Comm) error {
						defer c.Close()
						op := schedgen.Func("picky", false, func(dst, src []int) {
							if calls.Add(1) == 5 {
								victim = c.Rank()
								panic("in func")
							}
						})
						defer func() {
							if v := recover(); v != nil {
								errs[c.Rank()], _ = v.(error)
							}
						}()
						err := schedgen.Answer(c, op, func(schedgen.Message) []int { return make([]int, n) })
						if err == nil {
							err = schedgen.Barrier(t.Context(), c)
						}
						for err == nil {
							err = call(t.Context(), c, make([]int, n), op)
						}
						errs[c.Rank()] = err
						return nil
					}))
					for rank, err := range errs {
						text := `the function of the operation "picky of int" has panicked: in func`
						require.ErrorContains(t, err, text)
						var p *runtime.PanicError
						require.Equal(t, rank == victim, errors.As(err, &p))
						require.Equal(t, rank == victim, strings.Contains(err.Error(), "panic_test.go"), "the stack")
						require.Equal(t, rank != victim, errors.Is(err, schedgen.ErrAborted))
					}
				})
			}
		}
	}
}

// TestFuncExits checks that a function that ends its goroutine ends the program, since the
// goroutine holds locks. The program would hang otherwise.
func TestFuncExits(t *testing.T) {
	if os.Getenv("SCHEDGEN_TEST_FUNC_EXITS") != "" {
		op := schedgen.Func("exits", false, func(dst, src []int) { goruntime.Goexit() })
		ranks(t, 3, func(c *schedgen.Comm) error {
			defer c.Close()
			return schedgen.Allreduce(t.Context(), c, []int{1}, op)
		})
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFuncExits$")
	cmd.Env = append(os.Environ(), "SCHEDGEN_TEST_FUNC_EXITS=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 2, exit.ExitCode())
	require.Contains(t, string(out), `panic: the function of the operation "exits of int" has ended its goroutine, as t.FailNow and runtime.Goexit do`)
	require.Contains(t, string(out), "panic_test.go")
}

package runtime_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// table reads rules, a rule a line.
func table(t testing.TB, rules string) *selection.Rules {
	r, err := selection.Parse([]byte(`{"format": "schedgen-rules/1", "rules": [` + rules + `]}`))
	require.NoError(t, err)
	return r
}

const flags = `{"collective": "barrier", "ranks": {"min": 3}, "place": "one-host", "algorithm": "barrier/exchange", "params": {"degree": 2}},
{"collective": "barrier", "algorithm": "built-in"},
{"collective": "bcast", "bytes": {"max": 9}, "algorithm": "bcast/symmetric"},
{"collective": "bcast", "bytes": {"max": 99}, "algorithm": "bcast/chain", "params": {"chunk": 10}},
{"collective": "bcast", "bytes": {"max": 999}, "algorithm": "bcast/linear", "params": {"chunks": 3}},
{"collective": "bcast", "algorithm": "built-in"}`

// names returns the error of a call under an ended context, which names the schedule that it would
// run.
func names(t *testing.T, size int, cfg runtime.Config, call func(ctx context.Context, c *runtime.Comm) error) string {
	t.Helper()
	comms := group(t, size, mem.Options{}, cfg)
	closed(t, comms)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	err := call(ctx, comms[0])
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return err.Error()
}

// TestRulesChoose: the rules choose algorithm and parameters, by what the transport knows. Config
// has precedence.
func TestRulesChoose(t *testing.T) {
	bcast := func(n int) func(context.Context, *runtime.Comm) error {
		return func(ctx context.Context, c *runtime.Comm) error { return c.Bcast(ctx, make([]byte, n), 0) }
	}
	barrier := func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) }
	rules := table(t, flags)
	fixed := runtime.Config{Rules: rules, Algorithms: runtime.Algorithms{"bcast": {Params: schedule.Params{Chunks: 2}}}}
	named := runtime.Config{Rules: rules, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/binomial"}}}
	for _, c := range []struct {
		cfg  runtime.Config
		call func(context.Context, *runtime.Comm) error
		want string
	}{
		{runtime.Config{Rules: rules}, barrier, "barrier/exchange"},
		{runtime.Config{}, barrier, "barrier/hsb"},
		{runtime.Config{Rules: rules}, bcast(9), "bcast/symmetric"},
		{runtime.Config{Rules: rules}, bcast(99), "bcast/chain"},
		{runtime.Config{Rules: rules}, bcast(999), "bcast/linear"},
		{runtime.Config{Rules: rules}, bcast(256 << 10), "bcast/linear"},
		{fixed, bcast(99), "bcast/chain"},
		{named, bcast(99), "bcast/binomial"},
	} {
		require.Contains(t, names(t, 5, c.cfg, c.call), c.want)
	}
}

// TestRulesCut: messages of many sizes arrive whole however rules cut them.
func TestRulesCut(t *testing.T) {
	comms := group(t, 5, mem.Options{}, runtime.Config{Rules: table(t, flags)})
	closed(t, comms)
	for _, n := range []int{0, 1, 9, 10, 99, 100, 999, 1000, 100_000} {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			buf := make([]byte, n)
			for i := range buf {
				buf[i] = byte(i * (1 - min(c.Rank(), 1)))
			}
			if err := c.Bcast(t.Context(), buf, 0); err != nil {
				return err
			}
			for i := range buf {
				if buf[i] != byte(i) {
					return fmt.Errorf("rank %d: byte %d of %d is %d", c.Rank(), i, n, buf[i])
				}
			}
			return c.Barrier(t.Context())
		}))
	}
}

// TestDifferentRules: different rules are an error at every rank, in any operation, even if they
// choose alike. Rules equal to the built-in rules are no difference.
func TestDifferentRules(t *testing.T) {
	alike := table(t, `{"collective": "bcast", "algorithm": "built-in"}`)
	for name, call := range map[string]func(c *runtime.Comm) error{
		"barrier": func(c *runtime.Comm) error { return c.Barrier(t.Context()) },
		"bcast": func(c *runtime.Comm) error {
			err := c.Bcast(t.Context(), make([]byte, 5000), 2)
			return cmp.Or(err, c.Barrier(t.Context())) // a root may return before it hears of the others
		},
		"next": func(c *runtime.Comm) error {
			if c.Rank() != 1 {
				_, err := c.Next(t.Context())
				return err
			}
			err := c.Publish(t.Context(), []byte("x"))
			return cmp.Or(err, c.Barrier(t.Context()))
		},
	} {
		ts, err := mem.New(4, mem.Options{})
		require.NoError(t, err)
		comms := make([]*runtime.Comm, 4)
		for rank := range comms {
			cfg := runtime.Config{Transport: ts[rank], Stall: 20 * time.Millisecond}
			if rank == 1 {
				cfg.Rules = alike
			}
			comms[rank], err = runtime.Join(t.Context(), cfg)
			require.NoError(t, err)
		}
		closed(t, comms)
		errs := make(chan error)
		for _, c := range comms {
			go func() { errs <- call(c) }()
		}
		for range comms {
			err := <-errs
			require.ErrorIs(t, err, runtime.ErrMismatch, name)
			require.ErrorContains(t, err, "rules "+fmt.Sprintf("%016x", alike.Digest()), name)
		}
	}
}

// TestBuiltinRules: a file with the built-in rules is like no file.
func TestBuiltinRules(t *testing.T) {
	same, err := selection.Parse(selection.Builtin().Text())
	require.NoError(t, err)
	ts, err := mem.New(3, mem.Options{})
	require.NoError(t, err)
	comms := make([]*runtime.Comm, 3)
	for rank := range comms {
		cfg := runtime.Config{Transport: ts[rank]}
		if rank == 1 {
			cfg.Rules = same
		}
		comms[rank], err = runtime.Join(t.Context(), cfg)
		require.NoError(t, err)
	}
	closed(t, comms)
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
}

// TestRulesOfTheEnvironment: SCHEDGEN_RULES counts where the environment chooses the transport.
func TestRulesOfTheEnvironment(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rules.json")
	t.Setenv("SCHEDGEN_RULES", name)
	_, err := runtime.Init(t.Context())
	require.EqualError(t, err, "join: SCHEDGEN_RULES: "+name+": no such file or directory")
	require.NoError(t, os.WriteFile(name, []byte("{\n\"rules\": []}"), 0o600))
	_, err = runtime.Init(t.Context())
	require.EqualError(t, err, "join: SCHEDGEN_RULES: "+name+`: line 1: field "format" is missing: must be "schedgen-rules/1"`)
	require.NoError(t, os.WriteFile(name, selection.Builtin().Text(), 0o600))
	comm, err := runtime.Init(t.Context())
	require.NoError(t, err)
	require.NoError(t, comm.Barrier(t.Context()))
	require.NoError(t, comm.Close())
}

package runtime_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// parsed reads a schedule for machines to interpret.
func parsed(t testing.TB, text string) *machine.Schedule {
	s, err := ir.ParseText(strings.NewReader(text))
	require.NoError(t, err)
	of, err := machine.Of(s)
	require.NoError(t, err)
	return of
}

func known(t testing.TB, name string, p schedule.Params) *machine.Schedule {
	spec, err := schedule.New(name, p)
	require.NoError(t, err)
	of, err := machine.Of(spec.Schedule())
	require.NoError(t, err)
	return of
}

func closed(t testing.TB, comms []*runtime.Comm) {
	t.Cleanup(func() {
		for _, c := range comms {
			require.NoError(t, c.Close())
		}
	})
}

// star is no built-in algorithm: the two ranks ask for the second chunk.
const star = `schedule bcast/star ranks=3 root=1 chunks=2
rank 0
  c0 -> put s0 @1
  done c0 c1
rank 1
  enter -> put c0 @0, put c0 @2
  s0 -> put c1 @0
  s1 -> put c1 @2
  done enter s0 s1
rank 2
  c0 -> put s1 @1
  done c0 c1
`

func TestUseRunsScheduleOfAFile(t *testing.T) {
	comms := group(t, 3, mem.Options{Loss: 1}, runtime.Config{Chunk: 10})
	closed(t, comms)
	barrier := known(t, "barrier/exchange", schedule.Params{Ranks: 3})
	chain := known(t, "bcast/mcast-chain", schedule.Params{Ranks: 3, Chunks: 70})
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		for _, s := range []*machine.Schedule{parsed(t, star), barrier, chain} {
			if err := c.Use(s); err != nil {
				return err
			}
		}
		for i := range 41 {
			buf := make([]byte, 1000*i)
			if c.Rank() == i%2 {
				copy(buf, bytes.Repeat([]byte{byte(i)}, len(buf)))
			}
			if err := c.Bcast(t.Context(), buf, i%2); err != nil {
				return err
			}
			if n := bytes.Count(buf, []byte{byte(i)}); n != len(buf) {
				return fmt.Errorf("%d of %d bytes in broadcast %d", n, len(buf), i)
			}
			if err := c.Barrier(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}))
	require.Equal(t, 70, comms[2].Totals().LastPutChunks, "the schedule's chunks count, not those of Config")
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		if err := c.Use(known(t, "anycast/skip-ring", schedule.Params{Ranks: 3, Root: 2})); err != nil {
			return err
		}
		return c.Bcast(t.Context(), make([]byte, 100), 2)
	}))
	require.Equal(t, 1, comms[0].Totals().LastPutChunks, "an anycast's schedule broadcasts from its origin")
}

// halting puts one chunk by two rules; one of them waits for another rank.
const halting = `schedule bcast/halting ranks=3 root=0 chunks=2
rank 0
  enter -> put c0 @1
  c1 -> put c0 @2, put c1 @1
  done enter
rank 1
  c0 c1 -> put c1 @2
  done c0 c1
rank 2
  done c0 c1
`

func TestUseOfChunksThatSeveralRulesPut(t *testing.T) {
	comms := group(t, 3, mem.Options{Windows: true}, runtime.Config{})
	closed(t, comms)
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		if err := c.Use(parsed(t, halting)); err != nil {
			return err
		}
		for i := range 100 {
			buf := make([]byte, 2*i)
			if c.Rank() == 0 {
				copy(buf, bytes.Repeat([]byte{byte(i)}, len(buf)))
			}
			if err := c.Bcast(t.Context(), buf, 0); err != nil {
				return err
			}
			if n := bytes.Count(buf, []byte{byte(i)}); n != len(buf) {
				return fmt.Errorf("%d of %d bytes in broadcast %d", n, len(buf), i)
			}
		}
		return nil
	}))
}

func TestUseRefusesSchedulesThatDoNotFit(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/chain", Params: schedule.Params{Chunks: 2}}}})
	closed(t, comms)
	c := comms[0]
	broken := parsed(t, star)
	broken.Program = parsed(t, strings.Replace(star, "  done enter s0 s1", "  enter unless s1 after 1 -> put c1 @2\n  done enter s0", 1)).Program
	for want, s := range map[string]*machine.Schedule{
		"no schedule":                            nil,
		"is for 4 ranks, the communicator has 3": known(t, "barrier/hsb", schedule.Params{Ranks: 4}),
		"cuts each block into 5 chunks, Config.Algorithms for bcast into 2": known(t, "bcast/chain", schedule.Params{Ranks: 3, Chunks: 5}),
		"done does not wait for s1":                                         broken,
	} {
		err := c.Use(s)
		require.ErrorIs(t, err, runtime.ErrInput, want)
		require.ErrorContains(t, err, want)
	}
	astray := known(t, "barrier/hsb", schedule.Params{Ranks: 3})
	astray.Places = func(int) windows.Places { return windows.Places{Awaits: []windows.Await{{Signal: 0, From: 3}}} }
	err := c.Use(astray)
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "use: barrier/hsb: flags of rank 0: signal 0 is from rank 3 of 3")
	require.NoError(t, c.Use(parsed(t, star)))
	err = c.Bcast(t.Context(), nil, 2)
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "no schedule for root 2: Use got schedules for roots [1]")
}

// Ranks find out that they use different schedules with the same header.
func TestUseOfDifferentSchedulesIsFoundOut(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{Stall: 20 * time.Millisecond})
	closed(t, comms)
	other := parsed(t, strings.Replace(star, "put c0 @0, put c0 @2", "put c0 @2, put c0 @0", 1))
	err := each(comms, func(c *runtime.Comm) error {
		s := parsed(t, star)
		if c.Rank() == 1 {
			s = other
		}
		if err := c.Use(s); err != nil {
			return err
		}
		return c.Bcast(t.Context(), make([]byte, 100), 1)
	})
	require.ErrorIs(t, err, runtime.ErrMismatch)
}

// forgetful makes rank 2 wait for a signal that rank 1 puts only after rank 2's own signal.
const forgetful = `schedule barrier/forgetful ranks=3
rank 0
  enter s0 s1 -> put s0 @1
  done s0 s1
rank 1
  enter -> put s0 @0
  s1 -> put s0 @2
  done s0
rank 2
  enter -> put s1 @0
  s0 -> put s1 @1
  done s0
`

// Use proves a schedule, and returns a failed check as the error at every rank. UseUnverified skips
// the proof.
func TestUseRefusesSchedulesThatDoNotVerify(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	closed(t, comms)
	for _, c := range comms {
		err := c.Use(parsed(t, forgetful))
		require.ErrorIs(t, err, runtime.ErrInput)
		var f *verify.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, "deadlock", f.Check)
		require.ErrorContains(t, err, "use: barrier/forgetful does not verify: deadlock: rank 2 never returns")
		require.ErrorContains(t, err, ", and 1 other checks fail")
		require.NotContains(t, err.Error(), "\n")
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }), "nothing has changed")
	for _, c := range comms {
		require.NoError(t, c.UseUnverified(parsed(t, forgetful)))
	}
}

// Generated code is not proved again: it records whether its generator has proved the schedule.
func TestUseTakesCodeThatWasProved(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	closed(t, comms)
	code := func(proved bool) *machine.Schedule {
		s := known(t, "barrier/hsb", schedule.Params{Ranks: 3})
		s.Source, s.Proved = nil, proved
		return s
	}
	for _, c := range comms {
		err := c.Use(code(false))
		require.ErrorIs(t, err, runtime.ErrInput)
		require.ErrorContains(t, err, "barrier/hsb: the generated code carries no proof")
		require.NoError(t, c.Use(code(true)))
		require.NoError(t, c.UseUnverified(code(false)))
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
}

// A schedule that was changed after machine.Of does not match its digest.
func TestUseRefusesChangedSchedules(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	closed(t, comms)
	s := known(t, "barrier/hsb", schedule.Params{Ranks: 3})
	s.Source.Programs[1].Rules[0].Do = []ir.Action{ir.PutTo(ir.Signal(1), 0)}
	require.ErrorContains(t, comms[0].Use(s), "it was changed after machine.Of")
}

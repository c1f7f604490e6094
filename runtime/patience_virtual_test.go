package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// waitsOf returns the lines of one rank about long waits, without what is the same in all of them.
func (j *journal) waitsOf(rank int) (lines []string) {
	for _, line := range j.lines() {
		if _, of, ok := strings.Cut(line, fmt.Sprintf(" rank=%d ", rank)); ok && strings.Contains(of, " waited=") {
			_, of, _ = strings.Cut(of, "epoch=1 ")
			level, _, _ := strings.Cut(strings.TrimPrefix(line, "level="), " ")
			lines = append(lines, level+" "+of)
		}
	}
	return lines
}

// A rank that waits for two seconds says for which rank, and again after twice the time each. When
// the wait is over, it says so. It says nothing of a shorter wait.
func TestLongWaitIsLogged(t *testing.T) {
	const waits = `WARN operation=2 name=barrier/dissemination waited=%v waits_for=[2] why="it has not entered the operation"`
	const ended = `INFO operation=2 name=barrier/dissemination waited=%v`
	for late, want := range map[time.Duration][]string{
		1900 * time.Millisecond: nil,
		3 * time.Second:         {fmt.Sprintf(waits, "2s"), fmt.Sprintf(ended, "3s")},
		15500 * time.Millisecond: {
			fmt.Sprintf(waits, "2s"), fmt.Sprintf(waits, "4s"), fmt.Sprintf(waits, "8s"), fmt.Sprintf(ended, "15.5s"),
		},
	} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			j := new(journal)
			cfg := runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/dissemination"}}, Observe: runtime.Observe{Log: j.logger()}}
			virtual(t, 4, mem.Options{}, cfg, func(comms []*runtime.Comm) {
				require.NoError(t, each(comms, func(c *runtime.Comm) error {
					err := c.Barrier(context.Background())
					if c.Rank() == 2 {
						time.Sleep(late)
					}
					return errors.Join(err, c.Barrier(context.Background()), c.Barrier(context.Background()))
				}))
				synctest.Wait()
				for rank := range comms {
					if rank == 2 {
						require.Empty(t, j.waitsOf(rank))
					} else {
						require.Equal(t, want, j.waitsOf(rank), "rank %d", rank)
					}
				}
			})
		})
	}
}

// All ranks name the rank that has not called the operation, and none names a rank that waits for
// it, whichever ranks the schedule makes them wait for.
func TestLongWaitNamesWhoIsLate(t *testing.T) {
	for _, call := range []struct{ collective, algorithm string }{
		{"barrier", "barrier/dissemination"}, {"barrier", "barrier/hsb"}, {"barrier", "barrier/exchange"},
		{"allgather", "allgather/ring"}, {"allreduce", "allreduce/ring"}, {"allreduce", "allreduce/doubling"},
	} {
		for _, windows := range []bool{false, true} {
			for late := range 5 {
				t.Run(fmt.Sprintf("%s/windows=%v/late=%d", call.algorithm, windows, late), func(t *testing.T) {
					j := new(journal)
					cfg := runtime.Config{Algorithms: runtime.Algorithms{call.collective: {Name: call.algorithm}}, Observe: runtime.Observe{Log: j.logger()}}
					virtual(t, 5, mem.Options{Windows: windows}, cfg, func(comms []*runtime.Comm) {
						require.NoError(t, each(comms, func(c *runtime.Comm) error {
							if c.Rank() == late {
								time.Sleep(3 * time.Second)
							}
							for _, row := range called() {
								if row.Name == call.collective {
									return c.Do(context.Background(), callOf(&row, 5, 0, c.Rank(), 40))
								}
							}
							return errors.New("no such collective")
						}))
						synctest.Wait()
						for rank := range comms {
							if rank != late {
								require.Equal(t, []string{
									fmt.Sprintf(`WARN operation=1 name=%s waited=2s waits_for=[%d] why="it has not entered the operation"`, call.algorithm, late),
									fmt.Sprintf("INFO operation=1 name=%s waited=3s", call.algorithm),
								}, j.waitsOf(rank), "rank %d", rank)
							}
						}
					})
				})
			}
		}
	}
}

// Ranks that do not ask each other which one is late take the ranks from the schedule. The warning
// says that these may be innocent. An operation that moves gets no warning, however long it takes.
func TestLongWaitBySchedule(t *testing.T) {
	j := new(journal)
	cfg := runtime.Config{
		Stall: -1, Algorithms: runtime.Algorithms{"allgather": {Name: "allgather/ring"}}, Observe: runtime.Observe{Log: j.logger()},
	}
	virtual(t, 5, mem.Options{}, cfg, func(comms []*runtime.Comm) {
		enter := []time.Duration{0, 9 * time.Second, 4500 * time.Millisecond, 3 * time.Second, 1500 * time.Millisecond}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			time.Sleep(enter[c.Rank()])
			return c.Collective(context.Background(), "allgather", make([]byte, 50), make([]byte, 10), 0)
		}))
		synctest.Wait()
		require.Equal(t, []string{
			`WARN operation=1 name=allgather/ring waited=6.5s waits_for=[4] why="it has not sent what this rank lacks, and may wait for others"`,
			`INFO operation=1 name=allgather/ring waited=9s`,
		}, j.waitsOf(0))
	})
}

// Wait warns like a blocking call. The time counts from when the caller waits, not from the start.
func TestLongWaitForARequest(t *testing.T) {
	for _, c := range []struct {
		computes, late time.Duration // until rank 0 waits; until rank 1 starts the operation
		want           []string
	}{
		{5 * time.Second, 6900 * time.Millisecond, nil},
		{5 * time.Second, 8 * time.Second, []string{"WARN 2s", "INFO 3s"}},
		{time.Minute, 30 * time.Second, nil},
	} {
		t.Run(fmt.Sprint(c.computes, c.late), func(t *testing.T) {
			j := new(journal)
			virtual(t, 2, mem.Options{}, runtime.Config{Observe: runtime.Observe{Log: j.logger()}}, func(comms []*runtime.Comm) {
				require.NoError(t, each(comms, func(comm *runtime.Comm) error {
					if comm.Rank() == 1 {
						time.Sleep(c.late)
						return comm.Barrier(context.Background())
					}
					r, err := comm.StartBarrier(context.Background())
					if err != nil {
						return err
					}
					time.Sleep(c.computes)
					return r.Wait(context.Background())
				}))
				synctest.Wait()
				var got []string
				for _, line := range j.waitsOf(0) {
					level, rest, _ := strings.Cut(line, " ")
					_, rest, _ = strings.Cut(rest, "waited=")
					waited, _, _ := strings.Cut(rest, " ")
					got = append(got, level+" "+waited)
				}
				require.Equal(t, c.want, got)
			})
		})
	}
}

// A goroutine that waits for messages is parked in the transport while another waits in the
// operation. The warning comes all the same, and for the operation alone.
func TestLongWaitBesideAnother(t *testing.T) {
	j := new(journal)
	virtual(t, 2, mem.Options{}, runtime.Config{Observe: runtime.Observe{Log: j.logger()}}, func(comms []*runtime.Comm) {
		next := make(chan error)
		go func() {
			_, err := comms[0].Next(context.Background())
			next <- err
		}()
		time.Sleep(10 * time.Second)
		require.Empty(t, j.waitsOf(0))
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 1 {
				time.Sleep(3 * time.Second)
			}
			return c.Barrier(context.Background())
		}))
		require.NoError(t, comms[1].Publish(context.Background(), []byte("enough")))
		require.NoError(t, <-next)
		synctest.Wait()
		require.Len(t, j.waitsOf(0), 2)
		require.Contains(t, j.waitsOf(0)[0], "waited=2s waits_for=[1]")
		require.Contains(t, j.waitsOf(0)[1], "waited=3s")
	})
}

// No warning comes after the communicator has failed, and the failure alone ends a reported wait.
func TestLongWaitThatFails(t *testing.T) {
	j := new(journal)
	virtual(t, 3, mem.Options{}, runtime.Config{Observe: runtime.Observe{Log: j.logger()}}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 2 {
				time.Sleep(time.Minute)
				return nil
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if err := c.Barrier(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("no missed deadline: %w", err)
			}
			time.Sleep(time.Minute)
			return nil
		}))
		synctest.Wait()
		for rank := range 2 {
			lines := j.waitsOf(rank)
			require.Len(t, lines, 2, "rank %d", rank)
			require.Contains(t, lines[0], "waited=2s waits_for=[2]")
			require.Contains(t, lines[1], "waited=4s waits_for=[2]")
		}
		require.Contains(t, strings.Join(j.lines(), "\n"), `msg="communicator failed"`)
	})
}

// A rank that gives no sign of life cannot say that it has not called the operation.
func TestLongWaitForASilentRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(2, mem.Options{})
		require.NoError(t, err)
		j := new(journal)
		other := &process{Transport: ts[1]}
		comm, err := runtime.Join(t.Context(), runtime.Config{Transport: ts[0], Observe: runtime.Observe{Log: j.logger()}})
		require.NoError(t, err)
		silent, err := runtime.Join(t.Context(), runtime.Config{Transport: other})
		require.NoError(t, err)
		other.stop()
		require.ErrorIs(t, comm.Barrier(t.Context()), runtime.ErrPeerSilent)
		other.goOn()
		require.NoError(t, comm.Close())
		require.NoError(t, silent.Close())
		lines := j.waitsOf(0)
		require.Len(t, lines, 4)
		for i, waited := range []string{"2s", "4s", "8s", "16s"} {
			require.Contains(t, lines[i], fmt.Sprintf("WARN operation=1 name=barrier/dissemination waited=%s waits_for=[1] why=", waited))
		}
		require.Contains(t, lines[0], "it has not sent what this rank lacks")
		require.Contains(t, lines[3], "it has given no sign of life for 16s")
	})
}

// The network cuts one rank off. Every warning names ranks, also of a rank that lacks only what it
// folds itself. The names lead to the rank that is cut off: each rank that a warning names is that
// rank, or warns itself. Without SCHEDGEN_HEAVY, each algorithm loses one of the ranks.
func TestLongWaitBesideACut(t *testing.T) {
	const size = 3
	for i, a := range schedule.Algorithms() {
		row := a.Row()
		for cut := range size {
			if row.Published || cut != i%size && !heavy.Tests() {
				continue
			}
			t.Run(fmt.Sprint(a.Name, " ", cut), func(t *testing.T) {
				j := besideACut(t, size, cut, &row, runtime.Algorithms{a.Collective: {Name: a.Name}})
				waits := make([][]string, size) // by rank: the lines, a list of names each
				for rank := range size {
					for _, line := range j.waitsOf(rank) {
						_, names, ok := strings.Cut(line, "waits_for=")
						require.True(t, ok, line)
						names, _, _ = strings.Cut(strings.Trim(names, `"[`), "]")
						waits[rank] = append(waits[rank], names)
					}
				}
				for rank := range size {
					if cut == rank {
						continue
					}
					for n := range waits[rank] {
						require.True(t, leads(waits, rank, cut, n, 0), "rank %d, warning %d: %q", rank, n, waits)
					}
				}
			})
		}
	}
}

// leads reports whether the names of warning n at a rank lead to another rank, over the names of
// warning n at those ranks.
func leads(waits [][]string, rank, to, n, passed int) bool {
	if rank == to {
		return true
	}
	if passed>>rank&1 == 1 || n >= len(waits[rank]) {
		return false
	}
	for _, name := range strings.Fields(waits[rank][n]) {
		if next, err := strconv.Atoi(name); err == nil && leads(waits, next, to, n, passed|1<<rank) {
			return true
		}
	}
	return false
}

// besideACut lets all ranks call a collective while one of them is cut off, for 20 seconds. It
// returns their log.
func besideACut(t *testing.T, size, cut int, row *ir.Collective, by runtime.Algorithms) *journal {
	j := new(journal)
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(size, mem.Options{})
		require.NoError(t, err)
		ps, comms := make([]*process, size), make([]*runtime.Comm, size)
		for r := range comms {
			ps[r] = &process{Transport: ts[r]}
			comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: ps[r], Algorithms: by, Observe: runtime.Observe{Log: j.logger()}})
			require.NoError(t, err)
		}
		for r, p := range ps {
			if p.beyond.Store(1 << cut); r == cut {
				p.beyond.Store(1<<size - 1)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_ = each(comms, func(c *runtime.Comm) error { return c.Do(ctx, callOf(row, size, 0, c.Rank(), 40)) }) // some do not wait for the rank
		for _, c := range comms {
			require.NoError(t, c.Close())
		}
	})
	return j
}

// A handler that does not return gets no further warnings, and holds up no operation.
func TestLongWaitWithASlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(2, mem.Options{})
		require.NoError(t, err)
		j, enough := new(journal), make(chan struct{})
		log := slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.LevelKey && a.Value.Any() == slog.LevelWarn {
				<-enough
			}
			return a
		}}))
		comms := make([]*runtime.Comm, 2)
		for r := range comms {
			cfg := runtime.Config{Transport: ts[r]}
			if r == 0 {
				cfg.Observe.Log = log
			}
			comms[r], err = runtime.Join(t.Context(), cfg)
			require.NoError(t, err)
		}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			for range 3 {
				if c.Rank() == 1 {
					time.Sleep(5 * time.Second)
				}
				if err := c.Barrier(t.Context()); err != nil {
					return err
				}
			}
			return nil
		}))
		close(enough)
		require.NoError(t, comms[0].Close())
		require.NoError(t, comms[1].Close())
		lines := j.waitsOf(0)
		require.Len(t, lines, 2, lines)
		require.Contains(t, lines[0], "operation=1 name=barrier/dissemination waited=2s")
		require.Contains(t, lines[1], "operation=1 name=barrier/dissemination waited=5s")
	})
}

// Without a log, nothing is logged anywhere.
func TestLongWaitWithoutALog(t *testing.T) {
	j, standard := new(journal), slog.Default()
	slog.SetDefault(j.logger())
	defer slog.SetDefault(standard)
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 1 {
				time.Sleep(time.Minute)
			}
			return c.Barrier(context.Background())
		}))
	})
	require.Equal(t, []string{""}, j.lines())
}

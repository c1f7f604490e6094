//go:build linux

package soak

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// lab has the verbs of this package.
var lab = labtest.Program(func() any {
	return new(struct {
		Soak Verb `cmd:""`
		Rank Rank `cmd:"" hidden:"" name:"soak-rank"`
		command.About
	})
})

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "2") // the ranks of more would only slow each other down; -parallel overrides this
	os.Exit(labtest.Main(m, lab))
}

// TestReal runs ranks of which one dies, and checks the files of the results.
func TestReal(t *testing.T) {
	t.Parallel() // it waits
	for _, flags := range []string{"--transport shm", "--transport tcp --key", "--transport hybrid"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			soakOnce(t, flags)
		})
	}
}

// TestRealWithLosses runs ranks on hosts behind a network that loses frames.
func TestRealWithLosses(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	if err := ranks.CheckNetwork(true); err != nil {
		t.Skip(err)
	}
	n, err := ranks.NewNetwork(2, 0.5)
	if err != nil {
		t.Skipf("no lossy networks of namespaces here: %v", err)
	}
	n.Close()
	t.Parallel() // it waits
	soakOnce(t, "--transport hybrid --loss 2% --key")
}

// soakOnce runs one job with one death over a transport.
func soakOnce(t *testing.T, flags string) {
	dir := t.TempDir()
	args := append(strings.Fields("soak --real -p 5 --time 3s --death 3s --patience 10m"), strings.Fields(flags)...)
	code, out, _ := labtest.Run(t, lab, append(args, "--out", dir)...)
	require.Equal(t, terminal.Good, code)
	name := strings.Fields(flags)[1]
	require.Regexp(t, `\n\| `+name+` \| [0-9]+ \| 1 \| 1 \| .* \| right; too short to say more \|\n`, out)
	require.Contains(t, out, "\n| shrink | ")
	rows, err := table.ReadFile(filepath.Join(dir, "soak.csv"))
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Equal(t, name, row.Transport)
		require.Positive(t, row.Memory)
		require.Greater(t, row.Descriptors, 3.)
		require.Greater(t, row.Goroutines, 1.)
	}
	calls, err := callTable.ReadFile(filepath.Join(dir, "soak.calls.csv"))
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(calls, func(c *call) bool { return c.Kind == "shrink" }))
	for _, c := range calls {
		require.Positive(t, c.Count)
		require.IsNonDecreasing(t, c.Millis[:], "%v", c)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "soak.svg"))
	require.NoError(t, err)
	for _, title := range []string{"memory, MiB", "goroutines", "allreduce, ms"} {
		require.Contains(t, string(picture), title)
	}
}

// TestInterrupted ends a run when it shows its first line of progress.
func TestInterrupted(t *testing.T) {
	t.Parallel() // it waits
	ctx, cancel := context.WithCancel(t.Context())
	std := terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: interrupter(cancel), Getenv: os.Getenv}
	code := lab.Run(ctx, strings.Fields("soak --real -p 2 --transport shm --time 24h --death 0 --patience 24h --out="), std)
	require.Equal(t, terminal.Interrupted, code)
}

// interrupter calls a function when something is written.
type interrupter func()

func (i interrupter) Write(p []byte) (int, error) { i(); return len(p), nil }

// TestWork runs the work of ranks in one process, and checks that they find a wrong result if a rank
// sends other bytes.
func TestWork(t *testing.T) {
	const size = 3
	work := func(wrong bool) (kinds [size]map[string]bool, errs [size]error) {
		ts, err := mem.New(size, mem.Options{})
		require.NoError(t, err)
		var all sync.WaitGroup
		for rank, transport := range ts {
			all.Go(func() {
				kinds[rank] = make(map[string]bool)
				errs[rank] = func() error {
					c, err := runtime.Join(t.Context(), runtime.Config{Transport: transport})
					if err != nil {
						return err
					}
					w, err := newWork(c, 7, func(kind string, _ time.Duration) { kinds[rank][kind] = true })
					if err == nil {
						if wrong && rank == size-1 {
							w.seed++
						}
						rounds := 0
						err = w.until(t.Context(), func() bool { rounds++; return rounds > 20 })
					}
					return errors.Join(err, c.Close())
				}()
			})
		}
		all.Wait()
		return kinds, errs
	}
	kinds, errs := work(false)
	require.NoError(t, errors.Join(errs[:]...))
	require.Len(t, kinds[0], len(operations()))
	require.Equal(t, kinds[0], kinds[size-1])
	_, errs = work(true)
	var found wrongError
	require.ErrorAs(t, errors.Join(errs[:]...), &found)
}

// TestDrawnBytes checks that bytes depend on every number, and not on what stands before them.
func TestDrawnBytes(t *testing.T) {
	a := appendDrawn(nil, 13, 1, 2, 3)
	require.Equal(t, a, appendDrawn([]byte("before"), 13, 1, 2, 3)[6:])
	require.Equal(t, a[:5], appendDrawn(nil, 5, 1, 2, 3))
	for _, numbers := range [][]uint64{{2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1, 2}} {
		require.False(t, bytes.Equal(a, appendDrawn(nil, 13, numbers...)))
	}
}

// TestVerdict checks which series have grown.
func TestVerdict(t *testing.T) {
	const seconds, mib = 400, 1 << 20
	flat := func(int) moment { return moment{Memory: 50 * mib, Descriptors: 30, Goroutines: 5} }
	for name, c := range map[string]struct {
		at   func(second int) moment
		want string // what has grown
	}{
		"flat": {flat, ""},
		"warming up": {func(s int) moment {
			m := flat(s)
			m.Memory *= min(1, float64(s+1)/100)
			return m
		}, ""},
		"sawtooth": {func(s int) moment {
			m := flat(s)
			m.Memory += float64(s%50) * mib
			m.Descriptors += float64(s % 7)
			return m
		}, ""},
		"less": {func(s int) moment { return moment{Memory: float64(seconds-s) * mib, Goroutines: float64(seconds - s)} }, ""},
		"memory": {func(s int) moment {
			m := flat(s)
			m.Memory += float64(s) * mib / 8
			return m
		}, "memory has grown: 68.7 MiB in the second quarter of the time, 93.7 in the last"},
		"descriptors": {func(s int) moment {
			m := flat(s)
			m.Descriptors += float64(s / 20)
			return m
		}, "descriptors has grown"},
		"goroutines": {func(s int) moment {
			m := flat(s)
			m.Goroutines += float64(s / 50)
			return m
		}, "goroutines has grown"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run{cmd: &Verb{Time: seconds * time.Second}}
			for s := range seconds {
				m := c.at(s)
				m.Second = int64(s)
				r.moments = append(r.moments, m)
			}
			got := r.faults()
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], c.want)
			r.cmd.Time = leastTime - 1 // too short
			require.Empty(t, r.faults())
			r.failed = "a result is wrong"
			require.Equal(t, []string{"a result is wrong"}, r.faults())
		})
	}
}

// TestMomentIsAMean checks the means of the samples of a second.
func TestMomentIsAMean(t *testing.T) {
	var m moment
	for i := range 4 {
		m.add(&sample{Memory: int64(i), Descriptors: 2 * i, Goroutines: 3 * i}, int64(i))
	}
	require.Equal(t, moment{Memory: 1.5, Descriptors: 3, Goroutines: 4.5, Operations: 3, samples: 4}, m)
}

// TestPeaks checks that a long line keeps its peaks.
func TestPeaks(t *testing.T) {
	var all []chart.Point
	for x := range 10 {
		all = append(all, chart.Point{X: float64(x), Y: float64(x * 7 % 10)}) // 0 7 4 1 8 5 2 9 6 3
	}
	require.Equal(t, all, peaks(all, 10))
	require.Equal(t, []chart.Point{{X: 1, Y: 7}, {X: 4, Y: 8}, {X: 7, Y: 9}, {X: 9, Y: 3}}, peaks(all, 4))
	require.Empty(t, peaks(nil, 4))
}

func TestOptionsOfReal(t *testing.T) {
	for args, want := range map[string]string{
		"-p 1":                         "--ranks=1",
		"-p 65":                        "--ranks=65",
		"--time 1ms":                   "--time=1ms",
		"--death 1ms":                  "--death=1ms",
		"--patience 1ms":               "--patience=1ms",
		"--transport pigeon":           "--transport=pigeon",
		"--transport tcp --loss 2%":    "--loss: needs --transport hybrid",
		"--json":                       "not with --real",
		"--name a/b":                   "--name=a/b",
		"":                             "",
		"--death 0s":                   "",
		"--transport hybrid --loss 2%": "",
	} {
		v, err := labtest.Parse[Verb](t, append([]string{"--real"}, strings.Fields(args)...)...)
		require.NoError(t, err)
		err = v.checkReal()
		if want == "" {
			require.NoError(t, err, args)
			require.Equal(t, 8, v.Ranks)
			continue
		}
		require.ErrorContains(t, err, want, args)
	}
	require.Equal(t, ", with a key; hybrid between hosts that lose 2 % of the frames", fmt.Sprint((&Verb{Key: true, Loss: 0.02}).conditions()))
}

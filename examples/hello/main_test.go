package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/mpitest"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // parallel tests mostly wait; -parallel overrides this
	os.Exit(buildtest.Main(m))
}

// want returns the lines that size ranks print, sorted.
func want(size int, line string) (lines []string) {
	for rank := range size {
		lines = append(lines, fmt.Sprintf("rank %d of %d has %q", rank, size, line))
	}
	return lines
}

// run runs a command and returns the lines that it prints, sorted.
func run(t *testing.T, env []string, args ...string) []string {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%v\n%s", args, stderr.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	return lines
}

func TestByHand(t *testing.T) {
	t.Parallel()
	hello := buildtest.Program(t, ".")
	require.Equal(t, want(1, "hello world"), run(t, nil, hello, "world"))

	coordinator := "SCHEDGEN_COORDINATOR=" + porttest.Hold(t)
	const size = 3
	var got [size][]string
	var wg sync.WaitGroup
	for rank := range got {
		wg.Go(func() {
			env := []string{coordinator, fmt.Sprintf("SCHEDGEN_RANK=%d", rank), fmt.Sprintf("SCHEDGEN_SIZE=%d", size)}
			got[rank] = run(t, env, hello, strings.Repeat("x", rank)) // each has a line of another length
		})
	}
	wg.Wait()
	require.Equal(t, want(size, "hello "), slices.Concat(got[:]...))
}

// TestLaunchers starts the program by all launchers that are installed. Debian has them in
// openmpi-bin and mpich. The daily tests choose a transport with the first launcher only.
func TestLaunchers(t *testing.T) {
	t.Parallel() // it waits
	hello := buildtest.Program(t, ".")
	for i, launcher := range [][]string{{"mpirun.openmpi", "--oversubscribe"}, {"mpirun.mpich"}} {
		all := i == 0 || heavy.Tests()
		t.Run(launcher[0], func(t *testing.T) {
			if _, err := exec.LookPath(launcher[0]); err != nil {
				t.Skip("not installed")
			}
			for _, transport := range []string{"", "tcp", "mcast", "shm"} {
				for _, size := range []int{1, 5} {
					if transport != "" && (!all || size == 1 && !heavy.Tests()) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d", transport, size), func(t *testing.T) {
						t.Parallel()
						args := slices.Concat(launcher, []string{"-n", fmt.Sprint(size), hello, transport})
						require.Equal(t, want(size, "hello "+transport), run(t, append(mpitest.Env(t), "SCHEDGEN_TRANSPORT="+transport), args...))
					})
				}
			}
			t.Run("schedgen", func(t *testing.T) {
				if !all {
					t.Skip("with another launcher")
				}
				t.Parallel()
				args := slices.Concat(launcher, []string{"-n", "3", buildtest.Program(t, "../../cmd/schedgen"), "rank", "bcast", "--transport", "tcp", "--size", "64KiB"})
				require.Contains(t, strings.Join(run(t, mpitest.Env(t), args...), "\n"), "at every rank")
			})
		})
	}
}

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/mpitest"
)

// TestSurvivors checks what each installed launcher does to the other ranks when one is killed.
// With a launcher that ends them, the ranks would otherwise work for an hour.
func TestSurvivors(t *testing.T) {
	program := filepath.Join(t.TempDir(), "survive")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	const openMPI, mpich = "mpirun.openmpi --oversubscribe", "mpirun.mpich"
	for _, c := range []struct {
		launcher string
		shell    bool // ranks are started by a shell that hides the death
		live     bool
	}{
		{openMPI, false, false},
		{openMPI + " --enable-recovery", false, true},
		{openMPI, true, true},
		{mpich, true, true}, // without a shell mpiexec ends the others, or is stuck while it tries
	} {
		args := append(strings.Fields(c.launcher), "-n", "4")
		work, how := "1s", "ends"
		if !c.live {
			work = "1h"
		} else {
			how = "lives on"
		}
		if c.shell {
			args = append(args, "sh", "-c", program+" -work "+work+" || true")
		} else {
			args = append(args, program, "-work", work)
		}
		t.Run(strings.Join([]string{c.launcher, how}, " "), func(t *testing.T) {
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skip("not installed")
			}
			t.Parallel() // it waits
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			cmd.Env = append(os.Environ(), mpitest.Env(t)...)
			var out, said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &said
			cmd.WaitDelay = time.Second
			err := cmd.Run()
			require.NoError(t, ctx.Err(), "neither has it ended nor have the others been ended: %s", said.String())
			if !c.live {
				require.Error(t, err, "%s", said.String())
				require.NotContains(t, out.String(), "goes on")
				return
			}
			require.NoError(t, err, "%s", said.String())
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			slices.Sort(lines)
			require.Equal(t, []string{
				"rank 0 of 3 goes on without ranks [3]",
				"rank 1 of 3 goes on without ranks [3]",
				"rank 2 of 3 goes on without ranks [3]",
			}, lines)
		})
	}
}

//go:build linux

package hybrid_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/schedule"
)

// The test's own program also runs as the processes of ranks.
const roleVariable = "SCHEDGEN_HYBRID_TEST"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := beRank(role); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if err := os.Setenv("SCHEDGEN_PACE", "off"); err != nil { // what is lent is the same on every machine
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// beRank calls barriers until one fails.
func beRank(role string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var cfg hybrid.Config
	if _, err := fmt.Sscan(role, &cfg.TCP.Rank, &cfg.TCP.Size, &cfg.TCP.Coordinator, &cfg.Host); err != nil {
		return err
	}
	tr, err := hybrid.Join(ctx, cfg)
	if err != nil {
		return err
	}
	c, err := runtime.Join(ctx, runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/hsb", Params: schedule.Params{Hosts: 2}}}})
	if err != nil {
		return err
	}
	defer c.Close()
	for i := 0; ; i++ {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if i == 100 {
			fmt.Println("works")
		}
	}
}

// All ranks notice the death of a rank, master or not, on its host and elsewhere, and nothing of
// the memory is left.
func TestKilledRank(t *testing.T) {
	for _, victim := range []int{0, 1, 3, 5} {
		t.Run(fmt.Sprint(victim), func(t *testing.T) { killOne(t, victim) })
	}
}

func killOne(t *testing.T, victim int) {
	goruntime.LockOSThread() // the children die with this thread
	defer goruntime.UnlockOSThread()
	port := porttest.Hold(t)
	before, err := filepath.Glob("/dev/shm/*")
	require.NoError(t, err)
	ranks, outs := make([]*exec.Cmd, 6), make([]*bufio.Reader, 6)
	for rank := range ranks {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s host%d", roleVariable, rank, len(ranks), port, rank/3))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		ranks[rank], outs[rank] = cmd, bufio.NewReader(out)
	}
	for _, out := range outs {
		text, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "works\n", text)
	}
	require.NoError(t, ranks[victim].Process.Kill())
	var said []string
	for rank, out := range outs {
		text, _ := out.ReadString('\n') // the killed rank writes nothing
		said = append(said, text)
		require.Error(t, ranks[rank].Wait())
		require.Equal(t, rank == victim, text == "")
	}
	require.Contains(t, strings.Join(said, ""), fmt.Sprintf("rank %d: rank lost", victim))
	after, err := filepath.Glob("/dev/shm/*")
	require.NoError(t, err)
	require.Equal(t, schedgens(before), schedgens(after))
}

func schedgens(files []string) (ours []string) {
	for _, f := range files {
		if strings.Contains(f, "schedgen") {
			ours = append(ours, f)
		}
	}
	return ours
}

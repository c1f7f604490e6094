package cli

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// Sizes far beyond what can be computed are refused, or the verb ends when it is interrupted.
func TestTooLargeIsRefusedOrInterrupted(t *testing.T) {
	t.Parallel()
	for _, args := range heavy.Or([]string{"verify allreduce/halving -p 65536", "show allgather/ring -p 5000", "sim allreduce/halving -p 65536 --size 1MiB"}, []string{
		"verify allreduce/halving -p 65536", "verify allreduce/ring -p 1000000", "verify bcast/chain -p 1000000 --chunks 1000000",
		"show allgather/ring -p 5000", "emit allgather/ring -p 5000 --format text", "cost allreduce/halving -p 65536",
		"sim allreduce/halving -p 65536 --size 1MiB", "explain allreduce -p 65536 --size 1MiB", "list -p 1000000",
	}) {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			p := begin(t, args)
			p.interruptAtWork()
			text, err := io.ReadAll(p.errs)
			require.NoError(t, err)
			if err := p.cmd.Wait(); err != nil {
				require.Contains(t, []int{terminal.Bad, terminal.Interrupted}, p.cmd.ProcessState.ExitCode(), "%s", text)
			}
		})
	}
}

// interruptAtWork interrupts the process when it has computed for longer than it takes to start,
// unless it ends before. Under the race detector it starts slowly.
func (p *program) interruptAtWork() {
	start := 30 // in hundredths of a second
	if heavy.Race {
		start = 80
	}
	stat := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat")
	require.Eventually(p.t, func() bool {
		text, err := os.ReadFile(stat)
		_, fields, ok := strings.Cut(string(text), ") ")
		if at := strings.Fields(fields); ok && len(at) > 12 && at[0] != "Z" {
			user, _ := strconv.Atoi(at[11])
			return user > start
		}
		return err != nil || ok
	}, patience, time.Millisecond)
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
}

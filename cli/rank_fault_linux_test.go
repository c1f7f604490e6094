package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/internal/porttest"
)

// TestRanksHearOfAFault starts ranks of which one has too few descriptors to let the others in. All
// hear that from it, long before their time is over.
func TestRanksHearOfAFault(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces) // it starts many processes
	exe, err := os.Executable()
	require.NoError(t, err)
	const size = 12
	at := porttest.Hold(t)
	var ranks [size]*exec.Cmd
	var said [size]strings.Builder
	for rank := range ranks {
		limit := 1000
		if rank == 0 {
			limit = 12
		}
		ranks[rank] = exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf(
			"ulimit -n %d; exec -a schedgen %s rank bcast -p %d --rank %d --size 10 --transport tcp --coordinator %s", limit, exe, size, rank, at))
		ranks[rank].Stderr = &said[rank]
		require.NoError(t, ranks[rank].Start())
	}
	for rank, cmd := range ranks {
		require.Error(t, cmd.Wait())
		require.Equal(t, command.No, cmd.ProcessState.ExitCode())
		require.Contains(t, said[rank].String(), "too many open files", "rank %d", rank)
		require.NotContains(t, said[rank].String(), crew.MeetingTime.String())
		if rank > 0 {
			require.Contains(t, said[rank].String(), "rank 0: accept the other ranks", "rank %d", rank)
		}
	}
}

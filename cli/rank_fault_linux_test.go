package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

// TestRanksHearOfAFault starts ranks of which one has too few descriptors, to let the others in or for
// its connections afterwards. All hear that from it, long before their time is over.
func TestRanksHearOfAFault(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces) // it starts many processes
	exe, err := os.Executable()
	require.NoError(t, err)
	const size = 12
	for _, c := range []struct {
		guilty, limit int
		says          string
	}{
		{0, 12, "rank 0: accept the other ranks"},
		{1, 28, "rank 1: reserve 17 descriptors for connections"},
	} {
		at := porttest.Hold(t)
		var ranks [size]*exec.Cmd
		var said [size]strings.Builder
		for rank := range ranks {
			limit := 1000
			if rank == c.guilty {
				limit = c.limit
			}
			ranks[rank] = exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf(
				"ulimit -n %d; exec -a schedgen %s rank bcast -p %d --rank %d --size 10 --transport tcp --coordinator %s", limit, exe, size, rank, at))
			ranks[rank].Stderr = &said[rank]
			require.NoError(t, ranks[rank].Start())
		}
		for rank, cmd := range ranks {
			require.Error(t, cmd.Wait())
			require.Equal(t, terminal.No, cmd.ProcessState.ExitCode())
			require.Contains(t, said[rank].String(), "too many open files", "rank %d", rank)
			require.NotContains(t, said[rank].String(), crew.MeetingTime.String())
			if rank != c.guilty {
				require.Contains(t, said[rank].String(), c.says, "rank %d", rank)
			}
		}
	}
}

// A rank that cannot take part because of what its machine lacks, whether it is started by hand or by
// a launcher, tells the others before they have met. They exit at once with its reason.
func TestRanksHearWhatOneLacks(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		flags []string // of the rank that lacks something
		words string
	}{
		"interface": {[]string{"--transport", "mcast", "--interface", "nowhere"}, "--interface=nowhere: no such interface"},
		"rules":     {[]string{"--rules", missing}, missing + ": no such file or directory"},
		"network":   {[]string{"--network", missing}, missing + ": no such file or directory"},
		"input":     {[]string{"--input", missing}, missing + ": no such file or directory"},
		"trace":     {[]string{"--trace", filepath.Join(missing, "trace")}, "no such file or directory"},
		"schedule":  {[]string{missing + ".json"}, missing + ".json: no such file or directory"},
		"status":    {[]string{"--status", "192.0.2.7:80"}, "--status=192.0.2.7:80: "},
	} {
		for _, guilty := range []int{0, 2} {
			t.Run(fmt.Sprint(name, guilty), func(t *testing.T) {
				t.Parallel()
				const size = 3
				at := porttest.Hold(t)
				launched := guilty == 2
				var ranks [size]*exec.Cmd
				var said [size]heard
				begin := func(rank int) {
					env, args := os.Environ(), []string{"rank", "bcast", "--transport", "tcp"}
					if launched {
						env = append(env, "SCHEDGEN_COORDINATOR="+at, fmt.Sprint("SCHEDGEN_RANK=", rank), fmt.Sprint("SCHEDGEN_SIZE=", size))
					} else {
						args = append(args, "--rank", fmt.Sprint(rank), "--coordinator", at)
					}
					if rank == guilty {
						args = append(args, c.flags...)
					}
					if !launched && (rank != guilty || name != "schedule") { // its file would say how many ranks there are
						args = append(args, "-p", fmt.Sprint(size))
					}
					if !slices.Contains(args, "--input") {
						args = append(args, "--size", "10")
					}
					said[rank].some = make(chan struct{})
					ranks[rank] = exec.CommandContext(t.Context(), exe, args...)
					ranks[rank].Args[0], ranks[rank].Env, ranks[rank].Stderr = "schedgen", env, &said[rank]
					require.NoError(t, ranks[rank].Start())
				}
				for rank := range ranks {
					if rank != guilty {
						begin(rank)
						defer ranks[rank].Process.Kill()
					}
				}
				for rank := range ranks {
					if rank != guilty {
						<-said[rank].some // it waits
					}
				}
				begin(guilty)
				for rank, cmd := range ranks {
					require.Error(t, cmd.Wait())
					text := said[rank].String()
					require.Contains(t, text, c.words, "rank %d", rank)
					require.NotContains(t, text, crew.MeetingTime.String())
					if rank != guilty {
						require.Contains(t, text, fmt.Sprintf("rank %d: ", guilty), "rank %d", rank)
					}
				}
			})
		}
	}
}

// heard collects what a process says.
type heard struct {
	strings.Builder
	once sync.Once
	some chan struct{} // closed when it has said something
}

func (h *heard) Write(b []byte) (int, error) {
	defer h.once.Do(func() { close(h.some) })
	return h.Builder.Write(b)
}

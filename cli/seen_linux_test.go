package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/runtime/status"
)

// TestStatusOfAStoppedRank stops a rank. The page names it and all ranks that wait for it, over
// every transport between processes.
func TestStatusOfAStoppedRank(t *testing.T) {
	t.Parallel()
	for _, transport := range transports(t) {
		if transport == overMem {
			continue
		}
		t.Run(transport, func(t *testing.T) {
			t.Parallel() // it waits
			p := begin(t, endless[:strings.Index(endless, "--transport")]+"-v --iterations 1000000000 --status :0 --transport "+transport)
			at := ""
			for at == "" {
				line, err := p.errs.ReadString('\n')
				require.NoError(t, err)
				if strings.Contains(line, "status at") {
					at = pageOf(t, line)
				}
			}
			p.read(" ranks connected\n")
			look(t, at, func(reports []status.Report) bool { // the latency of an operation is counted
				return len(reports) == 4 && len(reports[2].States) == 1 && len(reports[2].States[0].Latencies) > 0
			})
			require.NoError(t, syscall.Kill(p.ranks[2], syscall.SIGSTOP))
			look(t, at, func(reports []status.Report) bool {
				if len(reports) != 4 || !strings.Contains(reports[2].Note, "has not answered for") {
					return false
				}
				for rank, r := range reports {
					if rank != 2 && (r.Note != "" || len(r.States) != 1 || len(r.States[0].Open) != 1 || r.States[0].Open[0].Age < 1e9) {
						return false
					}
				}
				return true
			})
			res, err := http.Get(at)
			require.NoError(t, err)
			page, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Contains(t, string(page), "rank 2: has not answered for")
			require.Regexp(t, `rank \d is in operation \d+, barrier/hsb, for .*: it lacks s\d, from rank`, string(page))
			require.NoError(t, syscall.Kill(p.ranks[2], syscall.SIGCONT))
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
			code, _ := p.end()
			require.Equal(t, terminal.Interrupted, code)
		})
	}
}

// TestStatusOfRanksStartedByHand reads the pages of ranks that were started by hand. Each page
// answers before the ranks have met, and then shows all ranks that have a page.
func TestStatusOfRanksStartedByHand(t *testing.T) {
	coordinator := porttest.Hold(t)
	args := "rank bcast -p 3 --transport tcp --size 1kB --iterations 1000000000 -v --coordinator " + coordinator
	var ranks [3]*program
	var pages [2]string
	for rank := range 2 {
		ranks[rank] = begin(t, fmt.Sprintf("%s --rank %d --status :0", args, rank))
		line, err := ranks[rank].errs.ReadString('\n')
		require.NoError(t, err)
		pages[rank] = pageOf(t, line)
	}
	look(t, pages[1], func(reports []status.Report) bool {
		return len(reports) == 1 && strings.HasPrefix(reports[0].Note, "has been joining for ")
	})
	ranks[2] = begin(t, args+" --rank 2")
	for rank := range 2 {
		other := 1 - rank
		look(t, pages[rank], func(reports []status.Report) bool {
			return len(reports) == 2 && reports[0].Note == "" && reports[1].Note == "" && reports[other].URL == pages[other] && reports[rank].URL == "" &&
				len(reports[other].States) == 1 && reports[other].States[0].Rank == other
		})
	}
	line, err := "", error(nil)
	for !strings.Contains(line, "msg=joined") { // a rank that waits for long says so before
		line, err = ranks[0].errs.ReadString('\n')
		require.NoError(t, err)
	}
	require.Contains(t, line, "level=INFO msg=joined rank=0 size=3 comm=0 epoch=1 by=join transport=tcp")
	require.Contains(t, line, " sealed=no")
	require.NoError(t, ranks[2].cmd.Process.Kill())
	for rank, p := range ranks {
		code, said := p.end()
		if rank < 2 {
			require.Equal(t, terminal.No, code, said)
			require.Contains(t, said, `msg="rank lost" rank=`)
			require.Contains(t, said, `msg="communicator closed"`)
		}
	}
}

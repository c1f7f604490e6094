//go:build linux

package kills

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/netns"
)

// lab has the verbs of this package.
var lab = labtest.Program(func() any {
	return new(struct {
		Kills Verb `cmd:""`
		Rank  Rank `cmd:"" hidden:"" name:"kills-rank"`
		command.About
	})
})

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "2") // the ranks of more would only slow each other down; -parallel overrides this
	os.Exit(labtest.Main(m, lab))
}

// run runs kills and returns its table.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	code, out, said := labtest.Run(t, lab, append([]string{"kills"}, args...)...)
	if code != terminal.Good {
		return out, errors.New(said)
	}
	return out, nil
}

// TestKills checks that survivors name the killed ranks and go on without them, whatever they are
// doing. Each transport runs some works, and each work runs over some transport.
func TestKills(t *testing.T) {
	t.Parallel() // it waits
	each := 2
	if heavy.Tests() {
		each = len(workNames())
	}
	all := slices.Concat(workNames(), workNames())
	for i, name := range usualNames() {
		t.Run(name, func(t *testing.T) {
			first := each * i % len(workNames())
			works := strings.Join(all[first:first+each], ",")
			out, err := run(t, "--transports", name, "--works", works, "--kills", fmt.Sprint(each), "--ranks", "5", "--at-once", fmt.Sprint(1+i%2), "--limit", "10m")
			require.NoError(t, err)
			require.Contains(t, out, "| "+name+" |")
		})
	}
}

// TestStops checks that all ranks that fall silent together are named, even if only the ranks of
// one half find them. Ranks that go on later say that they were lost. On a slow machine a rank that
// lives may be silent for 2 seconds, and a rank that gets no time takes no other for silent. So the
// ranks get more time before the test fails.
func TestStops(t *testing.T) {
	t.Parallel() // it waits
	for transport, flags := range map[string]string{
		"tcp":    "--works halves --ranks 4",
		"shm":    "--works halves --ranks 4",
		"mcast":  "--works blocks --ranks 4 --quorum",
		"hybrid": "--works blocks --ranks 5 --quorum",
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			stop := func(silence, patience string) (string, error) {
				return run(t, append(strings.Fields(flags), "--transports", transport, "--stop", "--kills", "1", "--at-once", "2", "--silence", silence, "--limit", patience)...)
			}
			out, err := stop("2s", "1m")
			if err != nil {
				out, err = stop("1m", "20m")
			}
			require.NoError(t, err)
			require.Contains(t, out, " 2 of 2 |")
		})
	}
}

// TestCut checks that each part of a cut network names all ranks of the other part, and goes on, if
// it has the quorum.
func TestCut(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	if os.Getuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	if err := netns.Missing(false); err != nil {
		t.Skip(err)
	}
	if text, err := exec.Command("unshare", "--net", "ip", "link", "add", "br0", "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("no bridges in network namespaces here: %v: %s", err, text)
	}
	t.Parallel() // it waits
	self, err := os.Executable()
	require.NoError(t, err)
	for flags, cells := range map[string]string{
		"--ranks 5 --at-once 2":          "| 1 | 5 | 5 | 5 | 5 |",
		"--ranks 3 --at-once 1 --quorum": "| 1 | 3 | 3 | 3 | 2 |",
		"--ranks 4 --at-once 2 --quorum": "| 1 | 4 | 4 | 4 | 0 |",
	} {
		cmd := exec.CommandContext(t.Context(), self, append(strings.Fields("kills --cut --kills 1 --works barrier --silence 4s --limit 10m"), strings.Fields(flags)...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", text)
		require.Contains(t, string(text), "| tcp "+cells)
		require.Contains(t, string(text), "| mcast "+cells)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"--ranks", "1"}, {"--kills", "0"}, {"--at-once", "16"}, {"--transports", "pigeon"}, {"--works", "sleep"}, {"--no"}} {
		v, err := labtest.Parse[Verb](t, args...)
		if err == nil {
			err = v.check()
		}
		require.Error(t, err, "%v", args)
	}
}

// TestTally checks that violations are counted.
func TestTally(t *testing.T) {
	good := survivor{Rank: 1, Lost: []int{0}}
	for _, bad := range []survivor{{Rank: 2, Lost: []int{3}}, {Rank: 2, Lost: []int{0}, After: "no"}, {Rank: 2, silent: true}} {
		ta := tally{transport: "tcp"}
		require.Empty(t, ta.addOutcome(&outcome{killed: []int{0}, survivors: []survivor{good, good}}))
		require.False(t, ta.broken())
		require.NotEmpty(t, ta.addOutcome(&outcome{killed: []int{0}, survivors: []survivor{good, bad}}))
		require.True(t, ta.broken())
	}
}

package cli

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// mayMakeHosts skips the test if this machine cannot simulate hosts.
func mayMakeHosts(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	if os.Getuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if text, err := exec.Command("unshare", "--net", "ip", "link", "add", "br0", "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("no bridges in network namespaces here: %v: %s", err, text)
	}
}

func TestRunsOnHostsMadeUp(t *testing.T) {
	mayMakeHosts(t)
	for args, title := range map[string]string{
		"run barrier -p 8 --hosts 4 --netns 4 --iterations 50":                            "barrier/hsb over hybrid: 50 barriers",
		"run barrier -p 5 --netns 2 --transport tcp --iterations 50":                      "barrier/hsb over tcp: 50 barriers",
		"run bcast -p 6 --netns 3 --size 100KiB --iterations 5":                           "bcast/mcast-chain over hybrid on eth0: 100 KiB",
		"run bcast -p 6 --hosts 3 --netns 3 --size 1MB --iterations 2 --transport hybrid": "bcast/chain over hybrid: ",
		"run bcast -p 4 --netns 2 --size 10KiB --iterations 5 --loss 0.1":                 "bcast/mcast-chain over hybrid on eth0, losing 10 % of all multicasts: 10 KiB",
		"run anycast -p 4 --netns 2 --messages 50":                                        "anycast/skip-ring over hybrid",
	} {
		t.Run(args, func(t *testing.T) {
			p := begin(t, args)
			code, said := p.end()
			require.Zero(t, code, said)
			require.Contains(t, p.out.String(), title)
		})
	}
}

// TestLoopbackThatIsDown checks that ranks fail at once if the loopback interface is down.
func TestLoopbackThatIsDown(t *testing.T) {
	mayMakeHosts(t)
	for args, want := range map[string]string{
		"run bcast -p 3 --size 10 --transport tcp": "--coordinator=127.0.0.1:0: interface lo is down",
		"run barrier -p 3 --transport hybrid":      "--coordinator=127.0.0.1:0: interface lo is down",
		"run bcast -p 3 --size 10":                 "--coordinator=127.0.0.1:0: interface lo is down",
		"rank bcast -p 3 --rank 2 --size 10 --transport tcp --coordinator 127.0.0.1:7777 --timeout 100h": "reach the coordinator at 127.0.0.1:7777: dial tcp 127.0.0.1:7777: connect: network is unreachable",
	} {
		exe, err := os.Executable()
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), crew.MeetingTime/2)
		cmd := exec.CommandContext(ctx, exe, strings.Fields(args)...)
		cmd.Args[0] = "schedgen"
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		text, err := cmd.CombinedOutput()
		require.NoError(t, ctx.Err())
		cancel()
		require.Error(t, err)
		require.Equal(t, terminal.No, cmd.ProcessState.ExitCode(), "%s", text)
		require.Contains(t, string(text), want)
	}
}

// TestKilledRankOnHostMadeUp kills a rank that only ranks of its own host are connected to. The run
// notices it at once.
func TestKilledRankOnHostMadeUp(t *testing.T) {
	mayMakeHosts(t)
	p := startCommand(t, "run barrier -p 8 --hosts 4 --netns 4 -v --iterations 1000000000")
	require.NoError(t, syscall.Kill(p.ranks[5], syscall.SIGKILL))
	code, said := p.end()
	p.gone(0)
	require.Equal(t, terminal.No, code)
	require.Contains(t, said, "schedgen: rank 5: its process died: signal: killed\n")
}

// TestVanishedHostMadeUp cuts a host off the network. The ranks notice it, although no connection
// is closed.
func TestVanishedHostMadeUp(t *testing.T) {
	t.Parallel()
	mayMakeHosts(t)
	for _, transport := range []string{overTCP, overMcast} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel() // it waits
			p := startCommand(t, "run barrier -p 4 --netns 4 -v --iterations 1000000000 --silence 1s --transport "+transport)
			out, err := exec.CommandContext(t.Context(), "nsenter", "-t", strconv.Itoa(p.ranks[2]), "-n", "ip", "link", "set", "eth0", "down").CombinedOutput()
			require.NoError(t, err, "%s", out)
			code, said := p.end()
			p.gone(0)
			require.Equal(t, terminal.No, code)
			require.Contains(t, said, "rank lost: it has given no sign of life for 1 s")
		})
	}
}

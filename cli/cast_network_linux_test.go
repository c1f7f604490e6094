package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/heavy"
)

// inNetwork is a variable that says that the test runs in its own namespace.
const inNetwork = "SCHEDGEN_TEST_NETWORK"

// bridge makes the network of the hosts.
const bridge = `ip link set lo up
ip link add br0 type bridge stp_state 0 mcast_snooping 0
ip link set br0 up
`

// dropMulticasts makes the bridge drop multicasts, like a switch that filters them.
const dropMulticasts = `nft add table bridge filter
nft add chain bridge filter forward { type filter hook forward priority 0 \; }
nft add rule bridge filter forward ip daddr 224.0.0.0/4 drop
`

// onePort makes a host accept only TCP to and from one port.
const onePort = `nft add table inet wall
nft add chain inet wall input { type filter hook input priority 0 \; policy drop \; }
nft add rule inet wall input iif lo accept
nft add rule inet wall input tcp dport 7717 accept
nft add rule inet wall input tcp sport 7717 accept
`

// A firewall that lets one TCP port through is enough. If a switch filters multicast, the sender
// notices and says so, and uses the chain.
func TestCastNetwork(t *testing.T) {
	if os.Getenv(inNetwork) == "" {
		inNamespace(t)
		return
	}
	shell(t, bridge+dropMulticasts)
	text := strings.Repeat("all of it\n", 200_000)
	for name, c := range map[string]struct{ wall, why string }{
		"filtered": {"", "no multicast from 10.77.0.1:"},
		"one port": {onePort, "multicast does not work on interface eth0: no probe has come back within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			exe, err := os.Executable()
			require.NoError(t, err)
			sender := host(t, 1, "", c.wall, fmt.Sprintf("exec -a schedgen %s cast --serve %s --expect 10 --listen 10.77.0.1:7717", exe, path))
			var receivers []*hostProcess
			for i := range 10 { // enough for a tree of several levels while they meet
				to := filepath.Join(dir, fmt.Sprint(i))
				receivers = append(receivers, host(t, i+2, "", c.wall, fmt.Sprintf("exec -a schedgen %s receive --from 10.77.0.1:7717 --to %s", exe, to)))
			}
			for i, r := range receivers {
				require.NotContains(t, r.wait(0), "taken")
				got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i), "file"))
				require.NoError(t, err)
				require.Equal(t, text, string(got))
			}
			said := sender.wait(0)
			require.Contains(t, said, "transport: tcp, since ")
			require.Contains(t, said, c.why)
			require.Contains(t, said, "to 10 of 10 receivers by chain")
		})
	}
	t.Run("slow", testSlowNetwork)
}

// A receiver with a slow link is served after the others, even if it would be the first of the
// chain.
func testSlowNetwork(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	text := strings.Repeat("all of it\n", 270_000)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	exe, err := os.Executable()
	require.NoError(t, err)
	sender := host(t, 1, "", fmt.Sprintf("exec -a schedgen %s cast --serve %s --expect 3 --listen 10.77.0.1:7717 --transport tcp", exe, path))
	var receivers []*hostProcess
	for i, link := range []string{"tbf rate 2mbit burst 4kb limit 64kb", "", ""} {
		to := filepath.Join(dir, fmt.Sprint(i))
		receivers = append(receivers, host(t, i+2, link, fmt.Sprintf("exec -a schedgen %s receive --from 10.77.0.1:7717 --to %s --name h%d", exe, to, i)))
	}
	for i, r := range slices.Backward(receivers) {
		r.wait(0)
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i), "file"))
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		if i == 1 {
			require.NoFileExists(t, filepath.Join(dir, "0", "file"), "its link takes ten seconds: %v", &sender.out)
		}
	}
	said := sender.wait(0)
	require.Regexp(t, `h0: its network takes [0-9.]+ [KM]iB/s, those of the others [0-9.]+ MiB/s: it is served after them`, said)
	require.Equal(t, 1, strings.Count(said, "after them"))
	require.Contains(t, said, "to 3 of 3 receivers by chain")
}

// inNamespace runs the test again in a network namespace of its own.
func inNamespace(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	for _, tool := range []string{"ip", "tc", "nft", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no network can be built: %v", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root builds networks here")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.timeout=120s", "-test.v")
	cmd.Env = append(os.Environ(), inNetwork+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func shell(t *testing.T, script string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-ec", script).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// hostProcess is the process of a host with its own network: first a shell, then the last command.
type hostProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	out strings.Builder
}

// host makes a host at 10.77.0.n and runs commands there. link is the queueing discipline of its
// link, or "" for none.
func host(t *testing.T, n int, link string, commands ...string) *hostProcess {
	t.Helper()
	h := &hostProcess{t: t, cmd: exec.CommandContext(t.Context(), "bash", "-e")}
	h.cmd.Stdout, h.cmd.Stderr = &h.out, &h.out
	h.cmd.Env = append(os.Environ(), inNetwork+"=") // these are no tests
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, err := h.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, h.cmd.Start())
	pid := h.cmd.Process.Pid // the system may take long to remove the devices of an earlier host
	shell(t, fmt.Sprintf("ip link add v%d type veth peer name eth0 netns %d\nip link set v%d master br0 up", pid, pid, pid))
	if link != "" {
		shell(t, fmt.Sprintf("tc qdisc add dev v%d root %s", pid, link))
	}
	script := fmt.Sprintf("ip link set lo up\nip address add 10.77.0.%d/24 dev eth0\nip link set eth0 up\n%s\n", n, strings.Join(commands, "\n"))
	_, err = io.WriteString(in, script)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	return h
}

// wait waits for the exit code and returns the output.
func (h *hostProcess) wait(code int) string {
	h.t.Helper()
	_ = h.cmd.Wait() // the exit code tells the error
	require.Equal(h.t, code, h.cmd.ProcessState.ExitCode(), "%s", &h.out)
	return h.out.String()
}

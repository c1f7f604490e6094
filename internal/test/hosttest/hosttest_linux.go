// Package hosttest makes hosts with networks of their own for tests, in network namespaces.
package hosttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// inNetwork is a variable that says that the test runs in its own namespace.
const inNetwork = "SCHEDGEN_TEST_NETWORK"

// Bridge is a script that makes the network of the hosts.
const Bridge = `ip link set lo up
ip link add br0 type bridge stp_state 0 mcast_snooping 0
ip link set br0 up
`

// Apart reports whether the test runs in a network namespace of its own. Otherwise it runs the test
// again in one, or skips it if this host or this run has no namespaces.
func Apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNetwork) != "" {
		return true
	}
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
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.timeout=9m", "-test.v")
	cmd.Env = append(os.Environ(), inNetwork+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return false
}

// Shell runs a script of bash, which must succeed.
func Shell(t *testing.T, script string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-ec", script).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Host is the process of a host with its own network: first a shell, then the last command.
type Host struct {
	t   *testing.T
	cmd *exec.Cmd
	out output
	end chan struct{} // closed when the process has ended
}

// Start makes a host at 10.77.0.n and runs commands there. link is the queueing discipline of its
// link, or "" for none.
func Start(t *testing.T, n int, link string, commands ...string) *Host {
	t.Helper()
	h := &Host{t: t, cmd: exec.CommandContext(t.Context(), "bash", "-e"), end: make(chan struct{})}
	h.out.more = make(chan struct{}, 1)
	h.cmd.Stdout, h.cmd.Stderr = &h.out, &h.out
	h.cmd.Env = append(os.Environ(), inNetwork+"=") // these are no tests
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, err := h.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, h.cmd.Start())
	pid := h.cmd.Process.Pid // the system may take long to remove the devices of an earlier host
	Shell(t, fmt.Sprintf("ip link add v%d type veth peer name eth0 netns %d\nip link set v%d master br0 up", pid, pid, pid))
	if link != "" {
		Shell(t, fmt.Sprintf("tc qdisc add dev v%d root %s", pid, link))
	}
	script := fmt.Sprintf("ip link set lo up\nip address add 10.77.0.%d/24 dev eth0\nip link set eth0 up\n%s\n", n, strings.Join(commands, "\n"))
	_, err = io.WriteString(in, script)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	go func() {
		defer close(h.end)
		_ = h.cmd.Wait() // the exit code tells the error
	}()
	return h
}

// Move moves the link of the host to another bridge, which cuts it off from the hosts at the old one.
func (h *Host) Move(bridge string) {
	h.t.Helper()
	Shell(h.t, fmt.Sprintf("ip link set v%d master %s", h.cmd.Process.Pid, bridge))
}

// Sees waits until the host has printed a match of pattern. It fails if the host ends
// without one.
func (h *Host) Sees(pattern *regexp.Regexp) {
	h.t.Helper()
	for !pattern.MatchString(h.out.String()) {
		select {
		case <-h.out.more:
		case <-h.end: // also when the test's context ends
			require.Regexp(h.t, pattern, h.out.String())
			return
		}
	}
}

// String returns what the host has printed so far.
func (h *Host) String() string { return h.out.String() }

// Wait waits for the exit code and returns the output.
func (h *Host) Wait(code int) string {
	h.t.Helper()
	<-h.end
	require.Equal(h.t, code, h.cmd.ProcessState.ExitCode(), "%s", h)
	return h.out.String()
}

// output is what a host prints. A test may read it while the host still writes.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // holds a token when there is new text
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/mpitest"
)

// host is a simulated host: a network namespace and a host name, which end with a process.
type host struct {
	name string
	pid  int
}

// newHost makes a simulated host.
func newHost(t *testing.T, name string) host {
	cmd := exec.Command("unshare", "--net", "--uts", "sh", "-c", "hostname "+name+" && ip link set lo up && echo up && exec cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() // it ends with its input
	})
	up := make([]byte, 3)
	_, err = out.Read(up)
	require.NoError(t, err, "is there ip?")
	return host{name, cmd.Process.Pid}
}

// on returns the arguments that run a command on h.
func (h host) on(args ...string) []string {
	return append([]string{"nsenter", "--net", "--uts", "--target", fmt.Sprint(h.pid)}, args...)
}

// join connects two hosts by their own line, 10.80+number.0.0/24.
func join(t *testing.T, number int, first, second host) {
	dev := fmt.Sprintf("eth%d", number)
	lines := []string{fmt.Sprintf("ip link add %s netns %d type veth peer name %s netns %d", dev, first.pid, dev, second.pid)}
	for i, h := range []host{first, second} {
		lines = append(lines,
			strings.Join(h.on("ip address add", fmt.Sprintf("10.%d.0.%d/24", 80+number, 1+i), "dev", dev), " "),
			strings.Join(h.on("ip link set", dev, "up"), " "))
	}
	for _, line := range lines {
		args := strings.Fields(line)
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
	}
}

// TestOpenMPIOnSeveralHosts runs Open MPI's mpirun on several hosts. The ranks meet at the host of
// mpirun. If mpirun starts no rank there, rank 0 prints what to do, and that works.
func TestOpenMPIOnSeveralHosts(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	if os.Getuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	for _, tool := range []string{"mpirun.openmpi", "ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	t.Parallel() // it waits
	a, b, c := newHost(t, "a"), newHost(t, "b"), newHost(t, "c")
	join(t, 0, a, b)
	join(t, 1, a, c) // of a's addresses one leads nowhere from b, the other one from c
	join(t, 2, b, c)
	agent := filepath.Join(t.TempDir(), "agent")
	script := fmt.Sprintf("#!/bin/sh\nhost=$1\nshift\ncase $host in\nb) pid=%d;;\nc) pid=%d;;\nesac\nexec nsenter --net --uts --target $pid sh -c \"$*\"\n", b.pid, c.pid)
	require.NoError(t, os.WriteFile(agent, []byte(script), 0o700))
	hello := buildtest.Program(t, ".")
	env := mpitest.Env(t)
	mpirun := a.on("mpirun.openmpi", "--oversubscribe", "--mca", "plm_rsh_agent", agent)

	for _, hosts := range []string{"a:2,b:2", "b:3,a:1"} {
		require.Equal(t, want(4, "hello all"), run(t, env, slices.Concat(mpirun, []string{"--host", hosts, hello, "all"})...), hosts)
	}

	cmd := exec.CommandContext(t.Context(), mpirun[0], slices.Concat(mpirun[1:], []string{"--host", "b:1,c:1", hello})...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "rank 0 is on another host than mpirun")
	require.Regexp(t, `mpirun -x SCHEDGEN_COORDINATOR=b:\d+`, string(out))

	told := []string{"-x", "SCHEDGEN_COORDINATOR=10.82.0.1:7777", "--host", "b:1,c:1", hello, "all"}
	require.Equal(t, want(2, "hello all"), run(t, env, slices.Concat(mpirun, told)...))
}

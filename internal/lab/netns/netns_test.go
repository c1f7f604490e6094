//go:build linux

package netns

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // parallel tests mostly wait; -parallel overrides this
	os.Exit(labtest.Main(m, labtest.Program(func() any {
		return new(struct {
			Netns  Verb   `cmd:""`
			Bridge Bridge `cmd:"" hidden:"" name:"netns-bridge"`
			Host   Host   `cmd:"" hidden:"" name:"netns-host"`
			Agent  Agent  `cmd:"" hidden:"" name:"netns-agent"`
			command.About
		})
	})))
}

// start returns the command that runs the verb with some arguments.
func start(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	cmd, err := program.Self(ctx, "netns", args...)
	require.NoError(t, err)
	return cmd
}

// programs builds the programs that the tests run. It skips the test if the machine allows no
// namespaces.
func programs(t *testing.T) (schedgen string) {
	heavy.Needs(t, heavy.Namespaces)
	for _, tool := range []string{"ip", "tc", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if text, err := start(t.Context(), t, "--hosts", "1", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("no network namespaces for this user: %v: %s", err, text)
	}
	return buildtest.Program(t, "../../../cmd/schedgen")
}

// TestBroadcastsOverShapedAndLossyLinks checks that all bytes arrive over unlimited links, slow
// links, and slow links that lose frames.
func TestBroadcastsOverShapedAndLossyLinks(t *testing.T) {
	t.Parallel() // it waits
	schedgen := programs(t)
	const acked, chain, symmetric = "bcast/mcast-acktree", "bcast/mcast-chain", "bcast/symmetric"
	for _, c := range []struct{ name, link, algorithm string }{
		{"unshaped", "--rate=", acked},
		{"unshaped", "--rate=", chain},
		{"shaped", "--rate 50mbit", acked},
		{"shaped", "--rate 50mbit", symmetric},
		{"short queue", "--rate 50mbit --queue 16kb", acked},
		{"shaped and lossy", "--rate 50mbit --loss 0.02", acked},
		{"shaped and lossy", "--rate 50mbit --loss 0.02", chain},
	} {
		t.Run(c.name+"/"+c.algorithm, func(t *testing.T) {
			args := append(strings.Fields("--hosts 5 "+c.link), "--", schedgen, "rank", "bcast",
				"--coordinator", "10.77.0.1:7777", "--transport", "mcast", "--interface", "eth0", "--timeout", "60s",
				"--algorithm", c.algorithm, "--size", "100KiB", "--iterations", "3", "--json")
			var out, errs bytes.Buffer
			cmd := start(t.Context(), t, args...)
			cmd.Stdout, cmd.Stderr = &out, &errs
			require.NoError(t, cmd.Run(), "%s%s", &out, &errs)
			checkOutcome(t, out.Bytes(), c.algorithm == acked)
		})
	}
}

func checkOutcome(t *testing.T, text []byte, onlyMulticast bool) {
	var o struct {
		Good  bool
		Ranks []struct {
			Wrong       int
			McastChunks int `json:"mcast_chunks"`
		}
		Replied struct{ Median float64 }
	}
	require.NoError(t, json.Unmarshal(text, &o), "%s", text)
	require.True(t, o.Good)
	require.Len(t, o.Ranks, 5)
	for rank, r := range o.Ranks {
		require.Zero(t, r.Wrong, "rank %d", rank)
		if onlyMulticast && rank > 0 {
			require.Positive(t, r.McastChunks, "rank %d", rank)
		}
	}
	require.Positive(t, o.Replied.Median)
}

// TestGivenNetwork checks that the ranks of a given network reach each other, and that packets take
// the network's own routes.
func TestGivenNetwork(t *testing.T) {
	t.Parallel() // it waits
	schedgen := programs(t)
	file := networkFile(t)
	args := []string{"--network", file, "--", schedgen, "rank", "allgather", "--coordinator", "10.77.0.1:7777", "--transport", "tcp",
		"--timeout", "60s", "--algorithm", "allgather/linear", "--size", "10KiB", "--iterations", "3", "--json"}
	var out, errs bytes.Buffer
	cmd := start(t.Context(), t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), "%s%s", &out, &errs)
	var o struct {
		Good  bool
		Ranks []struct{}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &o), "%s", &out)
	require.True(t, o.Good)
	require.Len(t, o.Ranks, 3)

	text, err := start(t.Context(), t, "--network", file, "--", "sh", "-c",
		"if [ $SCHEDGEN_RANK = 0 ]; then hostname; ip route get 10.77.0.2 from 10.77.0.1; ip route get 10.77.0.3 from 10.77.0.1; fi").CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Regexp(t, `(?s)^a\n10\.77\.0\.2 .*dev w1a table 1000.*\n10\.77\.0\.3 .*dev w0a `, string(text))
}

// networkFile returns a file with a network of two switches. Messages from a to b take the second
// switch.
func networkFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "two.net")
	require.NoError(t, os.WriteFile(file, []byte(`rank a b c
switch s t
link a s 50Mbit
link a t 20Mbit
link b s 50Mbit
link b t 20Mbit
link c s 50Mbit
route a b t
`), 0o600))
	return file
}

// TestFailureEndsAll checks that the exit code is the command's, and that a failing command ends
// the others.
func TestFailureEndsAll(t *testing.T) {
	t.Parallel() // it waits
	programs(t)
	cmd := start(t.Context(), t, "--hosts", "3", "--", "sh", "-c", "if [ $SCHEDGEN_RANK = 1 ]; then exit 7; fi; exec sleep 1000")
	err := cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.ExitCode())
}

// TestNothingIsLeft checks that the commands end however the program ends: no process holds their
// standard output afterwards.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel() // it waits
	programs(t)
	file := networkFile(t)
	for _, c := range []struct {
		flags string
		hosts int
		sig   syscall.Signal
	}{
		{"--hosts 2 --rate=", 2, syscall.SIGINT},
		{"--hosts 2 --rate=", 2, syscall.SIGKILL},
		{"--network " + file, 3, syscall.SIGINT},
		{"--network " + file, 3, syscall.SIGKILL},
	} {
		cmd := start(t.Context(), t, append(strings.Fields(c.flags), "--", "sh", "-c", "echo up; exec sleep 1000")...)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		cmd.Stdout = write
		require.NoError(t, cmd.Start())
		require.NoError(t, write.Close())
		lines := bufio.NewReader(read)
		for range c.hosts {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "up\n", line)
		}
		require.NoError(t, cmd.Process.Signal(c.sig))
		require.Error(t, cmd.Wait())
		require.NoError(t, read.SetReadDeadline(time.Now().Add(time.Minute))) // bounds a failure
		_, err = lines.ReadByte()
		require.ErrorContains(t, err, "EOF", "%s: %v", c.flags, c.sig)
		require.NoError(t, read.Close())
	}
}

// TestMPIStartsOnAllHosts checks that mpirun starts a process on each host, in its namespace and
// with its name.
func TestMPIStartsOnAllHosts(t *testing.T) {
	t.Parallel() // it waits
	programs(t)
	hosts := "10.77.0.1,10.77.0.2,10.77.0.3"
	for name, flags := range map[string]string{
		"mpirun.openmpi": "-n 3 --host " + hosts,
		"mpirun.mpich":   "-n 3 -hosts " + hosts,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(err)
			}
			args := append([]string{"--hosts", "3", "--mpi", "--", name}, strings.Fields(flags)...)
			out, err := start(t.Context(), t, append(args, "hostname")...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			names := strings.Fields(string(out))
			slices.Sort(names)
			require.Equal(t, []string{"host0", "host1", "host2"}, names)
		})
	}
}

// TestMPIOverLossyHosts checks that operations of an MPI program have the results of the MPI's own
// functions on hosts whose network loses frames. Engine go multicasts to the hosts.
func TestMPIOverLossyHosts(t *testing.T) {
	t.Parallel() // it waits
	schedgen := programs(t)
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	// The second is schedgen's cache of compiled libraries.
	env := append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(goCache)), "XDG_CACHE_HOME="+t.TempDir())
	// This builds engine go before the time of the ranks begins, because a build may take minutes.
	build := exec.Command(schedgen, "mpi", "--engine", "go", "--", "true")
	build.Env = env
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, mpi := range heavy.Or([]string{"openmpi"}, []string{"openmpi", "mpich"}) {
		t.Run(mpi, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "check")
			if _, err := exec.LookPath("mpicc." + mpi); err != nil {
				t.Skip(err)
			}
			text, err := exec.Command("mpicc."+mpi, "-o", program, "../../mpi/testdata/check.c").CombinedOutput()
			require.NoError(t, err, "%s", text)
			mpirun := map[string]string{
				"openmpi": "mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n 4 --host 10.77.0.1:2,10.77.0.2:2",
				"mpich":   "mpirun.mpich -n 4 -hosts 10.77.0.1:2,10.77.0.2:2",
			}[mpi]
			args := append([]string{"--hosts", "2", "--rate", "1gbit", "--loss", "0.01", "--mpi", "--",
				schedgen, "mpi", "--engine", "go", "--interface", "eth0", "--report", "--"}, strings.Fields(mpirun)...)
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			cmd := start(ctx, t, append(args, program, "brief")...)
			cmd.Env = env
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), " by engine go, ")
		})
	}
}

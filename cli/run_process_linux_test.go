package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

// program is this command in its own process, in the middle of a run without end.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	ranks  []int // process of each rank
	pidfds []int
	errs   *bufio.Reader
	out    bytes.Buffer
}

// startCommand starts the command line and returns when all ranks are connected.
func startCommand(t *testing.T, args string) *program {
	t.Helper()
	p := begin(t, args)
	p.read(" ranks connected\n")
	return p
}

// begin starts the command line.
func begin(t *testing.T, args string) *program {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p := &program{t: t, cmd: exec.CommandContext(ctx, exe, strings.Fields(args)...)}
	p.cmd.Args[0] = "schedgen" // the test binary goes by this name
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stdout = &p.out
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	p.errs = bufio.NewReader(stderr)
	require.NoError(t, p.cmd.Start())
	return p
}

var startLine = regexp.MustCompile(`^rank \d+ is process (\d+)\n`)

// read reads the lines of -v, up to a line with the given end.
func (p *program) read(end string) {
	p.t.Helper()
	for line := ""; !strings.HasSuffix(line, end); {
		var err error
		line, err = p.errs.ReadString('\n')
		require.NoError(p.t, err, "ended too soon")
		if m := startLine.FindStringSubmatch(line); m != nil {
			pid, err := strconv.Atoi(m[1])
			require.NoError(p.t, err)
			fd, err := unix.PidfdOpen(pid, 0)
			require.NoError(p.t, err)
			p.t.Cleanup(func() { _ = unix.Close(fd) })
			p.ranks, p.pidfds = append(p.ranks, pid), append(p.pidfds, fd)
		}
	}
}

// end waits until the command has ended. It returns the exit code, -1 if the command was killed,
// and the rest of its standard error.
func (p *program) end() (code int, said string) {
	rest, err := io.ReadAll(p.errs)
	require.NoError(p.t, err)
	_ = p.cmd.Wait() // the exit code tells the error
	return p.cmd.ProcessState.ExitCode(), string(rest)
}

// gone requires that the processes of all ranks end within the given time.
func (p *program) gone(within time.Duration) {
	for i, fd := range p.pidfds {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(within.Milliseconds()))
		require.NoError(p.t, err)
		require.Equal(p.t, 1, n, "rank %d, process %d, is still there", i, p.ranks[i])
	}
}

const endless = "run barrier -p 4 --transport tcp -v --iterations 1000000000"

func TestKilledRank(t *testing.T) {
	t.Parallel()
	for _, victim := range []int{0, 2} {
		p := startCommand(t, endless)
		require.NoError(t, syscall.Kill(p.ranks[victim], syscall.SIGKILL))
		code, said := p.end()
		p.gone(0)
		require.Equal(t, terminal.No, code)
		require.Equal(t, fmt.Sprintf("schedgen: rank %d: its process died: signal: killed\n3 other ranks gave up with it\n", victim), said)
	}
}

// TestKilledRankBeforeTheyMeet kills a rank while others may still be starting.
func TestKilledRankBeforeTheyMeet(t *testing.T) {
	t.Parallel()
	for victim := range 3 {
		t.Run(fmt.Sprint(victim), func(t *testing.T) {
			t.Parallel() // it waits
			p := begin(t, endless)
			p.read("\n") // the coordinator
			for range victim + 1 {
				p.read("\n")
			}
			require.NoError(t, syscall.Kill(p.ranks[victim], syscall.SIGKILL))
			code, said := p.end()
			require.Equal(t, terminal.No, code)
			require.Contains(t, said, fmt.Sprintf("schedgen: rank %d: its process died: signal: killed\n", victim))
		})
	}
}

func TestKilledRankOfBroadcast(t *testing.T) {
	t.Parallel()
	for _, transport := range transports(t) {
		if transport == overMem {
			continue
		}
		p := startCommand(t, "run bcast -p 4 -v --size 4MiB --iterations 1000000000 --transport "+transport)
		require.NoError(t, syscall.Kill(p.ranks[1], syscall.SIGKILL))
		code, said := p.end()
		p.gone(0)
		require.Equal(t, terminal.No, code)
		require.Contains(t, said, "schedgen: rank 1: its process died: signal: killed\n")
	}
}

func TestKilledRankOfAnycast(t *testing.T) {
	t.Parallel()
	p := startCommand(t, "run anycast -p 4 --transport tcp -v --messages 1000000000")
	require.NoError(t, syscall.Kill(p.ranks[3], syscall.SIGKILL))
	code, said := p.end()
	p.gone(0)
	require.Equal(t, terminal.No, code)
	require.Contains(t, said, "schedgen: rank 3: its process died: signal: killed\n")
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(pid int) error{
		"SIGINT":       func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) },
		"SIGTERM":      func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
		"whole group":  func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) },
		"SIGINT twice": func(pid int) error { _ = syscall.Kill(pid, syscall.SIGINT); return syscall.Kill(pid, syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			p := startCommand(t, endless)
			require.NoError(t, interrupt(p.cmd.Process.Pid))
			code, said := p.end()
			p.gone(patience)
			if name == "SIGINT twice" && code == -1 {
				return // the second signal ends the process at once
			}
			require.Equal(t, terminal.Interrupted, code)
			require.Equal(t, "schedgen: interrupted\n", said)
			require.NotContains(t, p.out.String(), "median")
		})
	}
}

// TestKilledParent checks that the ranks do not outlive a parent that is killed.
func TestKilledParent(t *testing.T) {
	p := startCommand(t, endless)
	require.NoError(t, p.cmd.Process.Kill())
	code, _ := p.end()
	require.Equal(t, -1, code)
	p.gone(patience)
}

// TestStoppedRank checks that a stopped rank is killed and named.
func TestStoppedRank(t *testing.T) {
	t.Parallel()                                   // it waits
	p := startCommand(t, endless+" --timeout 15s") // time enough to start under load
	require.NoError(t, syscall.Kill(p.ranks[2], syscall.SIGSTOP))
	code, said := p.end()
	p.gone(0)
	require.Equal(t, terminal.No, code)
	require.Contains(t, said, "schedgen: rank 2: did not answer and was killed\n")
}

// TestSilentRank checks that the others notice a rank that is stopped for longer than --silence,
// long before the timeout.
func TestSilentRank(t *testing.T) {
	t.Parallel()
	for _, transport := range transports(t) {
		if transport == overMem {
			continue
		}
		t.Run(transport, func(t *testing.T) {
			t.Parallel() // it waits
			p := startCommand(t, "run barrier -p 4 -v --iterations 1000000000 --silence 3s --transport "+transport)
			require.NoError(t, syscall.Kill(p.ranks[2], syscall.SIGSTOP))
			code, said := p.end()
			p.gone(0)
			require.Equal(t, terminal.No, code)
			require.Contains(t, said, "schedgen: rank 2: did not answer and was killed\n3 other ranks gave up with it\n")
		})
	}
}

// TestRankWithoutParent checks that a rank ends when its standard input ends, as if its parent had
// died.
func TestRankWithoutParent(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, exe, "run", "rank")
	cmd.Args[0] = "schedgen"
	cmd.Stdin = strings.NewReader(`{"Verb":"barrier","Rank":1,"Algorithm":"barrier/hsb","Params":{"Ranks":2},"Delay":"none",
		"Timeout":1000000000000,"Link":{"Transport":"tcp","Coordinator":"` + porttest.Hold(t) + `"},"ReportFD":3}`)
	cmd.ExtraFiles = []*os.File{w}
	require.NoError(t, cmd.Run())
	require.NoError(t, w.Close())
	said, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Contains(t, string(said), `"Failed":{"Rank":1,`)
	require.Contains(t, string(said), "called off")
}

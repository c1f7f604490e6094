package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/remote/sshdtest"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// node makes a host whose temporary files the test sees. The host has the program unless bare is
// true.
func node(t *testing.T, name string, bare bool) *sshdtest.Host {
	t.Helper()
	h := &sshdtest.Host{Name: name, Env: []string{"TMPDIR=" + t.TempDir()}}
	if !bare {
		bin := t.TempDir()
		require.NoError(t, os.Symlink(built(t), filepath.Join(bin, program)))
		h.Env = append(h.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	}
	return h
}

// clean requires that only sent files are left on a host, and that its receiver has cleaned up.
func clean(t *testing.T, h *sshdtest.Host) {
	t.Helper()
	left, err := os.ReadDir(strings.TrimPrefix(h.Env[0], "TMPDIR="))
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, filepath.WalkDir(h.Home, func(path string, _ os.DirEntry, err error) error {
		require.NotContains(t, path, unpack.TempPrefix)
		return err
	}))
}

// wrapped makes a host run a command around its login shell, which is "$@".
func wrapped(t *testing.T, h *sshdtest.Host, command string) *sshdtest.Host {
	t.Helper()
	h.Shell = filepath.Join(t.TempDir(), "shell")
	require.NoError(t, os.WriteFile(h.Shell, []byte("#!/bin/sh\nset -- /bin/sh \"$@\"\n"+command+"\n"), 0o755))
	return h
}

// overSSH starts a sender. Hosts without the program get a copy.
func overSSH(t *testing.T, s *sshdtest.Server, args ...string) *castProcess {
	t.Helper()
	return start(t, built(t), append([]string{"--ssh", s.SSH, "--connect-timeout", "2m"}, args...)...)
}

// built returns the program as users build it. The program of the tests is much larger, and copying
// it takes seconds.
func built(t *testing.T) string {
	t.Helper()
	return buildtest.Program(t, ".", "-trimpath", "-ldflags=-s -w")
}

func outcomeOf(t *testing.T, text string) map[string]cast.Receiver {
	t.Helper()
	var o cast.Result
	require.NoError(t, json.Unmarshal([]byte(text), &o), text)
	all := map[string]cast.Receiver{}
	for _, r := range o.Receivers {
		all[r.Name] = r
	}
	require.Len(t, all, len(o.Receivers))
	return all
}

// One cast goes to three hosts. One has the program, one has another version, and one has neither
// the program nor a login shell like sh.
func TestCastOverSSH(t *testing.T) {
	t.Parallel()
	same, other, bare := node(t, "same", false), node(t, "other", true), node(t, "bare", true)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\necho schedcast v0.0.1\n"), 0o755))
	other.Env = append(other.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	if fish, err := exec.LookPath("fish"); err == nil {
		bare.Shell = fish
	}
	s := sshdtest.Start(t, same, other, bare)
	from := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "model"), make([]byte, 3<<20), 0o640))
	hosts := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(hosts, []byte("same # it is\n\nother\n"), 0o600))

	code, out, said := overSSH(t, s, from+"/", "bare", "--hosts", hosts, "--to", "data", "--dry-run").wait()
	require.Zero(t, code, said)
	require.Regexp(t, `to 3 receivers: 1 entry, 3 MiB\n  set-up: 1 copy of the program sent, [0-9.]+ [KM]iB, and 1 passed on by hosts, connected in [0-9.]+ s\n  bare: would get a copy of schedcast, [0-9.]+ [KM]iB\n  same: has schedcast\n  other: would get a copy of schedcast, [0-9.]+ [KM]iB\n`, out)

	code, out, said = overSSH(t, s, from+"/", "bare", "--hosts", hosts, "--to", "data", "--json", "--transport", "tcp").wait()
	require.Zero(t, code, "%s%s", out, said)
	var end cast.Result
	require.NoError(t, json.Unmarshal([]byte(out), &end), "%s", out)
	require.Equal(t, "tcp", end.Transport)
	for i, name := range []string{"bare", "same", "other"} { // the chain follows the order of the names
		require.Equal(t, cast.Receiver{Name: name, Outcome: cast.Outcome{Rank: i + 1, Done: true}}, end.Receivers[i])
	}
	require.Equal(t, 1, end.Setup.Sent)
	require.Equal(t, 1, end.Setup.Passed)
	require.GreaterOrEqual(t, end.Total, end.Setup.Seconds+end.Seconds)
	for _, h := range s.Hosts {
		got, err := os.ReadFile(filepath.Join(h.Home, "data", "model"))
		require.NoError(t, err, h.Name)
		require.Len(t, got, 3<<20)
		clean(t, h)
	}
}

// Hosts that cannot be reached, or cannot receive, are named with their reasons. The others get
// everything.
func TestCastOverSSHToFew(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	good, taken, full := node(t, "good", false), node(t, "taken", false), node(t, "full", false)
	wrapped(t, full, `unshare -m sh -c 'mkdir data && mount -t tmpfs -o size=64k none data && exec "$@"' sh "$@"`)
	s := sshdtest.Start(t, good, taken, full)
	require.NoError(t, os.WriteFile(filepath.Join(taken.Home, "data"), nil, 0o600))
	file := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.WriteFile(file, make([]byte, 1<<20), 0o600))
	reasons := map[string]string{
		"good": "", "taken": "--to: mkdir data: not a directory", "full": "no space left on device",
		"stranger": "Permission denied (publickey)", "nosuch.invalid": "ssh: Could not resolve hostname nosuch.invalid",
	}
	if exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).Run() != nil {
		delete(reasons, "full") // only root may mount
	}
	args := []string{file, "--to", "data", "--json"}
	for name := range reasons {
		args = append(args, name)
	}
	code, out, said := overSSH(t, s, args...).wait()
	require.Equal(t, terminal.No, code, said)
	all := outcomeOf(t, out)
	require.Len(t, all, len(reasons))
	for name, want := range reasons {
		require.Equal(t, name == "good", all[name].Done, "%+v", all[name])
		require.Contains(t, all[name].Reason, want)
	}
	for _, h := range s.Hosts {
		clean(t, h)
	}

	code, out, _ = overSSH(t, s, file, "--to", "data", "--strict", "--json", "good", "stranger").wait()
	require.Equal(t, terminal.No, code)
	all = outcomeOf(t, out)
	require.Contains(t, all["good"].Reason, "stranger: ")
	require.Contains(t, all["stranger"].Reason, "Permission denied")
	code, out, _ = overSSH(t, s, file, "--to", "data", "stranger").wait()
	require.Equal(t, terminal.No, code)
	require.Regexp(t, `model: failed: 0 of 1 receiver got it\n  stranger: .*Permission denied`, out)
}

// A stream goes to a command at each host, and the command's output comes back with the host's
// name.
func TestCastStreamOverSSH(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	s := sshdtest.Start(t, node(t, "one", false), node(t, "two", false))
	p := overSSH(t, s, "-", "one", "two", "--exec", "cat >got; echo has it; echo aside >&2")
	_, err := io.WriteString(p.in, "words")
	require.NoError(t, err)
	require.NoError(t, p.in.Close())
	code, out, said := p.wait()
	require.Zero(t, code, said)
	for _, h := range s.Hosts {
		got, err := os.ReadFile(filepath.Join(h.Home, "got"))
		require.NoError(t, err)
		require.Equal(t, "words", string(got))
		require.Contains(t, out, h.Name+": has it\n")
		require.Contains(t, said, h.Name+": aside\n")
	}
}

// logLines logs lines, and closes the channel at the end.
func logLines(t *testing.T, r *bufio.Reader) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for in := bufio.NewScanner(r); in.Scan(); {
			t.Log(in.Text())
		}
	}()
	return ended
}

// If the sender is interrupted or killed, no process, no program and no part of a file are left at
// the hosts.
func TestCastOverSSHEnds(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			var hosts []*sshdtest.Host
			var ends []*bufio.Reader
			for i := range 2 {
				h := node(t, fmt.Sprint("node", i), i == 0 && signal == os.Kill && !testing.Short())
				fifo := filepath.Join(t.TempDir(), "ended")
				require.NoError(t, syscall.Mkfifo(fifo, 0o600))
				f, err := os.OpenFile(fifo, os.O_RDWR, 0) // for both, so that neither side waits for the other
				require.NoError(t, err)
				defer f.Close()
				ends = append(ends, bufio.NewReader(f))
				hosts = append(hosts, wrapped(t, h, `"$@"; echo ended >`+fifo))
			}
			s := sshdtest.Start(t, hosts...)
			p := overSSH(t, s, "-", "node0", "node1", "--exec", "echo $$ >pid; head -c 1 >/dev/null; echo begun; cat >/dev/null; echo whole")
			_, err := p.in.Write(make([]byte, 8<<20))
			require.NoError(t, err)
			logged := logLines(t, p.said)
			for range hosts {
				line, err := p.lines.ReadString('\n')
				require.NoError(t, err)
				require.Contains(t, line, ": begun\n")
			}
			require.NoError(t, p.cmd.Process.Signal(signal))
			for i, end := range ends { // the shell that waits for the host's processes has ended
				word, err := end.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "ended\n", word)
				clean(t, hosts[i])
				text, err := os.ReadFile(filepath.Join(hosts[i].Home, "pid"))
				require.NoError(t, err)
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				require.NoError(t, err)
				require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the command was killed")
			}
			out, err := io.ReadAll(p.lines)
			require.NoError(t, err)
			require.NotContains(t, string(out), "whole")
			<-logged
			_ = p.cmd.Wait() // the exit code tells the error
			if signal == os.Interrupt {
				require.Equal(t, terminal.Interrupted, p.cmd.ProcessState.ExitCode())
			}
		})
	}
}

// A receiver that is killed is named, and the other gets everything.
func TestCastOverSSHOutlivesReceiver(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	victim, other := node(t, "victim", false), node(t, "other", false)
	s := sshdtest.Start(t, victim, other)
	p := overSSH(t, s, "-", "victim", "other", "--json", "--exec", "echo $PPID >receiver; head -c 1 >/dev/null; echo begun >&2; cat >got")
	_, err := p.in.Write(make([]byte, 8<<20))
	require.NoError(t, err)
	for begun := 0; begun < 2; {
		line, err := p.said.ReadString('\n')
		require.NoError(t, err)
		if strings.HasSuffix(line, ": begun\n") {
			begun++
		}
	}
	text, err := os.ReadFile(filepath.Join(victim.Home, "receiver"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.NoError(t, p.in.Close())
	code, out, said := p.wait()
	require.Equal(t, terminal.No, code, said)
	all := outcomeOf(t, out)
	require.True(t, all["other"].Done)
	require.Contains(t, all["victim"].Reason, "lost: ")
	clean(t, victim)
	got, err := os.Stat(filepath.Join(other.Home, "got"))
	require.NoError(t, err)
	require.Equal(t, int64(8<<20-1), got.Size())
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/terminal"
)

// castProcess is a process that sends or receives.
type castProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader // its standard output
	said  *bufio.Reader // its standard error
}

// startCast starts this program.
func startCast(t *testing.T, args ...string) *castProcess {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return start(t, exe, args...)
}

// patience is the time after which a test gives up.
const patience = 5 * time.Minute

func start(t *testing.T, exe string, args ...string) *castProcess {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // a receiver waits for its sender without end
	t.Cleanup(cancel)
	c := &castProcess{t: t, cmd: exec.CommandContext(ctx, exe, args...)}
	c.cmd.Args[0] = program
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	said, err := c.cmd.StderrPipe()
	require.NoError(t, err)
	c.lines, c.said = bufio.NewReader(out), bufio.NewReader(said)
	require.NoError(t, c.cmd.Start())
	return c
}

// wait returns the exit code, or -1 if the process was killed, and the rest of its output and
// errors.
func (c *castProcess) wait() (code int, out, said string) {
	c.t.Helper()
	o, err := io.ReadAll(c.lines)
	require.NoError(c.t, err)
	s, err := io.ReadAll(c.said)
	require.NoError(c.t, err)
	_ = c.cmd.Wait() // the exit code tells the error
	return c.cmd.ProcessState.ExitCode(), string(o), string(s)
}

// address returns the address at which the sender waits.
func (c *castProcess) address() string {
	c.t.Helper()
	line, err := c.said.ReadString('\n')
	require.NoError(c.t, err)
	rest, ok := strings.CutPrefix(line, "waiting at ")
	require.True(c.t, ok, line)
	at, _, _ := strings.Cut(rest, " ")
	return at
}

// says waits for a line of the standard error that contains words.
func (c *castProcess) says(words string) {
	c.t.Helper()
	for {
		line, err := c.said.ReadString('\n')
		require.NoError(c.t, err)
		if strings.Contains(line, words) {
			return
		}
	}
}

// begins waits until a receiver's command has read the first byte.
func (c *castProcess) begins() {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	require.NoError(c.t, err)
	require.Equal(c.t, "begun\n", line)
}

// Receivers that are killed, interrupted or stopped in the middle of a stream are named, and the
// others get all of it.
func TestCastOutlivesReceiver(t *testing.T) {
	t.Parallel() // it waits
	text := make([]byte, 40<<20)
	_, err := rand.NewChaCha8([32]byte{}).Read(text)
	require.NoError(t, err)
	sender := startCast(t, "--serve", "-", "--expect", "5", "--silence", "10s", "--listen", "127.0.0.1:0", "--json")
	at := sender.address()
	const reads = "head -c 1 >/dev/null; echo begun; cat >/dev/null; echo whole"
	victim := startCast(t, "receive", "--from", at, "--name", "victim", "--exec", reads)
	quitter := startCast(t, "receive", "--from", at, "--name", "quitter", "--exec", reads)
	stopped := startCast(t, "receive", "--from", at, "--name", "stopped", "--exec", reads)
	var others []*castProcess
	var files []string
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(t.TempDir(), name)
		files = append(files, file)
		others = append(others, startCast(t, "receive", "--from", at, "--name", name, "--exec", "cat >"+file))
	}
	_, err = sender.in.Write(text[:20<<20])
	require.NoError(t, err)
	victim.begins()
	quitter.begins()
	stopped.begins()
	require.NoError(t, stopped.cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, victim.cmd.Process.Kill())
	require.NoError(t, quitter.cmd.Process.Signal(os.Interrupt))
	_, err = sender.in.Write(text[20<<20:])
	require.NoError(t, err)
	require.NoError(t, sender.in.Close())
	code, out, said := sender.wait()
	require.Equal(t, terminal.No, code, said)
	var o cast.Result
	require.NoError(t, json.Unmarshal([]byte(out), &o))
	require.Len(t, o.Receivers, 5)
	for _, r := range o.Receivers {
		gone := r.Name == "victim" || r.Name == "quitter" || r.Name == "stopped"
		require.Equal(t, !gone, r.Done, "%+v", r)
		require.Equal(t, gone, r.Reason != "", "%+v", r)
	}
	for i, c := range others {
		code, _, said := c.wait()
		require.Zero(t, code, said)
		got, err := os.ReadFile(files[i])
		require.NoError(t, err)
		require.True(t, bytes.Equal(text, got), "%s has %d bytes", files[i], len(got))
	}
	code, _, _ = victim.wait()
	require.Equal(t, -1, code)
	require.NoError(t, stopped.cmd.Process.Signal(syscall.SIGCONT))
	code, out, said = stopped.wait()
	require.Equal(t, terminal.No, code, said)
	require.NotContains(t, out, "whole", "the others have gone on without it")
	code, out, said = quitter.wait()
	require.Equal(t, terminal.Interrupted, code, said)
	require.NotContains(t, out, "whole", "its command was killed")
}

// Ctrl-C at the sender ends all receivers, and leaves no part of a file.
func TestCastInterrupted(t *testing.T) {
	sender := startCast(t, "--serve", "-", "--expect", "2", "--listen", "127.0.0.1:0")
	at := sender.address()
	var all []*castProcess
	for range 2 {
		all = append(all, startCast(t, "receive", "--from", at, "--exec", "head -c 1 >/dev/null; echo begun; cat >/dev/null; echo whole"))
	}
	_, err := sender.in.Write(make([]byte, 20<<20))
	require.NoError(t, err)
	for _, c := range all {
		c.begins()
	}
	require.NoError(t, sender.cmd.Process.Signal(os.Interrupt))
	code, _, said := sender.wait()
	require.Equal(t, terminal.Interrupted, code, said)
	for _, c := range all {
		code, out, said := c.wait()
		require.Equal(t, terminal.No, code, said)
		require.NotContains(t, out, "whole", "its command was killed")
		require.Contains(t, said, "the sender is gone")
	}
}

package remote_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/cast/remote/sshdtest"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// parrot is the name of the program that tests start, which is this test program. It prints its
// arguments, repeats its input, and ends when its input ends.
const parrot = "schedgen-parrot"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == parrot {
		os.Exit(beParrot(os.Args[1:]))
	}
	code := m.Run()
	if p, err := itself(); err == nil {
		if err := p.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func beParrot(args []string) int {
	if len(args) == 1 && args[0] == "--version" {
		os.Stdout.WriteString("parrot 1\nof a test\n")
		return 0
	}
	packed, err := remote.Greet(os.Stdout, args[len(args)-1])
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	if packed != nil {
		defer packed.Close()
	}
	os.Stdout.WriteString(strings.Join(args[:len(args)-1], "|") + "\n")
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return 1
	}
	os.Stderr.WriteString("bye\n")
	return 3
}

var args = []string{"a b", "it's", `$HOME\n"!`, "", "é"}

// itself is this program. All tests share it, because compressing it takes a while.
var itself = sync.OnceValues(func() (*remote.Programs, error) {
	p, err := remote.Self(parrot, "parrot 1")
	return &remote.Programs{Args: args, All: []*remote.Program{p}}, err
})

func self(t *testing.T) *remote.Programs {
	t.Helper()
	p, err := itself()
	require.NoError(t, err)
	return p
}

// by returns a configuration with a client. Its limits of time only stop a test that hangs.
func by(ssh string) remote.Config {
	return remote.Config{SSH: ssh, Connect: 5 * time.Minute, Patience: 10 * time.Minute, Grace: 10 * time.Minute}
}

// bin returns a directory with this program in it, for a PATH.
func bin(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(exe, filepath.Join(dir, parrot)))
	return dir
}

// here returns a client that connects to this host, whatever its arguments are. env is its
// environment, "NAME=value".
func localShell(env ...string) string { return "env " + strings.Join(env, " ") + " sh -c 'exec sh'" }

// converse makes the parrot repeat a word.
func converse(t *testing.T, s *remote.Session) {
	t.Helper()
	out := bufio.NewReader(s.Output)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, strings.Join(args, "|")+"\n", line)
	_, err = io.WriteString(s, "word\n")
	require.NoError(t, err)
	line, err = out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "word\n", line)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// With any login shell, a program is copied, runs, and is removed at once, or the installed one
// runs.
func TestLoginShells(t *testing.T) {
	t.Parallel()
	var hosts []*sshdtest.Host
	for _, shell := range []string{"sh", "fish", "tcsh", "zsh"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		hosts = append(hosts, &sshdtest.Host{Name: shell, Shell: path, Env: []string{"TMPDIR=" + t.TempDir(), "PATH=" + bin(t) + ":" + os.Getenv("PATH")}})
	}
	hosts[0].Env = hosts[0].Env[:1] // the program is not installed there
	server := sshdtest.Start(t, hosts...)
	p := self(t)
	for i, h := range hosts {
		s, err := remote.Open(t.Context(), h.Name, p, by(server.SSH))
		require.NoError(t, err, h.Name)
		require.Equal(t, "127.0.0.1", s.Facts.Client)
		_, copies, err := s.Program()
		require.NoError(t, err)
		require.Equal(t, i == 0, copies, h.Name)
		require.NoError(t, s.Run(t.Context()), h.Name)
		empty(t, strings.TrimPrefix(h.Env[0], "TMPDIR="))
		converse(t, s)
		s.Close()
		require.EqualError(t, s.Wait(), "bye", h.Name)
	}
}

// The script works with all shells that may be a host's sh.
func TestShells(t *testing.T) {
	t.Parallel()
	p := self(t)
	for _, shell := range []string{"dash", "bash --posix", "busybox sh", "mksh", "zsh --emulate sh"} {
		if _, err := exec.LookPath(strings.Fields(shell)[0]); err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		tmp := t.TempDir()
		cfg := by("env TMPDIR=" + tmp + " sh -c 'exec " + shell + "'")
		s, err := remote.Open(t.Context(), "host", p, cfg)
		require.NoError(t, err, shell)
		require.NoError(t, s.Run(t.Context()), shell)
		converse(t, s)
		s.Close()
		require.EqualError(t, s.Wait(), "bye", shell)
		empty(t, tmp)
	}
}

// Errors have the words of the client or of the host.
func TestRefused(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(t.TempDir(), "nologin")
	require.NoError(t, os.WriteFile(closed, []byte("#!/bin/sh\necho This account is not available.\nexit 1\n"), 0o755))
	server := sshdtest.Start(t, &sshdtest.Host{Name: "closed", Shell: closed})
	p := self(t)
	for _, c := range []struct{ host, ssh, want string }{
		{"stranger", server.SSH, "Permission denied"},
		{"nosuch.invalid", server.SSH, "Could not resolve hostname nosuch.invalid"},
		{"closed", server.SSH, "This account is not available."},
		{"-oProxyCommand=x", server.SSH, "would be an option"},
		{"host", "/nonexistent/ssh", "not found"},
		{"host", "sh -c 'exit 7'", "ssh: exit status 7"},
		{"host", "yes;", "its login shell prints more than 1000 lines"},
		{"host", "head -c 100000 /dev/zero;", "a line of more than 4096 bytes"},
		{"host", "printf 'schedgen-remote 2\\nwhat\\n';", `its shell prints an unexpected line: "what"`},
		{"host", "printf 'schedgen-remote 2\\nend\\n';", "its shell does not report everything"},
		{"host", `echo "a b$(printf '\033[2J')" >&2; exit 1;`, "a b[2J"},
	} {
		_, err := remote.Open(t.Context(), c.host, p, by(c.ssh))
		require.ErrorContains(t, err, c.want, c.ssh)
	}
}

// Open ends if a host does not answer, or when ctx ends.
func TestSilence(t *testing.T) {
	t.Parallel()
	p := self(t)
	_, err := remote.Open(t.Context(), "host", p, remote.Config{SSH: "sleep 1000;", Patience: 50 * time.Millisecond})
	require.EqualError(t, err, "no answer within 50ms")
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	_, err = remote.Open(ctx, "host", p, by("sleep 1000;"))
	require.ErrorIs(t, err, over)

	// The host answers, but its program does not.
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	silent, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	defer silent.Close() // ends gzip
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gzip"), []byte("#!/bin/sh\nexec cat "+fifo+"\n"), 0o755))
	c := by(localShell("PATH="+dir+":$PATH", "TMPDIR="+t.TempDir()))
	c.Grace = 50 * time.Millisecond
	s, err := remote.Open(t.Context(), "host", p, c)
	require.NoError(t, err)
	s.SetPatience(50 * time.Millisecond)
	require.EqualError(t, s.Run(t.Context()), "the copy of schedgen-parrot does not run there: no answer within 50ms")
}

// A session that is cut while the copy is sent leaves nothing on the host.
func TestCutWhileCopying(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	// The host's head reads the beginning of the copy, says so, and waits for the end.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "head"), []byte("#!/bin/sh\n[ \"$2\" = 1 ] && exec /usr/bin/head \"$@\"\ndd bs=1000 count=10 2>/dev/null\necho begun >"+fifo+"\ncat >/dev/null\n"), 0o755))
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := remote.Open(ctx, "host", self(t), by(localShell("PATH="+dir+":$PATH", "TMPDIR="+tmp)))
	require.NoError(t, err)
	over := errors.New("over")
	go func() {
		_, _ = os.ReadFile(fifo)
		cancel(over)
	}()
	require.ErrorIs(t, s.Run(ctx), over)
	empty(t, tmp)
}

// A copy that does not run is an error.
func TestCopyThatDoesNotRun(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ name, script, want string }{
		"full disk":      {"gzip", "echo no space left >&2; exit 1", "no space left"},
		"no gzip":        {"gzip", "exit 1", "ssh: exit status 1"},
		"not executable": {"gzip", "cat >/dev/null; echo garbage", "garbage"},
	} {
		dir, tmp := t.TempDir(), t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.name), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755))
		s, err := remote.Open(t.Context(), "host", self(t), by(localShell("PATH="+dir+":$PATH", "TMPDIR="+tmp)))
		require.NoError(t, err)
		err = s.Run(t.Context())
		require.ErrorContains(t, err, "the copy of schedgen-parrot does not run there: ", what)
		require.ErrorContains(t, err, c.want, what)
		empty(t, tmp)
	}
}

// If programs cannot run in the directory for temporary files, the copy is placed elsewhere.
// Without gzip, it is sent unpacked.
func TestCopyElsewhere(t *testing.T) {
	t.Parallel()
	home, mount, tools := t.TempDir(), t.TempDir(), t.TempDir()
	wrap := "unshare -m sh -c 'mount -t tmpfs -o noexec none " + mount + " && mount -t tmpfs -o noexec none /var/tmp && "
	if exec.Command("sh", "-c", wrap+"true'").Run() != nil {
		t.Skip("only root may mount")
	}
	for _, tool := range []string{"sh", "head", "uname", "mktemp", "chmod", "rm"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(tools, tool)))
	}
	s, err := remote.Open(t.Context(), "host", self(t), by(wrap+"HOME="+home+" TMPDIR="+mount+" PATH="+tools+" exec sh'"))
	require.NoError(t, err)
	require.Empty(t, s.Facts.Packer)
	require.NoError(t, s.Run(t.Context()))
	converse(t, s)
	empty(t, home)
	s.Close()
	require.EqualError(t, s.Wait(), "bye")
}

// The directory for temporary files may be a link, with blanks in its name. Only the program's own
// file is removed.
func TestCopyBehindLink(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "it's $here")
	require.NoError(t, os.Mkdir(target, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(target, link))
	t.Run("copied", func(t *testing.T) {
		s, err := remote.Open(t.Context(), "host", self(t), by(localShell("TMPDIR="+link)))
		require.NoError(t, err)
		require.NoError(t, s.Run(t.Context()))
		empty(t, target)
		converse(t, s)
		s.Close()
		require.EqualError(t, s.Wait(), "bye")
	})
	_, err := remote.Greet(io.Discard, target)
	require.ErrorContains(t, err, "and not in "+target)
	_, err = remote.Greet(io.Discard, filepath.Join(target, "none"))
	require.ErrorContains(t, err, "no such file")
}

// A session ends even if the program's output is not read.
func TestUnread(t *testing.T) {
	t.Parallel()
	s, err := remote.Open(t.Context(), "host", self(t), by(localShell("PATH="+bin(t)+":$PATH")))
	require.NoError(t, err)
	require.NoError(t, s.Run(t.Context()))
	s.Close()
}

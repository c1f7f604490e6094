package remote_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/cast/remote/sshdtest"
)

// parrot is the program that tests start: this test program under another name. It says its arguments and then what it is told, and ends when
// its input ends.
const parrot = "schedgen-parrot"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == parrot {
		os.Exit(beParrot())
	}
	os.Exit(m.Run())
}

func beParrot() int {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "--version" {
		os.Stdout.WriteString("parrot 1\n")
		return 0
	}
	if err := remote.Greet(os.Stdout, args[len(args)-1]); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	os.Stdout.WriteString(strings.Join(args[:len(args)-1], "|") + "\n")
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return 1
	}
	os.Stderr.WriteString("bye\n")
	return 0
}

var args = []string{"a b", "it's", `$HOME\n"!`, ""}

func self(t *testing.T) *remote.Program {
	t.Helper()
	p, err := remote.Self(parrot, args, "parrot 1")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// install has a host find this program.
func install(t *testing.T, h *sshdtest.Host) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(h.Home, ".local", "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.Symlink(exe, filepath.Join(bin, parrot)))
}

// converse has the parrot repeat a word and returns how it has ended.
func converse(t *testing.T, s *remote.Session) error {
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
	return s.Close()
}

// empty: nothing is left in a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".schedgen-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// temporary gives a host a directory for temporary files.
func temporary(t *testing.T, h *sshdtest.Host) *sshdtest.Host {
	t.Helper()
	h.Env = append(h.Env, "TMPDIR="+t.TempDir())
	return h
}

func tmp(h *sshdtest.Host) string { return strings.TrimPrefix(h.Env[0], "TMPDIR=") }

// Whatever the login shell is, a program is copied, runs and is gone; or the one that is there runs.
func TestShells(t *testing.T) {
	t.Parallel()
	var hosts []*sshdtest.Host
	for _, shell := range []string{"sh", "bash", "fish", "tcsh", "zsh"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		hosts = append(hosts, temporary(t, &sshdtest.Host{Name: shell, Shell: path}))
	}
	server := sshdtest.Start(t, hosts...)
	p := self(t)
	for i, h := range hosts {
		t.Run(h.Name, func(t *testing.T) {
			if i%2 == 1 {
				install(t, h)
			}
			s, err := remote.Open(t.Context(), h.Name, p, remote.Config{SSH: server.SSH})
			require.NoError(t, err)
			require.Equal(t, "127.0.0.1", s.Facts.Client)
			copies, err := s.Copies()
			require.NoError(t, err)
			require.Equal(t, i%2 == 0, copies)
			require.NoError(t, s.Run(t.Context()))
			empty(t, tmp(h))
			_ = converse(t, s)
			require.NoError(t, errors.Join())
			empty(t, tmp(h))
		})
	}
}

// What cannot be is told in the words of the client or of the host.
func TestRefused(t *testing.T) {
	t.Parallel()
	noise := filepath.Join(t.TempDir(), "nologin")
	require.NoError(t, os.WriteFile(noise, []byte("#!/bin/sh\necho This account is not available.\nexit 1\n"), 0o755))
	server := sshdtest.Start(t, &sshdtest.Host{Name: "one"}, &sshdtest.Host{Name: "closed", Shell: noise}, &sshdtest.Host{Name: "hangs", Shell: "sleep 1000; :"})
	p := self(t)
	for host, want := range map[string]string{
		"stranger":         "Permission denied (publickey)",
		"nosuch.invalid":   "Could not resolve hostname nosuch.invalid",
		"closed":           "This account is not available.",
		"-oProxyCommand=x": "would be an option",
	} {
		_, err := remote.Open(t.Context(), host, p, remote.Config{SSH: server.SSH})
		require.ErrorContains(t, err, want, host)
	}
	_, err := remote.Open(t.Context(), "one", p, remote.Config{SSH: "/nonexistent/ssh"})
	require.ErrorContains(t, err, "not found")
	_, err = remote.Open(t.Context(), "hangs", p, remote.Config{SSH: server.SSH, Patience: 500 * time.Millisecond})
	require.EqualError(t, err, "no answer within 500ms")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	_, err = remote.Open(ctx, "hangs", p, remote.Config{SSH: server.SSH})
	require.ErrorIs(t, err, over)
}

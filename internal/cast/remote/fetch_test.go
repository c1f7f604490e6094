package remote_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

// passedOn serves the copy of a first host, as that host does.
func passedOn(t *testing.T, p *remote.Programs, change func([]byte) []byte) netip.AddrPort {
	t.Helper()
	tmp := t.TempDir()
	kept := filepath.Join(t.TempDir(), "kept")
	tools := t.TempDir()
	// The host's chmod keeps a second name of the packed file.
	require.NoError(t, os.WriteFile(filepath.Join(tools, "chmod"), []byte("#!/bin/sh\nfor f in "+tmp+"/.schedgen-*/packed; do [ ! -f \"$f\" ] || ln -f \"$f\" "+kept+"; done\nexec /bin/chmod \"$@\"\n"), 0o755))
	s, err := remote.Open(t.Context(), "first", p, by(localShell("PATH="+tools+":$PATH", "TMPDIR="+tmp)))
	require.NoError(t, err)
	require.NoError(t, s.Run(t.Context()))
	converse(t, s)
	s.Close()
	packed, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(kept, change(packed), 0o600))
	f, err := os.Open(kept)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		remote.ServeCopies(l, f)
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
		f.Close()
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// A host gets its copy from another host. If that host sends other bytes, too few bytes, or does
// not answer, the copy comes from here.
func TestFetch(t *testing.T) {
	t.Parallel()
	p := self(t)
	for what, c := range map[string]struct {
		at   netip.AddrPort
		want bool
	}{
		"the same": {passedOn(t, p, func(b []byte) []byte { return b }), true},
		"changed":  {passedOn(t, p, func(b []byte) []byte { b[len(b)/2]++; return b }), false},
		"less":     {passedOn(t, p, func(b []byte) []byte { return b[:len(b)/2] }), false},
		"nobody":   {netip.MustParseAddrPort(porttest.Hold(t)), false},
	} {
		tmp := t.TempDir()
		s, err := remote.Open(t.Context(), "host", p, by(localShell("TMPDIR="+tmp)))
		require.NoError(t, err)
		if s.Facts.Fetcher == "" {
			s.Close()
			t.Skip("this host cannot fetch")
		}
		got, err := s.Fetch(t.Context(), c.at, 5*time.Minute)
		require.NoError(t, err, what)
		require.Equal(t, c.want, got, what)
		require.NoError(t, s.Run(t.Context()), what)
		empty(t, tmp)
		converse(t, s)
		s.Close()
		require.EqualError(t, s.Wait(), "bye")
	}
}

// The next session finds a copy that is kept.
func TestKeep(t *testing.T) {
	t.Parallel()
	p, home, tmp := self(t), t.TempDir(), t.TempDir()
	c := by(localShell("HOME="+home, "TMPDIR="+tmp))
	c.Keep = true
	for i := range 2 {
		s, err := remote.Open(t.Context(), "host", p, c)
		require.NoError(t, err)
		_, copies, err := s.Program()
		require.NoError(t, err)
		require.Equal(t, i == 0, copies)
		require.NoError(t, s.Run(t.Context()))
		empty(t, tmp)
		converse(t, s)
		s.Close()
	}
	all, err := os.ReadDir(filepath.Join(home, ".local", "bin"))
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, parrot, all[0].Name())
}

// A directory for temporary files that is too small for the copy is not used.
func TestSmallTemporary(t *testing.T) {
	t.Parallel()
	home, mount := t.TempDir(), t.TempDir()
	wrap := "unshare -m sh -c 'mount -t tmpfs -o size=64k none " + mount + " && mount -t tmpfs -o size=64k none /var/tmp && "
	if exec.Command("sh", "-c", wrap+"true'").Run() != nil {
		t.Skip("only root may mount")
	}
	s, err := remote.Open(t.Context(), "host", self(t), by(wrap+"HOME="+home+" TMPDIR="+mount+" exec sh'"))
	require.NoError(t, err)
	require.NoError(t, s.Run(t.Context()))
	converse(t, s)
	empty(t, home)
	s.Close()
	require.EqualError(t, s.Wait(), "bye")
}

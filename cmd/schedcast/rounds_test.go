package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// fileOf makes a file of n bytes.
func fileOf(t *testing.T, n int) (path string, text []byte) {
	t.Helper()
	text = bytes.Repeat([]byte("0123456789abcde\n"), n/16)
	path = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path, text
}

// ended waits for the sender and returns its result.
func (c *castProcess) ended(code int) (o cast.Result, said string) {
	c.t.Helper()
	got, out, said := c.wait()
	require.Equal(c.t, code, got, said)
	require.NoError(c.t, json.Unmarshal([]byte(out), &o), out)
	return o, said
}

// has requires that a receiver has succeeded, and that the file has the bytes of text.
func (c *castProcess) has(path string, text []byte) {
	c.t.Helper()
	code, _, said := c.wait()
	require.Zero(c.t, code, said)
	got, err := os.ReadFile(path)
	require.NoError(c.t, err)
	require.True(c.t, bytes.Equal(text, got), "%s has %d bytes", path, len(got))
}

// writing waits until a receiver writes to a directory.
func writing(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, err := os.ReadDir(dir)
		return err == nil && len(all) == 1 && strings.HasPrefix(all[0].Name(), unpack.TempPrefix)
	}, patience, 5*time.Millisecond)
}

// wrote waits until dir has at least this many bytes of an incomplete file.
func wrote(t *testing.T, dir string, bytes int64) {
	t.Helper()
	writing(t, dir)
	require.Eventually(t, func() bool {
		all, err := os.ReadDir(dir)
		if err != nil || len(all) != 1 {
			return false
		}
		info, err := all[0].Info()
		return err == nil && info.Size() >= bytes
	}, patience, 5*time.Millisecond)
}

// atRates calls try with lower and lower rates until it reports that it was in time: on a busy
// machine a cast may end before the test does what it wants to do meanwhile.
func atRates(t *testing.T, try func(limit string) bool) {
	t.Helper()
	for rate := 10 << 20; !try(fmt.Sprint(rate, "/s")); rate /= 4 {
		require.Greater(t, rate, 64<<10, "the cast was over too early at each rate")
	}
}

// inTime waits until each of dirs has at least n bytes of an incomplete file, or the whole file. It
// then calls do, and reports whether no file was complete by then.
func inTime(t *testing.T, n int64, do func(), dirs ...string) bool {
	t.Helper()
	complete := func(dir string) bool {
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(all) > 0 && !strings.HasPrefix(all[0].Name(), unpack.TempPrefix)
	}
	for _, dir := range dirs {
		require.Eventually(t, func() bool {
			if complete(dir) {
				return true
			}
			all, err := os.ReadDir(dir)
			if err != nil || len(all) != 1 {
				return false
			}
			info, err := all[0].Info()
			return err == nil && info.Size() >= n
		}, patience, 5*time.Millisecond)
	}
	do()
	return !slices.ContainsFunc(dirs, complete)
}

// send returns a function that sends a signal to a process.
func (c *castProcess) send(s os.Signal) func() {
	return func() { require.NoError(c.t, c.cmd.Process.Signal(s)) }
}

// A receiver that comes during a cast is served after it.
func TestCastServesLate(t *testing.T) {
	t.Parallel()
	path, text := randomFile(t, 1<<20)
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	sender := startCast(t, "--serve", path, "--expect", "1", "--silence", "1h", "--listen", "127.0.0.1:0", "--limit", "128KiB/s", "--json")
	at := sender.address()
	early := startCast(t, "receive", "--from", at, "--to", one, "--name", "early")
	writing(t, one)
	require.NoError(t, early.cmd.Process.Signal(syscall.SIGSTOP)) // it is not done before the other has come
	late := startCast(t, "receive", "--from", at, "--to", two, "--name", "late")
	late.says("waiting for")
	require.NoError(t, early.cmd.Process.Signal(syscall.SIGCONT))
	early.has(filepath.Join(one, "file"), text)
	late.has(filepath.Join(two, "file"), text)
	o, _ := sender.ended(0)
	require.Len(t, o.Receivers, 2)
	require.True(t, o.Receivers[1].Done)
	require.Greater(t, o.Sent, int64(2*len(text)), "it was sent twice")
}

// After --wait, the cast begins with the receivers that have come, or ends if there are none.
func TestCastWaits(t *testing.T) {
	t.Parallel()
	for name, expect := range map[string][]string{"some": {"--expect", "3"}, "all": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, text := fileOf(t, 1<<16)
			to := t.TempDir()
			sender := startCast(t, append([]string{"--serve", path, "--wait", "6s", "--listen", "127.0.0.1:0", "--json"}, expect...)...)
			startCast(t, "receive", "--from", sender.address(), "--to", to).has(filepath.Join(to, "file"), text)
			o, _ := sender.ended(0)
			require.Len(t, o.Receivers, 1, "all that come in time")
		})
	}
	path, _ := fileOf(t, 1<<16)
	sender := startCast(t, "--serve", path, "--expect", "3", "--wait", "10ms", "--listen", "127.0.0.1:0", "--json")
	code, out, said := sender.wait()
	require.Equal(t, terminal.No, code)
	require.Empty(t, out)
	require.Contains(t, said, "nobody has come")
}

// A receiver that dies at any moment before the first piece is left out.
func TestCastOutlivesGuest(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(t *testing.T, at string, s *lobby.Seat){
		"with a place": func(_ *testing.T, _ string, s *lobby.Seat) { s.Leave() },
		"connected": func(t *testing.T, at string, s *lobby.Seat) {
			tr, err := tcp.Join(t.Context(), tcp.Config{Rank: s.Rank, Size: s.Size, Job: s.Job, Coordinator: at})
			require.NoError(t, err)
			s.Met()
			require.NoError(t, tr.Close(false, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, text := fileOf(t, 1<<20)
			sender := startCast(t, "--serve", path, "--expect", "3", "--listen", "127.0.0.1:0", "--transport", "tcp", "--json")
			at := sender.address()
			var dirs []string
			var others []*castProcess
			for range 2 {
				dirs = append(dirs, t.TempDir())
				others = append(others, startCast(t, "receive", "--from", at, "--to", dirs[len(dirs)-1]))
			}
			s, err := lobby.Enter(t.Context(), at, lobby.Guest{Name: "victim"}, lobby.Config{})
			require.NoError(t, err)
			die(t, at, s)
			for i, c := range others {
				c.has(filepath.Join(dirs[i], "file"), text)
			}
			o, _ := sender.ended(terminal.No)
			require.Len(t, o.Receivers, 3)
			for _, r := range o.Receivers {
				require.Equal(t, r.Name != "victim", r.Done, "%+v", r)
				require.Equal(t, r.Done, r.Reason == "", "%+v", r)
			}
		})
	}
}

// partial waits until a receiver has kept at least this many bytes of a file.
func partial(t *testing.T, dir string, bytes int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, err := os.Stat(filepath.Join(dir, unpack.PartialName("file")))
		return err == nil && info.Size() >= bytes
	}, patience, 2*time.Millisecond)
}

// randomFile makes a file in which no two blocks are equal.
func randomFile(t *testing.T, n int) (path string, text []byte) {
	t.Helper()
	text = make([]byte, n)
	_, err := rand.NewChaCha8([32]byte{}).Read(text)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path, text
}

// After the sender, a receiver or all were killed, a cast with --resume sends to each receiver the
// data that it lacks.
func TestCastResumes(t *testing.T) {
	t.Parallel()
	for _, killed := range []string{"sender", "receiver", "both"} {
		t.Run(killed, func(t *testing.T) {
			t.Parallel()
			path, text := randomFile(t, 8<<20) // eight seconds of a cast, so that a slow test still sees a part
			one, two := t.TempDir(), t.TempDir()
			sender := startCast(t, "--serve", path, "--expect", "2", "--listen", "127.0.0.1:0", "--limit", "1MiB/s", "--resume")
			at := sender.address()
			first := startCast(t, "receive", "--from", at, "--to", one, "--name", "first", "--resume")
			second := startCast(t, "receive", "--from", at, "--to", two, "--name", "second", "--resume")
			partial(t, one, 2<<20)
			partial(t, two, 2<<20)
			if killed != "receiver" {
				require.NoError(t, sender.cmd.Process.Kill())
			}
			if killed != "sender" {
				require.NoError(t, first.cmd.Process.Kill())
			}
			sender.wait()
			first.wait()
			second.wait()
			want := 2
			if killed == "receiver" {
				want = 1
				got, err := os.ReadFile(filepath.Join(two, "file"))
				require.NoError(t, err)
				require.True(t, bytes.Equal(text, got))
			}
			sender = startCast(t, "--serve", path, "--expect", strconv.Itoa(want), "--listen", "127.0.0.1:0", "--resume", "--json")
			at = sender.address()
			first = startCast(t, "receive", "--from", at, "--to", one, "--name", "first", "--resume")
			if want == 2 {
				startCast(t, "receive", "--from", at, "--to", two, "--name", "second", "--resume").has(filepath.Join(two, "file"), text)
			}
			first.has(filepath.Join(one, "file"), text)
			o, said := sender.ended(0)
			if !strings.Contains(said, "no answer for") { // on a very busy machine, a receiver may be silent, and gets the rest alone
				require.Less(t, o.Sent, int64(7<<20), "what was there is not sent again: %s", said)
			}
			for _, dir := range []string{one, two} {
				all, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, all, 1, "nothing stays that is of no use")
			}
		})
	}
}

// Hosts that lack all, some or no blocks of a changed file get the blocks that they lack, in
// rounds.
func TestCastGroups(t *testing.T) {
	t.Parallel()
	path, text := randomFile(t, 24<<20)
	changed := bytes.Clone(text)
	changed[20<<20]++
	dirs := map[string]string{"all": t.TempDir(), "nothing": t.TempDir(), "some": t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(dirs["nothing"], "file"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dirs["some"], "file"), changed, 0o600))
	sender := startCast(t, "--serve", path, "--expect", "3", "--listen", "127.0.0.1:0", "--resume", "--json")
	at := sender.address()
	got := map[string]*castProcess{}
	for name, dir := range dirs {
		got[name] = startCast(t, "receive", "--from", at, "--to", dir, "--name", name, "--resume", "--json")
	}
	for name, c := range got {
		c.has(filepath.Join(dirs[name], "file"), text)
	}
	o, _ := sender.ended(0)
	require.Len(t, o.Receivers, 3)
	require.Less(t, o.Sent, int64(26<<20), "one block and the file, not more")
	info, err := os.Stat(filepath.Join(dirs["nothing"], "file"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode())
}

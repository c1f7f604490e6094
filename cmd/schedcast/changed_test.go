package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/remote/sshdtest"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// lacks requires that a receiver has failed with the reason, and that path does not exist.
func (c *castProcess) lacks(path, reason string) {
	c.t.Helper()
	code, _, said := c.wait()
	require.Equal(c.t, terminal.No, code, said)
	require.Contains(c.t, said, reason)
	require.NoFileExists(c.t, path)
}

// byName returns the outcome of each receiver, by name.
func byName(o *cast.Result) map[string]cast.Outcome {
	all := map[string]cast.Outcome{}
	for _, r := range o.Receivers {
		all[r.Name] = r.Outcome
	}
	return all
}

// Receivers of a later round get the same file as the first one, or fail, whatever was done to the
// file between the rounds. Package pack tests every change both with and without --resume; so do
// heavy tests.
func TestCastChangedBetweenRounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resume bool
		change func(path string) error
		want   string
	}{
		"replaced": {false, func(path string) error { return os.Rename(path+".new", path) }, "its kind, size, time or permissions have changed"},
		"rewritten": {true, func(path string) error { // with the old time
			info, err := os.Stat(path)
			if err == nil {
				err = os.WriteFile(path+".again", make([]byte, info.Size()), 0o644)
			}
			if err == nil {
				err = os.Chtimes(path+".again", info.ModTime(), info.ModTime())
			}
			if err == nil {
				err = os.Rename(path+".again", path)
			}
			return err
		}, "its contents have changed"},
		"removed": {false, os.Remove, "it is gone"},
	} {
		for _, resume := range heavy.Or([]bool{c.resume}, []bool{false, true}) {
			t.Run(name+map[bool]string{true: ", resumed"}[resume], func(t *testing.T) {
				t.Parallel()
				path, text := randomFile(t, 2<<20)
				require.NoError(t, os.WriteFile(path+".new", make([]byte, 3<<20), 0o644))
				args := func(all ...string) []string {
					if resume {
						all = append(all, "--resume")
					}
					return all
				}
				sender := startCast(t, args("--serve", path, "--expect", "1", "--listen", "127.0.0.1:0", "--limit", "512KiB/s", "--json")...)
				at := sender.address()
				dirs, all := map[string]string{}, map[string]*castProcess{}
				start := func(name string) {
					dirs[name] = t.TempDir()
					all[name] = startCast(t, args("receive", "--from", at, "--to", dirs[name], "--name", name)...)
				}
				start("first")
				writing(t, dirs["first"])
				start("second")
				start("third")
				wrote(t, dirs["first"], 1<<18) // the sender has long read everything
				require.NoError(t, c.change(path))
				all["first"].has(filepath.Join(dirs["first"], "file"), text)
				for _, name := range []string{"second", "third"} {
					all[name].lacks(filepath.Join(dirs[name], "file"), c.want)
				}
				o, said := sender.ended(terminal.No)
				require.Contains(t, said, path+" has changed since the cast began ("+c.want+"): cast it again\n")
				ends := byName(&o)
				require.Len(t, ends, 3)
				require.True(t, ends["first"].Done)
				for _, name := range []string{"second", "third"} {
					require.False(t, ends[name].Done)
					require.Contains(t, ends[name].Reason, c.want)
				}
			})
		}
	}
}

// A receiver that comes again continues with the same file, or fails.
func TestCastChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, resume := range heavy.Or(map[string]bool{"resumed": true}, map[string]bool{"anew": false, "resumed": true}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atRates(t, func(limit string) bool { return changedWhileSilent(t, resume, limit) })
		})
	}
}

// changedWhileSilent runs the test at a rate, and reports whether it was in time.
func changedWhileSilent(t *testing.T, resume bool, limit string) bool {
	path, text := randomFile(t, 12<<20)
	args := func(all ...string) []string {
		if resume {
			all = append(all, "--resume")
		}
		return all
	}
	sender := startCast(t, args("--serve", path, "--expect", "2", "--silence", "10m", "--listen", "127.0.0.1:0", "--limit", limit, "--json")...)
	at := sender.address()
	one, silent := t.TempDir(), t.TempDir()
	first := startCast(t, args("receive", "--from", at, "--to", one, "--name", "one")...)
	second := startCast(t, args("receive", "--from", at, "--to", silent, "--name", "silent")...)
	if !inTime(t, kept, second.send(syscall.SIGSTOP), silent) {
		return false
	}
	first.has(filepath.Join(one, "file"), text)
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("new "), len(text)/4), 0o644))
	require.NoError(t, second.cmd.Process.Signal(syscall.SIGCONT))
	second.lacks(filepath.Join(silent, "file"), "file has changed since the cast began")
	o, _ := sender.ended(terminal.No)
	require.True(t, byName(&o)["one"].Done)
	require.Contains(t, byName(&o)["silent"].Reason, "file has changed since the cast began")
	return true
}

// Over ssh, too, a host that is late gets the same file as the others, or fails.
func TestCastChangedOverSSH(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	early, late := node(t, "early", false), node(t, "late", false)
	dir := t.TempDir()
	now := filepath.Join(dir, "now")
	// The command also ends when the test has ended and its directory is gone.
	wrapped(t, late, `until [ -e `+now+` ] || [ ! -e `+dir+` ]; do sleep 0.02; done; exec "$@"`)
	s := sshdtest.Start(t, early, late)
	path, text := randomFile(t, 8<<20)
	require.NoError(t, os.WriteFile(path+".new", text[1:], 0o644))
	for _, h := range s.Hosts {
		require.NoError(t, os.Mkdir(filepath.Join(h.Home, "data"), 0o755))
	}
	// Even on a busy machine, the first host has come by then, and the second one cannot.
	sender := overSSH(t, s, path, "early", "late", "--to", "data", "--wait", "20s", "--limit", "1MiB/s", "--json")
	writing(t, filepath.Join(early.Home, "data"))
	require.NoError(t, os.WriteFile(now, nil, 0o600))
	wrote(t, filepath.Join(early.Home, "data"), 13<<19)
	require.NoError(t, os.Rename(path+".new", path))
	o, said := sender.ended(terminal.No)
	require.Contains(t, said, path+" has changed since the cast began")
	ends := byName(&o)
	require.True(t, ends["early"].Done, "%+v", ends)
	require.False(t, ends["late"].Done)
	require.Contains(t, ends["late"].Reason, path+" has changed since the cast began")
	got, err := os.ReadFile(filepath.Join(early.Home, "data", "file"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, got))
	clean(t, late)
	require.NoFileExists(t, filepath.Join(late.Home, "data", "file"))
}

// A file that changes while it is read is read once more. If it changes again, it is skipped: no
// receiver gets it, and the exit code is 1. On a busy machine the file may change too late. Then the
// receiver gets the old file, and the test tries again at a lower rate.
func TestCastChangedWhileRead(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]func(*testing.T, string) bool{"once": changedOnce, "always": changedAlways} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for rate := 6 << 20; !changed(t, fmt.Sprint(rate, "/s")); rate /= 4 {
				require.Greater(t, rate, 64<<10, "no change was ever seen")
			}
		})
	}
}

// changedOnce casts a file at a rate, changes it once while it is read, and reports whether it was
// in time.
func changedOnce(t *testing.T, rate string) bool {
	path, text := randomFile(t, 12<<20)
	sender := startCast(t, "--serve", path, "--expect", "1", "--listen", "127.0.0.1:0", "--limit", rate, "--json")
	to := t.TempDir()
	receiver := startCast(t, "receive", "--from", sender.address(), "--to", to)
	wrote(t, to, 1<<20)
	require.NoError(t, appendTo(path, text[:1]))
	code, _, told := receiver.wait()
	require.Zero(t, code, told)
	sender.ended(0)
	got, err := os.ReadFile(filepath.Join(to, "file"))
	require.NoError(t, err)
	if bytes.Equal(text, got) {
		return false
	}
	require.True(t, bytes.Equal(append(text, text[0]), got), "it has %d bytes", len(got))
	return true
}

// changedAlways casts a file at a rate, changes it again and again while it is read, and reports
// whether that was in time.
func changedAlways(t *testing.T, rate string) bool {
	path, text := randomFile(t, 12<<20)
	sender := startCast(t, "--serve", path, "--expect", "1", "--listen", "127.0.0.1:0", "--limit", rate, "--json")
	to := t.TempDir()
	receiver := startCast(t, "receive", "--from", sender.address(), "--to", to)
	wrote(t, to, 1<<20)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(20 * time.Millisecond):
				if err := appendTo(path, text[:1]); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	code, _, told := receiver.wait()
	close(stop)
	require.NoError(t, <-stopped)
	require.Zero(t, code, told)
	left, err := os.ReadDir(to)
	require.NoError(t, err)
	if len(left) > 0 {
		sender.ended(0)
		return false
	}
	o, said := sender.ended(terminal.No)
	require.Contains(t, said, "skipped: "+path+" has changed since the cast began (its size changed from ")
	require.EqualValues(t, 1, o.Skipped)
	return true
}

func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

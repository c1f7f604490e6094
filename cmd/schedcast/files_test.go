package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/remote/sshdtest"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

var castTime = time.Unix(1_600_000_000, 0)

// sow makes files in a directory. The text of a link begins with "-> ".
func sow(t *testing.T, dir string, entries map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		path, text := filepath.Join(dir, name), entries[name]
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, link := strings.CutPrefix(text, "-> "); link {
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		require.NoError(t, os.Chtimes(path, castTime, castTime))
	}
}

// reap returns the files and links below a directory, in the form of sow.
func reap(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			all[name] = "-> " + target
			return err
		}
		b, err := os.ReadFile(path)
		all[name] = string(b)
		return err
	}))
	return all
}

// Several sources go to several hosts together. Entries that cannot be sent are skipped and named,
// also by a dry run, and the exit code is 1. A directory with the name of a file fails only its
// host.
func TestCastSkips(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	good, blocked := node(t, "good", false), node(t, "blocked", false)
	s := sshdtest.Start(t, good, blocked)
	top := t.TempDir()
	sow(t, top, map[string]string{"app/bin/run": "x", "app/bin/python": "-> /usr/bin/python3", "app/z.log": "", "conf": "c"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(top, "app", "pipe"), 0o644))
	sow(t, blocked.Home, map[string]string{"data/conf/x": ""})
	args := []string{top + "/app", top + "/conf", "good", "blocked", "--to", "~/data", "--exclude", "*.log"}

	code, out, said := overSSH(t, s, append(args, "--dry-run")...).wait()
	require.Equal(t, terminal.No, code, said)
	require.Contains(t, out, top+"/app and 1 more to 2 receivers: 4 entries, 2 B\n")
	for _, said := range []string{said} {
		require.Contains(t, said, "skipped: "+top+"/app/pipe: a named pipe cannot be sent\n")
		require.Contains(t, said, "skipped: "+top+"/app/bin/python: a link that leads, or may lead, out of what is sent, to /usr/bin/python3\n")
		require.Contains(t, said, "2 entries were skipped; ")
	}

	code, out, said = overSSH(t, s, append(args, "--json")...).wait()
	require.Equal(t, terminal.No, code, said)
	var end cast.Result
	require.NoError(t, json.Unmarshal([]byte(out), &end), out)
	require.EqualValues(t, 2, end.Skipped)
	require.Equal(t, 1, strings.Count(said, "app/pipe"), "it is said once")
	require.True(t, end.Receivers[0].Done)
	require.Contains(t, end.Receivers[1].Reason, "write conf: a directory of this name exists")
	require.Equal(t, map[string]string{"app/bin/run": "x", "conf": "c"}, reap(t, filepath.Join(good.Home, "data")))

	code, _, said = overSSH(t, s, append(args[:len(args)-2], "-x", "blocked", "--links", "--exclude", "pipe", "--include", "z.log", "--exclude", "*.log")...).wait()
	require.Zero(t, code, said)
	require.Equal(t, "-> /usr/bin/python3", reap(t, filepath.Join(good.Home, "data"))["app/bin/python"])
	require.Contains(t, reap(t, filepath.Join(good.Home, "data")), "app/z.log")
	clean(t, good)
	clean(t, blocked)
}

// With --update, hosts get only files with another size or time. With --delete, their other entries
// are deleted. Files come compressed, with the properties asked for.
func TestCastUpdate(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	one, two, empty := node(t, "one", false), node(t, "two", false), node(t, "empty", false)
	s := sshdtest.Start(t, one, two, empty)
	from := t.TempDir()
	long := strings.Repeat("many words ", 1<<18)
	sow(t, from, map[string]string{"a": "as it was", "d/b": long, "d/c": "new", "s": "#!", "keep.log": "no"})
	require.NoError(t, os.Link(filepath.Join(from, "d", "c"), filepath.Join(from, "e")))
	for _, h := range []*sshdtest.Host{one, two} {
		sow(t, h.Home, map[string]string{"data/a": "not read.", "data/d/b": long[:2<<20] + "-" + long[2<<20+1:], "data/d/old": "", "data/x/y": "", "data/mine.log": ""})
		require.NoError(t, os.Chtimes(filepath.Join(h.Home, "data", "d", "b"), castTime, castTime.Add(time.Second)))
	}
	args := []string{
		from + "/", "-w", "one,two", "--to", "data", "--update", "--delete", "3", "--exclude", "*.log", "-H", "--setuid",
		"--chmod", "D750,Fg-r", "--compress", "on", "--json",
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(from, "s"), 12345, 54321))
		args = append(args, "--owner")
	}
	require.NoError(t, os.Chmod(filepath.Join(from, "s"), 0o755|fs.ModeSetuid)) // a change of the owner would remove it
	code, out, said := overSSH(t, s, args...).wait()
	require.Zero(t, code, "%s\n%s", out, said)
	var end cast.Result
	require.NoError(t, json.Unmarshal([]byte(out), &end), out)
	require.Less(t, end.Sent, int64(1<<20), "it was compressed")
	for _, h := range []*sshdtest.Host{one, two} {
		data := filepath.Join(h.Home, "data")
		want := map[string]string{"a": "not read.", "d/b": long, "d/c": "new", "e": "new", "s": "#!", "mine.log": ""}
		got := reap(t, data)
		require.True(t, want["d/b"] == got["d/b"], "%s: d/b has %d bytes, want %d", h.Name, len(got["d/b"]), len(long))
		delete(want, "d/b")
		delete(got, "d/b")
		require.Equal(t, want, got, h.Name)
		info, err := os.Stat(filepath.Join(data, "s"))
		require.NoError(t, err)
		require.Equal(t, 0o715|fs.ModeSetuid, info.Mode())
		if os.Geteuid() == 0 {
			require.EqualValues(t, 12345, info.Sys().(*syscall.Stat_t).Uid)
		}
		c, err := os.Stat(filepath.Join(data, "d", "c"))
		require.NoError(t, err)
		e, err := os.Stat(filepath.Join(data, "e"))
		require.NoError(t, err)
		require.True(t, os.SameFile(c, e))
		d, err := os.Stat(filepath.Join(data, "d"))
		require.NoError(t, err)
		require.Equal(t, 0o750|fs.ModeDir, d.Mode())
		clean(t, h)
	}

	// If more entries than allowed would be deleted, none is, and the host fails.
	sow(t, one.Home, map[string]string{"data/1": "", "data/2": "", "data/3": "", "data/4": ""})
	code, out, _ = overSSH(t, s, append(args, "empty")...).wait()
	require.Equal(t, terminal.No, code)
	all := outcomeOf(t, out)
	require.Contains(t, all["one"].Reason, "too many entries would be deleted: more than 3; none was")
	require.True(t, all["two"].Done)
	require.True(t, all["empty"].Done)
	require.Equal(t, "as it was", reap(t, filepath.Join(empty.Home, "data"))["a"])
	require.Contains(t, reap(t, filepath.Join(one.Home, "data")), "4")
}

// A dry run compares the files of hosts, and changes nothing there.
func TestCastChecksum(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	same, differs, empty := node(t, "same", false), node(t, "differs", false), node(t, "empty", false)
	s := sshdtest.Start(t, same, differs, empty)
	from := t.TempDir()
	sow(t, from, map[string]string{"a": "text", "d/b": "words"})
	sow(t, same.Home, map[string]string{"data/a": "text", "data/d/b": "words"})
	sow(t, differs.Home, map[string]string{"data/a": "text", "data/d/b": "WORDS"})
	args := []string{from + "/", "same", "differs", "empty", "nosuch.invalid", "--to", "data", "--dry-run", "--checksum"}
	code, out, said := overSSH(t, s, args...).wait()
	require.Equal(t, terminal.No, code, said)
	require.Contains(t, out, ": 9 B compared at 3 hosts\n  same: lacks nothing\n  differs: lacks 5 B in 1 file: d/b\n  empty: lacks 9 B in 2 files: a, d/b\n  nosuch.invalid: ")
	require.NoDirExists(t, filepath.Join(empty.Home, "data"))
	require.Equal(t, "WORDS", reap(t, filepath.Join(differs.Home, "data"))["d/b"])

	code, out, said = overSSH(t, s, append(args[:3:3], "--to", "data", "--dry-run", "--checksum", "--update", "--json")...).wait()
	require.Zero(t, code, said)
	all := outcomeOf(t, out)
	require.Zero(t, all["differs"].Lacks.Files, "it has the size and the time")
	for _, h := range s.Hosts {
		clean(t, h)
	}
}

// A receiver that was started by hand accepts only the properties that its flags name.
func TestCastUnasked(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	sow(t, from, map[string]string{"l": "-> /etc"})
	for _, asked := range []bool{false, true} {
		sender := startCast(t, "--serve", from+"/", "--expect", "1", "--links", "--listen", "127.0.0.1:0")
		args := []string{"receive", "--from", sender.address(), "--to", to}
		if asked {
			args = append(args, "--links")
		}
		code, _, said := startCast(t, args...).wait()
		if asked {
			require.Zero(t, code, said)
			require.Equal(t, map[string]string{"l": "-> /etc"}, reap(t, to))
		} else {
			require.Equal(t, terminal.No, code)
			require.Contains(t, said, "write l: not accepted at this host: a link that may lead out of what is sent")
			require.Empty(t, reap(t, to))
		}
		sender.wait()
	}
}

// The command of a stream runs in a directory below the home, which is made if it does not exist.
func TestCastExecMakesDirectory(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	h := node(t, "only", false)
	s := sshdtest.Start(t, h)
	p := overSSH(t, s, "-", "only", "--exec", "cat >got", "--to", "~/new/dir")
	_, err := p.in.Write([]byte("words"))
	require.NoError(t, err)
	require.NoError(t, p.in.Close())
	code, _, said := p.wait()
	require.Zero(t, code, said)
	require.Equal(t, map[string]string{"got": "words"}, reap(t, filepath.Join(h.Home, "new", "dir")))
}

// Errors name flags that do not fit.
func TestCastFilesFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for want, args := range map[string][]string{
		"--links and --copy-links":  {"--links", "--copy-links"},
		"--numeric-ids":             {"--numeric-ids"},
		"--delete=-1":               {"--delete", "-1"},
		"--chmod=u+q":               {"--chmod", "u+q"},
		"--exclude, --include: not": {"--exclude", "[a"},
	} {
		code, _, said := startCast(t, append([]string{file, "host", "--to", "x", "--dry-run"}, args...)...).wait()
		require.Equal(t, terminal.Bad, code, said)
		require.Contains(t, said, want)
	}
	code, _, said := startCast(t, "-", "host", "--exec", "cat", "--owner").wait()
	require.Equal(t, terminal.Bad, code)
	require.Contains(t, said, "--owner: is for files, but a stream is sent")
}

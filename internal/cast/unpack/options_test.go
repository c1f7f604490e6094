package unpack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/filter"
	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/record"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// everything accepts all properties.
var everything = unpack.Accept{Owner: true, Special: true, ACL: true, Xattr: true, FreeLinks: true}

// plant makes files in a directory. A name that ends with a slash is a directory; the text of a
// link begins with "-> ".
func plant(t testing.TB, dir string, entries map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		path, text := filepath.Join(dir, name), entries[name]
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target, link := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		case link:
			require.NoError(t, os.Symlink(target, path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			require.NoError(t, os.Chtimes(path, epoch, epoch))
		}
	}
}

// planted returns the entries of a directory in the form of plant.
func planted(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for path, s := range look(t, dir) {
		switch {
		case s.mode.IsDir():
			all[path+"/"] = ""
		case s.target != "":
			all[path] = "-> " + s.target
		default:
			all[path] = s.text
		}
	}
	return all
}

// skips holds the entries that an origin skips, and why.
type skips map[string]string

func (s skips) skip(path string, why error) { s[filepath.Base(path)] += why.Error() + "\n" }

func origin(t testing.TB, o pack.Options, paths ...string) *pack.Origin {
	t.Helper()
	origin, err := pack.New(paths, o)
	require.NoError(t, err)
	return origin
}

// across sends an origin into a directory.
func across(t testing.TB, o *pack.Origin, to string, target unpack.Target) (unpack.Totals, error) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, o.Tree(t.Context(), &b, nil))
	return unpackInto(t, &b, to, target)
}

func unpackInto(t testing.TB, r io.Reader, to string, target unpack.Target) (unpack.Totals, error) {
	t.Helper()
	dir, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer dir.Close()
	target.Dir = hasty{dir}
	return unpack.Unpack(t.Context(), r, target)
}

// An origin finds entries that cannot be sent before it sends anything, names each once, and sends
// the rest.
func TestSkipped(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	plant(t, from, map[string]string{"a": "a", "bin/python": "-> /usr/bin/python3", "bin/x": "x", "up": "-> ../z", "in": "-> a", "z": "z"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(from, "fifo"), 0o644))
	l, err := net.Listen("unix", filepath.Join(from, "socket"))
	require.NoError(t, err)
	defer l.Close()
	want := skips{
		"fifo": "a named pipe cannot be sent", "socket": "a socket cannot be sent",
		"python": "a link that leads, or may lead, out of what is sent, to /usr/bin/python3",
		"up":     "a link that leads, or may lead, out of what is sent, to ../z",
	}
	if os.Geteuid() != 0 {
		plant(t, from, map[string]string{"secret": "x", "closed/x": "x"})
		require.NoError(t, os.Chmod(filepath.Join(from, "secret"), 0))
		require.NoError(t, os.Chmod(filepath.Join(from, "closed"), 0))
		defer free(from)
		want["secret"], want["closed"] = "permission denied", "permission denied"
	}
	got := skips{}
	o := origin(t, pack.Options{Skip: got.skip}, from+"/")
	totals, err := o.Measure(t.Context())
	require.NoError(t, err)
	require.Equal(t, pack.Totals{Entries: 5, Bytes: 3}, totals)
	check := func() {
		require.Len(t, got, len(want))
		for name, why := range want {
			require.Equal(t, 1, strings.Count(got[name], "\n"), got[name])
			require.Contains(t, got[name], why)
		}
		require.Equal(t, len(want), o.Skipped())
	}
	check()
	for range 2 {
		_, err = across(t, o, to, unpack.Target{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "a", "bin/": "", "bin/x": "x", "in": "-> a", "z": "z"}, planted(t, to))
		check()
	}
	_, err = pack.At(from + "/").Measure(t.Context())
	require.ErrorIs(t, err, pack.ErrLeadsOut, "without a Skip it is an error, and found early")
}

// hooked calls a function when some text is written.
type hooked struct {
	io.Writer
	text string
	do   func()
}

func (h *hooked) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(h.text)) {
		h.do()
	}
	return h.Writer.Write(b)
}

// A file that vanishes is skipped.
func TestVanished(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	plant(t, from, map[string]string{"a": "first", "b": "gone", "c/": "", "d/e": "late", "z": "last"})
	got := skips{}
	o := origin(t, pack.Options{Skip: got.skip}, from+"/")
	_, err := o.Measure(t.Context())
	require.NoError(t, err)
	var b bytes.Buffer
	w := &hooked{&b, "first", func() {
		require.NoError(t, os.Remove(filepath.Join(from, "b")))
		require.NoError(t, os.Remove(filepath.Join(from, "c")))
		require.NoError(t, os.Remove(filepath.Join(from, "d", "e"))) // before its directory is listed
	}}
	require.NoError(t, o.Tree(t.Context(), w, nil))
	require.Contains(t, got["b"], "it has vanished: ")
	require.Contains(t, got["c"], "it has vanished: ")
	require.Contains(t, got[filepath.Base(from)], "it has vanished: 1 entries that were there")
	require.EqualValues(t, 1, o.Gone())
	_, err = unpackInto(t, &b, to, unpack.Target{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "first", "d/": "", "z": "last"}, planted(t, to))
}

// A file that changes while it is read is read once more. If it changes again, it is skipped, and
// only the other files are written.
func TestChangesWhileRead(t *testing.T) {
	for _, changes := range []int{0, 1, 2} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprint(changes, keep), func(t *testing.T) {
				from, to := t.TempDir(), t.TempDir()
				plant(t, from, map[string]string{"a": "a", "b": "text 0", "c": "c"})
				plant(t, to, map[string]string{"b": "before"})
				got := skips{}
				o := origin(t, pack.Options{Skip: got.skip, HardLinks: true}, from+"/")
				require.NoError(t, os.Link(filepath.Join(from, "b"), filepath.Join(from, "d")))
				done := 0
				var b bytes.Buffer
				w := &hooked{&b, "text ", func() {
					if done < changes {
						done++
						require.NoError(t, os.WriteFile(filepath.Join(from, "b"), fmt.Appendf(nil, "text %d", done), 0o644))
					}
				}}
				require.NoError(t, o.Tree(t.Context(), w, nil))
				require.Equal(t, changes, o.Voided())
				totals, err := unpackInto(t, bytes.NewReader(b.Bytes()), to, unpack.Target{Keep: keep})
				require.NoError(t, err)
				want := map[string]string{"a": "a", "b": fmt.Sprint("text ", changes), "c": "c", "d": fmt.Sprint("text ", changes)}
				if changes == 2 {
					want["b"] = "before"
					require.Contains(t, got["b"], "it was written to while it was read")
				} else {
					require.Empty(t, got)
				}
				require.Equal(t, want, planted(t, to), "no temporary file is left")
				digest, sent, ok := o.Digest()
				require.True(t, ok)
				require.Equal(t, unpack.Totals{Entries: sent.Entries, Bytes: sent.Bytes, Digest: digest}, totals)
				_, err = across(t, o, t.TempDir(), unpack.Target{})
				require.NoError(t, err, "a later pass sends the same")
			})
		}
	}
}

// Links, or their targets, are sent. A receiver refuses links that lead out unless it has asked for
// them.
func TestLinks(t *testing.T) {
	out := t.TempDir()
	plant(t, out, map[string]string{"f": "outside", "d/g": "deep"})
	from := filepath.Join(t.TempDir(), "from")
	plant(t, from, map[string]string{"a": "-> " + out + "/f", "d": "-> " + out + "/d", "in": "-> sub/x", "nowhere": "-> nothing", "sub/x": "x", "sub/up": "-> .."})

	to := t.TempDir()
	o := origin(t, pack.Options{Links: pack.LinksFree}, from+"/")
	_, err := across(t, o, to, unpack.Target{})
	require.ErrorIs(t, err, unpack.ErrUnasked)
	_, err = across(t, o, to, unpack.Target{Accept: everything})
	require.NoError(t, err)
	require.Equal(t, planted(t, from), planted(t, to))
	// No file is written through a link that was sent.
	other := t.TempDir()
	plant(t, other, map[string]string{"d/g": "new"})
	_, err = across(t, origin(t, pack.Options{}, other+"/"), to, unpack.Target{Accept: everything})
	require.ErrorContains(t, err, "write d: it exists and is not a directory")
	require.Equal(t, "deep", planted(t, out)["d/g"])

	to = t.TempDir()
	got := skips{}
	_, err = across(t, origin(t, pack.Options{Links: pack.LinksFollowed, Skip: got.skip}, from+"/"), to, unpack.Target{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "outside", "d/": "", "d/g": "deep", "in": "x", "sub/": "", "sub/x": "x", "sub/up/": "",
		"sub/up/a": "outside", "sub/up/d/": "", "sub/up/d/g": "deep", "sub/up/in": "x"}, planted(t, to))
	require.Contains(t, got["nowhere"], "a link that leads to nothing: no such file")
	require.Contains(t, got["sub"], "a link that leads to a directory above it")
}

// Patterns choose what is sent.
func TestFilter(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), t.TempDir()
	plant(t, from, map[string]string{"a.o": "", "a.c": "", ".git/x": "", "build/x": "", "src/build": "", "src/b.o": ""})
	require.NoError(t, syscall.Mkfifo(filepath.Join(from, "pipe.o"), 0o644))
	f, err := filter.New([]filter.Rule{{Pattern: "/from/build"}, {Include: true, Pattern: "b.o"}, {Pattern: "*.o"}, {Pattern: ".git/"}})
	require.NoError(t, err)
	o := origin(t, pack.Options{Filter: f}, from)
	totals, err := o.Measure(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, totals.Entries)
	_, err = across(t, o, to, unpack.Target{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"from/": "", "from/a.c": "", "from/src/": "", "from/src/b.o": "", "from/src/build": ""}, planted(t, to))
}

// Several sources are sent together, in the order of their names.
func TestSources(t *testing.T) {
	top, to := t.TempDir(), t.TempDir()
	plant(t, top, map[string]string{"z": "file z", "one/a": "1a", "one/m": "1m", "two/b": "2b", "two/y/q": "2q", "dir/x": "x"})
	at := func(name string) string { return top + "/" + name }
	o := origin(t, pack.Options{}, at("z"), at("two/"), at("dir"), at("one/"))
	totals, err := o.Measure(t.Context())
	require.NoError(t, err)
	got, err := across(t, o, to, unpack.Target{})
	require.NoError(t, err)
	require.Equal(t, totals, pack.Totals{Entries: got.Entries, Bytes: got.Bytes})
	require.Equal(t, map[string]string{"a": "1a", "b": "2b", "dir/": "", "dir/x": "x", "m": "1m", "y/": "", "y/q": "2q", "z": "file z"}, planted(t, to))

	_, err = pack.New([]string{at("one/a"), at("two/../one/a")}, pack.Options{})
	require.ErrorContains(t, err, "would both be sent as a")
	plant(t, top, map[string]string{"two/a": "2a"})
	_, err = origin(t, pack.Options{}, at("two/"), at("one/")).Measure(t.Context())
	require.ErrorContains(t, err, "another source also has the name a")
	_, err = origin(t, pack.Options{Skip: skips{}.skip}, at("z"), at("none")).Measure(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = pack.New(nil, pack.Options{})
	require.Error(t, err)
}

// inode returns the inode of the file at a path, and its number of names.
func inode(t *testing.T, path string) (ino, names uint64) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	st := info.Sys().(*syscall.Stat_t)
	return st.Ino, uint64(st.Nlink)
}

// A file with several names is sent once, and has these names at the receiver, whatever existed
// there before.
func TestHardLinks(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	plant(t, from, map[string]string{"a": "shared", "d/": "", "e/": "", "z": "alone"})
	for _, name := range []string{"b", "d/c", "e/c"} {
		require.NoError(t, os.Link(filepath.Join(from, "a"), filepath.Join(from, name)))
	}
	require.NoError(t, os.Link(filepath.Join(from, "z"), filepath.Join(t.TempDir(), "outside")))
	plant(t, to, map[string]string{"b": "old", "d/c": "-> nowhere"})
	o := origin(t, pack.Options{HardLinks: true}, from+"/")
	totals, err := o.Measure(t.Context())
	require.NoError(t, err)
	require.Equal(t, pack.Totals{Entries: 7, Bytes: 11}, totals)
	for range 2 {
		var b bytes.Buffer
		require.NoError(t, o.Tree(t.Context(), &b, nil))
		require.Equal(t, 1, bytes.Count(b.Bytes(), []byte("shared")))
		got, err := unpackInto(t, &b, to, unpack.Target{})
		require.NoError(t, err)
		require.Equal(t, totals, pack.Totals{Entries: got.Entries, Bytes: got.Bytes})
		require.Equal(t, planted(t, from), planted(t, to))
		first, n := inode(t, filepath.Join(to, "a"))
		require.EqualValues(t, 4, n)
		for _, name := range []string{"b", "d/c", "e/c"} {
			other, _ := inode(t, filepath.Join(to, name))
			require.Equal(t, first, other, name)
		}
	}
	require.NoError(t, os.Remove(filepath.Join(to, "b")))
	require.NoError(t, os.Mkdir(filepath.Join(to, "b"), 0o755))
	_, err = across(t, o, to, unpack.Target{})
	require.ErrorContains(t, err, "write b: a directory of this name exists")
}

// setuid, setgid and sticky are set if sender and receiver ask for them. The sender's modes change
// permissions.
func TestModes(t *testing.T) {
	from := t.TempDir()
	plant(t, from, map[string]string{"f": "x", "d/": ""})
	require.NoError(t, os.Chmod(filepath.Join(from, "f"), 0o750|fs.ModeSetuid|fs.ModeSetgid))
	require.NoError(t, os.Chmod(filepath.Join(from, "d"), 0o755|fs.ModeSticky))
	for _, c := range []struct {
		modes   string
		special bool
		f, d    fs.FileMode
	}{
		{"", false, 0o750, 0o755},
		{"", true, 0o750 | fs.ModeSetuid | fs.ModeSetgid, 0o755 | fs.ModeSticky},
		{"D700,F644", true, 0o644, 0o700},
		{"go-w,o=", false, 0o750, 0o750},
		{"a+w", false, 0o772, 0o777},
		{"u=rw,go=u", false, 0o000, 0o000}, // refused
		{"F-x,+r", false, 0o644, 0o755},
		{"u-s", true, 0o750 | fs.ModeSetgid, 0o755 | fs.ModeSticky},
		{"F0644,u+X,Dg+s", false, 0o644, 0o755 | fs.ModeSetgid},
		{"=rX", false, 0o555, 0o555},
		{"F2755", false, 0o755 | fs.ModeSetgid, 0o755},
	} {
		o := pack.Options{Special: c.special}
		if c.modes != "" {
			var err error
			o.Modes, err = pack.ParseModes(c.modes)
			if c.f == 0 {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err, c.modes)
		}
		to := t.TempDir()
		_, err := across(t, origin(t, o, from+"/"), to, unpack.Target{Accept: everything})
		require.NoError(t, err)
		got := look(t, to)
		require.Equal(t, c.f, got["f"].mode, c.modes)
		require.Equal(t, c.d|fs.ModeDir, got["d"].mode, c.modes)
		if (c.f|c.d)&record.Special != 0 {
			require.True(t, c.special || o.Modes.Special())
			_, err = across(t, origin(t, o, from+"/"), t.TempDir(), unpack.Target{})
			require.ErrorIs(t, err, unpack.ErrUnasked)
		}
	}
	for _, text := range []string{"", "u", "8", "77777", "u+q", "D", "rwx", "u+r,,"} {
		_, err := pack.ParseModes(text)
		require.Error(t, err, text)
	}
}

// Owners come by name and by number.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	from, to := t.TempDir(), t.TempDir()
	plant(t, from, map[string]string{"f": "x", "d/g": "y", "l": "-> f", "s": "setuid"})
	for i, name := range []string{"f", "d", "d/g", "l", "s"} {
		require.NoError(t, os.Lchown(filepath.Join(from, name), 70001+i, 2)) // 2 has a name almost everywhere
	}
	require.NoError(t, os.Chmod(filepath.Join(from, "s"), 0o755|fs.ModeSetuid))
	for _, numeric := range []bool{false, true} {
		o := origin(t, pack.Options{Owner: true, NumericIDs: numeric, Special: true}, from+"/")
		_, err := across(t, o, t.TempDir(), unpack.Target{})
		require.ErrorIs(t, err, unpack.ErrUnasked)
		_, err = across(t, o, to, unpack.Target{Accept: everything})
		require.NoError(t, err)
		for i, name := range []string{"f", "d", "d/g", "l", "s"} {
			info, err := os.Lstat(filepath.Join(to, name))
			require.NoError(t, err)
			st := info.Sys().(*syscall.Stat_t)
			require.Equal(t, [2]uint32{uint32(70001 + i), 2}, [2]uint32{st.Uid, st.Gid}, name)
		}
		require.Equal(t, 0o755|fs.ModeSetuid, look(t, to)["s"].mode)
	}
}

// TestDelete checks that a receiver deletes entries that the sender lacks once everything has come.
// It keeps excluded and skipped entries, and follows no link.
func TestDelete(t *testing.T) {
	out := t.TempDir()
	plant(t, out, map[string]string{"f": "outside"})
	from := t.TempDir()
	plant(t, from, map[string]string{"a": "a", "d/x": "x", "d/y": "y", "dd/": "", "m.log": "new"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(from, "pipe"), 0o644))
	require.NoError(t, os.Chmod(filepath.Join(from, "d"), 0o555))
	require.NoError(t, os.Chtimes(filepath.Join(from, "d"), epoch, epoch))
	defer free(from)
	f, err := filter.New([]filter.Rule{{Pattern: "*.log"}})
	require.NoError(t, err)
	o := origin(t, pack.Options{Filter: f, Delete: true, Skip: skips{}.skip}, from+"/")
	before := map[string]string{
		"a": "old", "aa": "1", "d/b": "2", "d/z/q/r": "3", "d/keep.log": "", "e/": "", "l": "-> " + out, "e/s.log": "",
		"pipe": "a file of this name", "zz": "4", "y/1": "", "dd/sub/l": "-> " + out, unpack.TempPrefix + "x": "of another",
	}
	after := map[string]string{
		"a": "a", "d/": "", "d/x": "x", "d/y": "y", "d/keep.log": "", "dd/": "", "e/": "", "e/s.log": "", "pipe": "a file of this name",
		unpack.TempPrefix + "x": "of another",
	}
	const doomed = 11 // aa, d/b, d/z, d/z/q, d/z/q/r, dd/sub, dd/sub/l, l, y, y/1, zz
	for _, most := range []int{0, 1, doomed - 1, doomed, 1000} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			to := t.TempDir()
			defer free(to)
			plant(t, to, before)
			totals, err := across(t, o, to, unpack.Target{Delete: most})
			switch {
			case most == 0:
				require.ErrorIs(t, err, unpack.ErrUnasked)
				return
			case most < doomed:
				require.ErrorIs(t, err, unpack.ErrTooMany)
				require.Contains(t, planted(t, to), "d/z/q/r")
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, doomed, totals.Deleted)
			require.Equal(t, after, planted(t, to))
			require.Equal(t, 0o555|fs.ModeDir, look(t, to)["d"].mode)
			require.Equal(t, epoch.UTC(), look(t, to)["d"].when.UTC())
			require.Equal(t, map[string]string{"f": "outside"}, planted(t, out))
		})
	}

	// Entries are deleted only in a directory that is sent under its name, and not after an error.
	sub := filepath.Join(from, "d")
	to := t.TempDir()
	defer free(to)
	plant(t, to, map[string]string{"d/old": "", "other": ""})
	o = origin(t, pack.Options{Delete: true}, sub)
	var b bytes.Buffer
	require.NoError(t, o.Tree(t.Context(), &b, nil))
	_, err = unpackInto(t, bytes.NewReader(b.Bytes()[:b.Len()-1]), to, unpack.Target{Delete: 10})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Contains(t, planted(t, to), "d/old")
	_, err = unpackInto(t, &b, to, unpack.Target{Delete: 10})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"d/": "", "d/x": "x", "d/y": "y", "other": ""}, planted(t, to))
}

// A quick cast neither reads nor sends files of the same size and time, and sends all others. At
// the end, both sides have the digest of the outline.
func TestQuick(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	long := strings.Repeat("0123456789abcdef", 1<<17) // two blocks
	plant(t, from, map[string]string{"changed": "new " + long, "d/same": "what the sender has", "empty": "", "new": "new", "partly": long + "end", "size": "longer"})
	plant(t, to, map[string]string{"changed": "old " + long, "d/same": "not read by anybody", "partly": long + "END", "size": "short"})
	require.NoError(t, os.Chmod(filepath.Join(from, "d", "same"), 0o600))
	for _, name := range []string{"changed", "partly"} {
		require.NoError(t, os.Chtimes(filepath.Join(to, name), epoch, epoch.Add(-time.Hour)))
	}
	o := origin(t, pack.Options{Quick: true}, from+"/")
	dir, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer dir.Close()
	var b bytes.Buffer
	require.NoError(t, o.Outline(t.Context(), &b))
	require.Less(t, b.Len(), 1000)
	outline, err := unpack.Survey(t.Context(), &b, dir)
	require.NoError(t, err)
	require.EqualValues(t, 9, outline.Lacked().Len(), "3 of changed and partly, 1 of same, new and size; none of empty")
	require.EqualValues(t, 8, outline.Lacked().Lacked(9))

	require.NoError(t, o.Survey(t.Context(), &b, outline.Lacked()))
	held, err := unpack.Survey(t.Context(), &b, dir)
	require.NoError(t, err)
	require.EqualValues(t, 4, held.Lacked().Lacked(9), "one block of each but same")

	require.NoError(t, o.Tree(t.Context(), &b, held.Lacked()))
	require.Less(t, b.Len(), 3<<20)
	require.NotContains(t, b.String(), "what the sender has")
	ino, _ := inode(t, filepath.Join(to, "d", "same"))
	got, err := unpack.Unpack(t.Context(), &b, unpack.Target{Dir: dir, Keep: true, Held: held})
	require.NoError(t, err)
	digest, totals, ok := o.Digest()
	require.True(t, ok)
	require.Equal(t, unpack.Totals{Entries: totals.Entries, Bytes: totals.Bytes, Digest: digest}, got)
	want := look(t, from)
	same := want["d/same"]
	same.text = "not read by anybody"
	want["d/same"] = same
	require.Equal(t, want, look(t, to))
	now, _ := inode(t, filepath.Join(to, "d", "same"))
	require.Equal(t, ino, now)

	// A host without any file gets everything, with the same digest.
	fresh := t.TempDir()
	got, err = across(t, o, fresh, unpack.Target{})
	require.NoError(t, err)
	require.Equal(t, digest, got.Digest)
	require.Equal(t, planted(t, from), planted(t, fresh))

	// A change at the receiver after the comparison is an error at the receiver.
	require.NoError(t, o.Tree(t.Context(), &b, held.Lacked()))
	require.NoError(t, os.Remove(filepath.Join(to, "d", "same")))
	_, err = unpack.Unpack(t.Context(), &b, unpack.Target{Dir: dir, Keep: true, Held: held})
	require.ErrorContains(t, err, "write d/same: the sender's data have changed since the comparison")
}

// A directory with the name of a file is an error before the bytes of the file come.
func TestDirectoryInTheWay(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	plant(t, from, map[string]string{"f": strings.Repeat("x", 1<<20)})
	plant(t, to, map[string]string{"f/": ""})
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	head := bytes.IndexByte(b.Bytes(), 'x')
	_, err := unpackInto(t, io.MultiReader(bytes.NewReader(b.Bytes()[:head]), never{}), to, unpack.Target{})
	require.EqualError(t, err, "write f: a directory of this name exists")
}

// never is a reader that must not be read.
type never struct{}

func (never) Read([]byte) (int, error) { return 0, errors.New("read too far") }

func TestHome(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for path, want := range map[string]string{"~": "/home/me", "~/x/y": "/home/me/x/y", "x": "x", "./~": "./~", "/~": "/~", "": ""} {
		got, err := unpack.Home(path)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := unpack.Home("~no-such-user-here/x")
	require.ErrorContains(t, err, "~no-such-user-here/x: ")
}

// FuzzAccepting checks that a receiver that accepts everything touches nothing outside of its
// directory.
func FuzzAccepting(f *testing.F) {
	from := f.TempDir()
	plant(f, from, map[string]string{"d/l": "-> /etc", "f": "text", "g": ""})
	require.NoError(f, os.Link(filepath.Join(from, "f"), filepath.Join(from, "d", "h")))
	rules, err := filter.New([]filter.Rule{{Pattern: "x*"}})
	require.NoError(f, err)
	o := pack.Options{Filter: rules, Links: pack.LinksFree, HardLinks: true, Special: true, Delete: true, Quick: true, Owner: true}
	var b bytes.Buffer
	require.NoError(f, origin(f, o, from+"/").Tree(context.Background(), &b, nil))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		if !small(input) {
			return
		}
		top := t.TempDir()
		to := filepath.Join(top, "to")
		plant(t, top, map[string]string{"to/a": "1", "to/d/x": "2", "to/l": "-> ../out", "out": "safe"})
		accept := everything
		accept.Owner = os.Geteuid() != 0
		_, err := unpackInto(t, bytes.NewReader(input), to, unpack.Target{Accept: accept, Delete: 5})
		free(to)
		all := planted(t, top)
		require.Equal(t, "safe", all["out"])
		for path := range all {
			require.True(t, path == "out" || strings.HasPrefix(path, "to/"), path)
			require.NotContains(t, path, unpack.TempPrefix, "%v", err)
		}
	})
}

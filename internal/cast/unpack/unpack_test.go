package unpack_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/record"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// seen is the state of an entry.
type seen struct {
	mode   fs.FileMode
	when   time.Time
	text   string
	target string
}

// look returns all entries below a directory, by path.
func look(t require.TestingT, dir string) map[string]seen {
	all := map[string]seen{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := seen{mode: info.Mode(), when: info.ModTime()}
		switch {
		case d.Type() == fs.ModeSymlink:
			s.when = time.Time{} // not kept
			s.target, err = os.Readlink(path)
		case !d.IsDir():
			var b []byte
			b, err = os.ReadFile(path)
			s.text = string(b)
		}
		all[strings.TrimPrefix(path, dir+"/")] = s
		return err
	}))
	return all
}

var epoch = time.Unix(1_700_000_000, 123_456_789)

// drawTree fills a directory.
func drawTree(t *rapid.T, dir string, depth int) {
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z .\\\n]{1,4}[a-z]`), 0, 4, rapid.ID).Draw(t, "names") {
		path := filepath.Join(dir, name)
		switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
		case kind == 0 && depth < 3:
			require.NoError(t, os.Mkdir(path, 0o755))
			drawTree(t, path, depth+1)
			require.NoError(t, os.Chmod(path, rapid.SampledFrom([]fs.FileMode{0o700, 0o755, 0o555}).Draw(t, "mode")))
		case kind == 1:
			require.NoError(t, os.Symlink(strings.Repeat("../", depth)+"nowhere", path))
			continue
		case kind == 2:
			drawSparse(t, path)
		default:
			n := rapid.SampledFrom([]int{0, 1, 5000, record.MaxSpan, record.MaxSpan + 1, 3 << 20}).Draw(t, "length")
			require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("0123456789abc"), n/13+1)[:n], 0o600))
			require.NoError(t, os.Chmod(path, fs.FileMode(rapid.SampledFrom([]int{0o400, 0o644, 0o755}).Draw(t, "mode"))))
		}
		when := epoch.Add(time.Duration(rapid.IntRange(-1e9, 1e9).Draw(t, "time")))
		require.NoError(t, os.Chtimes(path, when, when))
	}
}

// drawSparse makes a file with holes, also at its ends.
func drawSparse(t *rapid.T, path string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	size := rapid.Int64Range(1, 8<<20).Draw(t, "size")
	require.NoError(t, f.Truncate(size))
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		_, err := f.WriteAt([]byte("data"), rapid.Int64Range(0, size).Draw(t, "at"))
		require.NoError(t, err)
	}
}

// free makes all entries of a tree removable.
func free(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d.IsDir() {
			_ = os.Chmod(path, 0o700) // failures show when the test ends
		}
		return nil
	})
}

func into(t require.TestingT, r io.Reader, dir string) (unpack.Totals, error) {
	d, err := unpack.OpenDir(dir)
	require.NoError(t, err)
	defer d.Close()
	return unpack.Unpack(context.Background(), r, unpack.Target{Dir: hasty{d}})
}

// hasty is a directory that does not wait for the disk.
type hasty struct{ unpack.Dir }

func (h hasty) Enter(name string) (unpack.Dir, error) {
	d, err := h.Dir.Enter(name)
	return hasty{d}, err
}

func (h hasty) Create(name string) (unpack.File, error) {
	f, err := h.Dir.Create(name)
	return hastyFile{f}, err
}

func (h hasty) Resume(name string) (unpack.File, bool, error) {
	f, fresh, err := h.Dir.Resume(name)
	return hastyFile{f}, fresh, err
}

func (hasty) Sync() error { return nil }

type hastyFile struct{ unpack.File }

func (hastyFile) Sync() error { return nil }

// A packed tree is unpacked twice; the second time, everything exists already. Holes stay holes.
func TestTrees(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		from, err := os.MkdirTemp(top, "from")
		require.NoError(t, err)
		to, err := os.MkdirTemp(top, "to")
		require.NoError(t, err)
		defer os.RemoveAll(from)
		defer os.RemoveAll(to)
		defer free(from)
		defer free(to)
		drawTree(t, from, 0)
		for round := range 2 {
			var b bytes.Buffer
			require.NoError(t, pack.At(from+"/").Tree(context.Background(), &b, nil))
			sent, err := pack.Measure(context.Background(), from+"/")
			require.NoError(t, err)
			got, err := into(t, &b, to)
			if os.Geteuid() != 0 && errors.Is(err, fs.ErrPermission) && round > 0 {
				return // now there is a directory to which this user may not write
			}
			require.NoError(t, err)
			require.Equal(t, look(t, from), look(t, to))
			require.Equal(t, sent, pack.Totals{Entries: got.Entries, Bytes: got.Bytes})
		}
	})
}

func TestHolesStay(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(from, "sparse"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("middle"), 1<<25)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<26))
	info, err := f.Stat()
	require.NoError(t, err)
	if info.Sys().(*syscall.Stat_t).Blocks*512 > 1<<20 {
		t.Log("this file system has no holes")
		return
	}
	var b bytes.Buffer
	require.NoError(t, pack.At(f.Name()).Tree(t.Context(), &b, nil))
	require.Less(t, b.Len(), 1<<20)
	_, err = into(t, &b, to)
	require.NoError(t, err)
	info, err = os.Stat(filepath.Join(to, "sparse"))
	require.NoError(t, err)
	require.EqualValues(t, 1<<26, info.Size())
	require.Less(t, info.Sys().(*syscall.Stat_t).Blocks*512, int64(1<<20))
}

// An entry has the name of its argument, unless the argument ends with a slash.
func TestNameOfArgument(t *testing.T) {
	from := filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.MkdirAll(filepath.Join(from, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "file"), []byte("x"), 0o644))
	for arg, want := range map[string][]string{from: {"dir", "dir/file", "dir/sub"}, from + "/": {"file", "sub"}, from + "/.": {"file", "sub"}, from + "/file": {"file"}} {
		to := t.TempDir()
		var b bytes.Buffer
		require.NoError(t, pack.At(arg).Tree(t.Context(), &b, nil))
		_, err := into(t, &b, to)
		require.NoError(t, err)
		var got []string
		for path := range look(t, to) {
			got = append(got, path)
		}
		require.ElementsMatch(t, want, got, arg)
	}
}

// The error names an entry that cannot be sent.
func TestEntriesThatCannotBeSent(t *testing.T) {
	for want, put := range map[string]func(path string) error{
		"a named pipe cannot be sent":                         func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a link that leads, or may lead, out of what is sent": func(path string) error { return os.Symlink("/etc", path) },
	} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		require.NoError(t, put(filepath.Join(dir, "sub", "entry")))
		err := pack.At(dir).Tree(t.Context(), io.Discard, nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, filepath.Join(dir, "sub", "entry"))
	}
}

// Unpack never follows an existing link.
func TestLinkInTheWay(t *testing.T) {
	outside, to, from := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(from, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "d", "f"), []byte("x"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a"), []byte("new"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a"), []byte("old"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(to, "d")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "a"), filepath.Join(to, "a")))
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	_, err := into(t, &b, to)
	require.ErrorContains(t, err, "write d: it exists and is not a directory")
	require.Equal(t, map[string]string{"a": "old"}, texts(t, outside))
	require.Equal(t, "new", look(t, to)["a"].text, "the link was replaced by the file")
}

func texts(t require.TestingT, dir string) map[string]string {
	out := map[string]string{}
	for path, s := range look(t, dir) {
		out[path] = s.text
	}
	return out
}

// Changed bytes are an error, and no file appears.
func TestWrongSum(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "f"), []byte("honest"), 0o644))
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	bad := bytes.Replace(b.Bytes(), []byte("honest"), []byte("hornet"), 1)
	_, err := into(t, bytes.NewReader(bad), to)
	require.ErrorIs(t, err, unpack.ErrSum)
	require.ErrorContains(t, err, "write f: ")
	require.Empty(t, look(t, to))
}

// interrupting is a reader that ends the context after the first bytes.
type interrupting struct {
	r    io.Reader
	stop context.CancelCauseFunc
	left int
}

var errInterrupt = errors.New("Ctrl-C")

func (i *interrupting) Read(b []byte) (int, error) {
	n, err := i.r.Read(b[:min(len(b), i.left)])
	if i.left -= n; i.left == 0 {
		i.stop(errInterrupt)
		i.left = 1 << 30
	}
	return n, err
}

// An interrupt in the middle of a file leaves no part of it.
func TestInterrupted(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "f"), make([]byte, 5*record.MaxSpan), 0o644))
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	ctx, stop := context.WithCancelCause(t.Context())
	d, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer d.Close()
	_, err = unpack.Unpack(ctx, &interrupting{&b, stop, 2 * record.MaxSpan}, unpack.Target{Dir: d})
	require.ErrorIs(t, err, errInterrupt)
	require.Empty(t, look(t, to))
}

// Only a stream is written to Target.Stream.
func TestStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "text")
		var b, out bytes.Buffer
		digest, err := pack.Stream(context.Background(), &b, bytes.NewReader(text))
		require.NoError(t, err)
		totals, err := unpack.Unpack(context.Background(), bytes.NewReader(b.Bytes()), unpack.Target{Stream: &out})
		require.NoError(t, err)
		require.Equal(t, string(text), out.String())
		require.Equal(t, unpack.Totals{Entries: 1, Bytes: int64(len(text)), Digest: digest}, totals)
		_, err = unpack.Unpack(context.Background(), bytes.NewReader(b.Bytes()), unpack.Target{})
		require.ErrorIs(t, err, unpack.ErrStream)
	})
	var b bytes.Buffer
	require.NoError(t, pack.At(t.TempDir()).Tree(t.Context(), &b, nil))
	_, err := unpack.Unpack(t.Context(), &b, unpack.Target{Stream: io.Discard})
	require.ErrorIs(t, err, unpack.ErrFiles)
}

// small reports whether the claimed sizes of files are small. A sender may claim any size, and the
// disk would refuse.
func small(input []byte) bool {
	for r := record.NewReader(bytes.NewReader(input)); ; {
		rec, err := r.Next()
		if err != nil {
			return true
		}
		if rec.Size > 1<<20 {
			return false
		}
	}
}

// FuzzUnpack checks that any input touches nothing outside of the directory, and leaves no
// incomplete file.
func FuzzUnpack(f *testing.F) {
	from := f.TempDir()
	require.NoError(f, os.Mkdir(filepath.Join(from, "d"), 0o755))
	require.NoError(f, os.Symlink("../f", filepath.Join(from, "d", "l")))
	require.NoError(f, os.WriteFile(filepath.Join(from, "f"), []byte("text"), 0o644))
	var b bytes.Buffer
	require.NoError(f, pack.At(from).Tree(context.Background(), &b, nil))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		if !small(input) {
			return
		}
		top := t.TempDir()
		to := filepath.Join(top, "to")
		require.NoError(t, os.Mkdir(to, 0o700))
		before, err := os.Stat(top)
		require.NoError(t, err)
		_, err = into(t, bytes.NewReader(input), to)
		free(to)
		names, failed := os.ReadDir(top)
		require.NoError(t, failed)
		require.Len(t, names, 1)
		after, failed := os.Stat(top)
		require.NoError(t, failed)
		require.Equal(t, before.ModTime(), after.ModTime())
		for path := range look(t, to) {
			require.NotContains(t, path, unpack.TempPrefix, "%v", err)
		}
	})
}

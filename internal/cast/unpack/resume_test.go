package unpack_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// compare returns the data of from that exist in to.
func compare(t require.TestingT, from, to string) *unpack.Held {
	var b bytes.Buffer
	require.NoError(t, pack.At(from).Survey(context.Background(), &b, nil))
	dir, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer dir.Close()
	held, err := unpack.Survey(context.Background(), &b, dir)
	require.NoError(t, err)
	return held
}

// resumed casts the lacked blocks. The cast breaks off after come bytes, unless come is negative.
// It returns the number of bytes sent.
func resumed(t require.TestingT, from, to string, lacked *block.Set, held *unpack.Held, come int) (int, error) {
	var b bytes.Buffer
	require.NoError(t, pack.At(from).Tree(context.Background(), &b, lacked))
	dir, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer dir.Close()
	sent := b.Len()
	if come >= 0 {
		b.Truncate(min(come, b.Len()-1))
	}
	_, err = unpack.Unpack(context.Background(), &b, unpack.Target{Dir: hasty{dir}, Keep: true, Held: held})
	return sent, err
}

// drawFile writes a file of some blocks. Each block is a hole, or one of a few contents.
func drawFile(t *rapid.T, path string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	kinds := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 3).Draw(t, "blocks")
	for i, kind := range kinds {
		if kind > 0 {
			_, err := f.WriteAt(bytes.Repeat([]byte{byte(kind)}, block.Len), int64(i)*block.Len)
			require.NoError(t, err)
		}
	}
	size := int64(len(kinds)) * block.Len
	if size > 0 {
		size -= rapid.Int64Range(0, 2).Draw(t, "less") * 5000
	}
	require.NoError(t, f.Truncate(size))
	require.NoError(t, f.Chmod(rapid.SampledFrom([]fs.FileMode{0o400, 0o644}).Draw(t, "mode")))
	require.NoError(t, os.Chtimes(path, epoch, epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "time")))))
}

// A host that has an earlier version, or a part of a cast that broke off, gets all files. Blocks
// that it has are not sent again.
func TestResume(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		from, err := os.MkdirTemp(top, "from")
		require.NoError(t, err)
		to, err := os.MkdirTemp(top, "to")
		require.NoError(t, err)
		defer os.RemoveAll(from)
		defer os.RemoveAll(to)
		for _, dir := range []string{from, to} {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
			for _, name := range []string{"a", "sub/b"} {
				if dir == from || rapid.Bool().Draw(t, "there") {
					drawFile(t, filepath.Join(dir, name))
				}
			}
		}
		require.NoError(t, os.Chtimes(filepath.Join(from, "sub"), epoch, epoch))
		held := compare(t, from+"/", to)
		for range rapid.IntRange(0, 2).Draw(t, "attempts") {
			_, err := resumed(t, from+"/", to, held.Lacked(), held, rapid.IntRange(0, 4<<20).Draw(t, "come"))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			before := held.Lacked()
			held = compare(t, from+"/", to)
			require.LessOrEqual(t, held.Lacked().Lacked(before.Len()), before.Lacked(before.Len()), "nothing gets lost")
		}
		lacked := held.Lacked()
		if rapid.Bool().Draw(t, "others lack more") {
			more := new(block.Set)
			for i := range lacked.Len() {
				more.Append(lacked.Lacks(i) || rapid.Bool().Draw(t, "more"))
			}
			lacked = more
		}
		sent, err := resumed(t, from+"/", to, lacked, held, -1)
		require.NoError(t, err)
		require.LessOrEqual(t, sent, int(lacked.Lacked(lacked.Len()))*(block.Len+100)+1000)
		require.Equal(t, look(t, from), look(t, to))
		held = compare(t, from+"/", to)
		require.Zero(t, held.Lacked().Lacked(lacked.Len()))
		sent, err = resumed(t, from+"/", to, held.Lacked(), held, -1)
		require.NoError(t, err)
		require.Less(t, sent, 1000, "of a tree that is there almost nothing is sent")
		require.Equal(t, look(t, from), look(t, to))
	})
}

// Unchanged files are not written again.
func TestUnchangedStays(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	text := bytes.Repeat([]byte("text"), block.Len)
	require.NoError(t, os.WriteFile(filepath.Join(from, "f"), text, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(to, "f"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(to, unpack.PartialName("f")), []byte("stale"), 0o600))
	before, err := os.Stat(filepath.Join(to, "f"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(to, unpack.PartialName("f"))))
	held := compare(t, from+"/", to)
	_, err = resumed(t, from+"/", to, held.Lacked(), held, -1)
	require.NoError(t, err)
	after, err := os.Stat(filepath.Join(to, "f"))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	require.Equal(t, fs.FileMode(0o644), after.Mode())
}

// If files at the sender or the receiver change between the survey and the cast, Unpack returns an
// error, and no file is wrong.
func TestChangesMeanwhile(t *testing.T) {
	for name, change := range map[string]struct {
		at   func(from, to string) string
		want string
	}{
		"sender":   {func(from, _ string) string { return filepath.Join(from, "f") }, "its SHA-256 is wrong"},
		"receiver": {func(_, to string) string { return filepath.Join(to, "f") }, "its SHA-256 is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			text := bytes.Repeat([]byte("text"), block.Len)
			for _, dir := range []string{from, to} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), text, 0o644))
			}
			held := compare(t, from+"/", to)
			require.NoError(t, os.WriteFile(change.at(from, to), bytes.Repeat([]byte("Text"), block.Len), 0o644))
			_, err := resumed(t, from+"/", to, held.Lacked(), held, -1)
			require.ErrorContains(t, err, change.want)
		})
	}
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "f"), make([]byte, 2*block.Len), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(from, "g"), []byte("more"), 0o644))
	held := compare(t, from+"/", to)
	require.EqualValues(t, 3, held.Lacked().Lacked(3))
	all := new(block.Set)
	for range 3 {
		all.Append(false)
	}
	_, err := resumed(t, from+"/", to, all, held, -1)
	require.ErrorContains(t, err, "the sender's data have changed since the comparison")
}

// Without Keep, the partial file of an earlier cast is removed once it is useless.
func TestPartialIsForgotten(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "f"), make([]byte, 3*block.Len), 0o644))
	_, err := resumed(t, from+"/", to, nil, nil, 2*block.Len)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	all, err := os.ReadDir(to)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, unpack.PartialName("f"), all[0].Name())
	require.True(t, strings.HasPrefix(all[0].Name(), unpack.TempPrefix))
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	_, err = into(t, &b, to)
	require.NoError(t, err)
	require.Equal(t, look(t, from), look(t, to))
}

// Two processes that write the same partial file get an error. Another entry with its name stays.
func TestResumeAlone(t *testing.T) {
	to := t.TempDir()
	dir, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer dir.Close()
	f, fresh, err := dir.Resume("f")
	require.NoError(t, err)
	require.True(t, fresh)
	_, _, err = dir.Resume("f")
	require.EqualError(t, err, "another process writes its partial file")
	require.NoError(t, f.Close())
	f, fresh, err = dir.Resume("f")
	require.NoError(t, err)
	require.False(t, fresh)
	require.NoError(t, f.Close())
	require.NoError(t, os.Symlink("f", filepath.Join(to, "link")))
	_, _, err = dir.Resume("link")
	require.Error(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(to, "d"), 0o755))
	_, err = dir.Open("d")
	require.Error(t, err)
}

// FuzzSurvey checks that Survey writes nothing for any input, and returns an error or an answer.
func FuzzSurvey(f *testing.F) {
	from := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(from, "f"), []byte("text"), 0o644))
	var b bytes.Buffer
	require.NoError(f, pack.At(from).Survey(context.Background(), &b, nil))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		to := t.TempDir()
		dir, err := unpack.OpenDir(to)
		require.NoError(t, err)
		defer dir.Close()
		held, err := unpack.Survey(t.Context(), bytes.NewReader(input), dir)
		require.Equal(t, err == nil, held != nil)
		require.Empty(t, look(t, to))
	})
}

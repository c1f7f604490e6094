package pack

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/record"
)

var then = time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)

// planted makes a directory with two files, a link and a directory below it.
func planted(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for _, name := range []string{"a", "sub/b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old "+name), 0o644))
	}
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "link")))
	for _, name := range []string{"a", "sub/b", "sub", "."} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), then, then))
	}
	return dir
}

// passes holds the passes that a sender may make.
var passes = map[string]func(ctx context.Context, o *Origin, w io.Writer) error{
	"all":    func(ctx context.Context, o *Origin, w io.Writer) error { return o.Tree(ctx, w, nil) },
	"some":   func(ctx context.Context, o *Origin, w io.Writer) error { return o.Tree(ctx, w, nothing()) },
	"survey": func(ctx context.Context, o *Origin, w io.Writer) error { return o.Survey(ctx, w, nil) },
}

// nothing returns the set of a host that lacks no block.
func nothing() *block.Set {
	s := new(block.Set)
	for range 10 {
		s.Append(false)
	}
	return s
}

// A later round sends the same bytes as the first. A changed entry is an error that names the
// entry, and the sum of a changed file is not sent.
func TestChangedBetweenPasses(t *testing.T) {
	at := func(dir, name string) string { return filepath.Join(dir, name) }
	rewrite := func(dir, name, text string) error {
		path := at(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		return os.Chtimes(path, then, then)
	}
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"nothing":       {func(string) error { return nil }, ""},
		"same again":    {func(dir string) error { return rewrite(dir, "a", "old a") }, ""},
		"contents":      {func(dir string) error { return rewrite(dir, "a", "new a") }, "a has changed since the cast began (its contents have changed"},
		"grown":         {func(dir string) error { return rewrite(dir, "sub/b", "old sub/b and more") }, "sub/b has changed since the cast began (its kind, size"},
		"shrunk":        {func(dir string) error { return rewrite(dir, "sub/b", "old") }, "sub/b has changed since the cast began (its kind, size"},
		"empty":         {func(dir string) error { return rewrite(dir, "sub/b", "") }, "sub/b has changed since the cast began (its kind, size"},
		"time":          {func(dir string) error { return os.Chtimes(at(dir, "a"), then, then.Add(1)) }, "a has changed since the cast began (its kind, size"},
		"mode":          {func(dir string) error { return os.Chmod(at(dir, "a"), 0o600) }, "a has changed since the cast began (its kind, size"},
		"mode of a dir": {func(dir string) error { return os.Chmod(at(dir, "sub"), 0o700) }, "sub has changed since the cast began (its kind, size"},
		"replaced": {func(dir string) error {
			if err := rewrite(dir, "new", "new a"); err != nil {
				return err
			}
			return os.Rename(at(dir, "new"), at(dir, "a"))
		}, "a has changed since the cast began (its contents"},
		"another kind": {func(dir string) error {
			if err := os.Remove(at(dir, "a")); err != nil {
				return err
			}
			return os.Mkdir(at(dir, "a"), 0o644)
		}, "a has changed since the cast began (its kind"},
		"target": {func(dir string) error {
			if err := os.Remove(at(dir, "link")); err != nil {
				return err
			}
			return os.Symlink("b", at(dir, "link"))
		}, "link has changed since the cast began (its kind"},
		"added first":   {func(dir string) error { return rewrite(dir, "Z", "new") }, "Z has changed since the cast began (it is new)"},
		"added last":    {func(dir string) error { return rewrite(dir, "z", "new") }, "z has changed since the cast began (it is new)"},
		"removed first": {func(dir string) error { return os.Remove(at(dir, "a")) }, " has changed since the cast began (the entry before link is gone)"},
		"removed last":  {func(dir string) error { return os.RemoveAll(at(dir, "sub")) }, "/ has changed since the cast began (2 of 4 entries are gone)"},
		"renamed":       {func(dir string) error { return os.Rename(at(dir, "a"), at(dir, "b")) }, "b has changed since the cast began (it is new)"},
		"all gone":      {func(dir string) error { return os.RemoveAll(dir) }, "/ has changed since the cast began (it is gone)"},
	} {
		for first, before := range passes {
			for second, after := range passes {
				t.Run(name+", "+first+", "+second, func(t *testing.T) {
					dir := planted(t)
					o := At(dir + "/")
					var was, is bytes.Buffer
					require.NoError(t, before(t.Context(), o, &was))
					digest, totals, ok := o.Digest()
					require.True(t, ok)
					require.Equal(t, Totals{4, int64(len("old a" + "old sub/b"))}, totals)
					require.NoError(t, c.change(dir))
					err := after(t.Context(), o, &is)
					again, _, _ := o.Digest()
					require.Equal(t, digest, again)
					if c.want == "" {
						require.NoError(t, err)
						return
					}
					require.ErrorAs(t, err, new(*ChangedError))
					require.ErrorContains(t, err, c.want)
					for r := record.NewReader(&is); ; {
						rec, err := r.Next()
						if err != nil {
							break
						}
						require.NotEqual(t, record.End, rec.Kind)
						if rec.Kind == record.File && name != "removed first" && name != "removed last" && name != "added last" && name != "target" {
							require.NotEqual(t, "link", rec.Name)
						}
					}
				})
			}
		}
	}
}

// touching is a writer that changes a file when the first data of a file are written.
type touching struct {
	io.Writer
	change func() error
	err    error
}

func (w *touching) Write(b []byte) (int, error) {
	if len(b) >= 1000 && w.change != nil {
		w.err = w.change()
		w.change = nil
	}
	return w.Writer.Write(b)
}

// A file that changes while it is read has no sum, so no host gives it its name.
func TestChangedWhileRead(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"grows":   {func(path string) error { return os.Truncate(path, 3<<20) }, "its size changed from 2097152 to 3145728 bytes while it was read"},
		"shrinks": {func(path string) error { return os.Truncate(path, 1<<20) }, "it has become shorter while it was read"},
		"is written": {func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("new"), 1<<20)
			f.Close()
			return err
		}, "it was written to while it was read"},
		"is replaced": {func(path string) error { return os.Rename(path+".new", path) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			for _, p := range []string{path, path + ".new"} {
				require.NoError(t, os.WriteFile(p, bytes.Repeat([]byte(p[len(p)-4:]), 2<<18), 0o644))
				require.NoError(t, os.Chtimes(p, then, then))
			}
			o := At(path)
			var b bytes.Buffer
			w := &touching{Writer: &b, change: func() error { return c.change(path) }}
			err := o.Tree(t.Context(), w, nil)
			require.NoError(t, w.err)
			if c.want == "" {
				require.NoError(t, err, "what was opened is whole")
				require.ErrorContains(t, o.Tree(t.Context(), io.Discard, nil), "its contents have changed")
				return
			}
			require.EqualError(t, err, path+" has changed since the cast began ("+c.want+"): cast it again")
			for r := record.NewReader(&b); ; {
				rec, err := r.Next()
				if err != nil {
					break
				}
				require.NotEqual(t, record.Sum, rec.Kind)
			}
			_, _, ok := o.Digest()
			require.False(t, ok)
		})
	}
}

// A pass that breaks off records what it has read, and a later pass records the rest.
func TestPassBreaksOff(t *testing.T) {
	for cut := range 400 {
		dir := planted(t)
		o := At(dir)
		err := o.Tree(t.Context(), &short{cut}, nil)
		_, _, ok := o.Digest()
		require.True(t, ok || err != nil)
		seen := o.seen.n // everything, if only the end is missing
		require.NoError(t, o.Tree(t.Context(), io.Discard, nil))
		require.Equal(t, 5, o.seen.n)
		if err == nil {
			return
		}
		o = At(dir)
		require.Error(t, o.Tree(t.Context(), &short{cut}, nil))
		require.NoError(t, os.Remove(filepath.Join(dir, "sub", "b")))
		require.NoError(t, os.Chtimes(filepath.Join(dir, "sub"), then, then))
		err = o.Tree(t.Context(), io.Discard, nil)
		require.Equal(t, seen == 5, err != nil, "after %d bytes %d entries were fixed: %v", cut, seen, err)
	}
	t.Fatal("all was never written")
}

// Entries are found by their numbers, in lists of any length.
func TestSightings(t *testing.T) {
	var l sightings
	for i := range uint64(3*chunkLen + 1) {
		l.add(sighting{path: i})
	}
	for i := range l.n {
		require.EqualValues(t, i, l.at(i).path)
	}
	require.True(t, l.later(5, 5))
	require.True(t, l.later(0, 3*chunkLen))
	require.False(t, l.later(6, 5))
}

// short is a writer that takes left bytes and then fails.
type short struct{ left int }

func (w *short) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return 0, io.ErrShortWrite
	}
	w.left -= len(b)
	return len(b), nil
}

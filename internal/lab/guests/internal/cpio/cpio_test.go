package cpio

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// read takes an archive apart, as the form's description says.
func read(archive []byte) (entries []Entry, err error) {
	at := 0
	take := func(n int) []byte {
		if n < 0 || at+n > len(archive) {
			panic(fmt.Sprintf("%d bytes at %d of %d", n, at, len(archive)))
		}
		at += n
		return archive[at-n : at]
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	inodes := map[uint64]bool{}
	for {
		if magic := take(6); string(magic) != "070701" {
			return nil, fmt.Errorf("magic %q at %d", magic, at)
		}
		var fields [13]uint64
		for i := range fields {
			if fields[i], err = strconv.ParseUint(string(take(8)), 16, 32); err != nil {
				return nil, err
			}
		}
		inode, mode, links, size, nameSize := fields[0], fields[1], fields[4], fields[6], fields[11]
		name := take(int(nameSize))
		if name[len(name)-1] != 0 {
			return nil, fmt.Errorf("name %q does not end", name)
		}
		take(-at & 3)
		body := take(int(size))
		take(-at & 3)
		if inodes[inode] || links != 1 {
			return nil, fmt.Errorf("inode %d again, or %d links", inode, links)
		}
		inodes[inode] = true
		text := string(name[:len(name)-1])
		if text == "TRAILER!!!" {
			if at != len(archive) {
				return nil, errors.New("bytes behind the trailer")
			}
			return entries, nil
		}
		kind, ok := map[uint64]fs.FileMode{0o100000: 0, 0o040000: fs.ModeDir, 0o120000: fs.ModeSymlink}[mode&^0o777]
		if !ok {
			return nil, fmt.Errorf("%s: mode %o", text, mode)
		}
		entries = append(entries, Entry{text, kind | fs.FileMode(mode&0o777), bytes.Clone(body)})
	}
}

func TestArchiveOfAFewEntries(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, []Entry{
		{"init", 0o755, []byte("#!")},
		{"bin/sh", fs.ModeSymlink | 0o777, []byte("busybox")},
		{"bin/busybox", 0o755, []byte("12345")},
		{"proc", fs.ModeDir | 0o555, nil},
		{"proc/x", 0o600, nil},
	}))
	got, err := read(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, []Entry{
		{"init", 0o755, []byte("#!")},
		{"bin", fs.ModeDir | 0o755, []byte{}},
		{"bin/sh", fs.ModeSymlink | 0o777, []byte("busybox")},
		{"bin/busybox", 0o755, []byte("12345")},
		{"proc", fs.ModeDir | 0o555, []byte{}},
		{"proc/x", 0o600, []byte{}},
	}, got)
}

// TestArchiveIsReadAsItWasWritten checks that every written archive can be read, and that the
// directories of an entry come before it.
func TestArchiveIsReadAsItWasWritten(t *testing.T) {
	part := rapid.StringMatching(`[a-z0-9.]*[a-z0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
			return Entry{
				Name: path.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path")...),
				Mode: fs.FileMode(rapid.IntRange(0, 0o777).Draw(t, "mode")) | rapid.SampledFrom([]fs.FileMode{0, fs.ModeSymlink}).Draw(t, "kind"),
				Body: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "body"),
			}
		}), 0, 8).Draw(t, "entries")
		var b bytes.Buffer
		require.NoError(t, Write(&b, entries))
		got, err := read(b.Bytes())
		require.NoError(t, err)
		dirs, plain := map[string]bool{".": true}, []Entry{}
		for _, e := range got {
			require.True(t, dirs[path.Dir(e.Name)], "%s before its directory", e.Name)
			if e.Mode.IsDir() {
				require.False(t, dirs[e.Name], "%s twice", e.Name)
				dirs[e.Name] = true
			} else {
				plain = append(plain, e)
			}
		}
		require.Len(t, plain, len(entries))
		for i, e := range entries {
			require.Equal(t, e.Name, plain[i].Name)
			require.Equal(t, e.Mode, plain[i].Mode)
			require.True(t, bytes.Equal(e.Body, plain[i].Body))
		}
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestArchiveThatCannotBe(t *testing.T) {
	for want, e := range map[string]Entry{
		`"/init"`:  {Name: "/init"},
		`"a/../b"`: {Name: "a/../b"},
		`""`:       {Name: ""},
		`"."`:      {Name: ".", Mode: fs.ModeDir},
		`"fifo"`:   {Name: "fifo", Mode: fs.ModeNamedPipe},
	} {
		require.ErrorContains(t, Write(new(bytes.Buffer), []Entry{e}), want)
	}
	require.ErrorContains(t, Write(broken{}, []Entry{{Name: "a", Body: make([]byte, 1<<16)}}), "full")
}

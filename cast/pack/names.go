package pack

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// namesAtOnce is how many names of a directory are sorted at once. A directory of more is
// read several times, so that the memory for it is bounded.
const namesAtOnce = 1 << 15

// readAtOnce is how many names are asked for at once.
const readAtOnce = 1 << 10

// eachName calls f with the names in a directory, in order, byte by byte.
func eachName(dir *os.Root, f func(name string) error) error {
	for last := ""; ; {
		names, err := namesAfter(dir, last, namesAtOnce)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
		if len(names) < namesAtOnce {
			return nil
		}
		last = names[len(names)-1]
	}
}

// namesAfter returns the first names in a directory behind last, in order, at most so many.
func namesAfter(dir *os.Root, last string, most int) (names []string, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		some, err := f.Readdirnames(readAtOnce)
		for _, name := range some {
			if name > last {
				names = append(names, name)
			}
		}
		if len(names) >= 2*most {
			names = lowest(names, most)
		}
		if err == io.EOF {
			return lowest(names, most), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// lowest returns the lowest of names, in order.
func lowest(names []string, most int) []string {
	slices.Sort(names)
	if len(names) > most {
		clear(names[most:])
		names = names[:most]
	}
	return names
}

// Totals is how much there is in a tree.
type Totals struct {
	Entries int64 `json:"entries"` // directories, files and links
	Bytes   int64 `json:"bytes"`   // of files, holes included
}

// Measure counts what Tree would send, and reads no file.
func Measure(ctx context.Context, path string) (t Totals, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return t, err
	}
	if !info.IsDir() {
		return Totals{1, info.Size()}, nil
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return t, err
	}
	defer dir.Close()
	if !bare(path) {
		t.Entries = 1
	}
	return t, t.count(ctx, dir, path)
}

func (t *Totals) count(ctx context.Context, dir *os.Root, path string) error {
	return eachName(dir, func(name string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := filepath.Join(path, name)
		info, err := dir.Lstat(name)
		if err != nil {
			return within(at, err)
		}
		t.Entries++
		switch info.Mode().Type() {
		case 0:
			t.Bytes += info.Size()
		case fs.ModeDir:
			below, err := dir.OpenRoot(name)
			if err != nil {
				return within(at, err)
			}
			defer below.Close()
			return t.count(ctx, below, at)
		}
		return nil
	})
}

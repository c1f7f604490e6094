// Package names lists directories of any size in the order of the names, in bounded memory.
package names

import (
	"io"
	"os"
	"slices"
)

// atOnce is the greatest number of names that are sorted at once. A directory with more names is
// read several times, to bound the memory.
const atOnce = 1 << 15

// readAtOnce is the number of names that one call of the system returns.
const readAtOnce = 1 << 10

// Each calls f with each name in a directory, in ascending order of bytes. It stops at the first
// error of f, and returns it.
func Each(dir *os.Root, f func(name string) error) error {
	for last := ""; ; {
		names, err := after(dir, last, atOnce)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
		if len(names) < atOnce {
			return nil
		}
		last = names[len(names)-1]
	}
}

// after returns up to most names of a directory that follow last, in order.
func after(dir *os.Root, last string, most int) (names []string, err error) {
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

// lowest returns the up to most lowest of names, in order.
func lowest(names []string, most int) []string {
	slices.Sort(names)
	if len(names) > most {
		clear(names[most:])
		names = names[:most]
	}
	return names
}

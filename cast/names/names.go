// Package names lists directories in the order of the names, however many there are.
package names

import (
	"io"
	"os"
	"slices"
)

// atOnce is how many names of a directory are sorted at once. A directory of more is read several
// times, so that the memory for it is bounded.
const atOnce = 1 << 15

// readAtOnce is how many names are asked for at once.
const readAtOnce = 1 << 10

// Each calls f with the names in a directory, in order, byte by byte. An error of f ends it.
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

// after returns the first names in a directory behind last, in order, at most so many.
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

// lowest returns the lowest of names, in order.
func lowest(names []string, most int) []string {
	slices.Sort(names)
	if len(names) > most {
		clear(names[most:])
		names = names[:most]
	}
	return names
}

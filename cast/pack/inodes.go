package pack

import (
	"io/fs"
	"slices"
	"syscall"

	"github.com/schedgen/schedgen/cast/record"
)

// id identifies a file or a directory on this host.
type id struct{ device, inode uint64 }

// idOf returns the id of what a system told of; it is zero if the system tells none.
func idOf(info fs.FileInfo) id {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return id{uint64(st.Dev), uint64(st.Ino)}
	}
	return id{}
}

func contains(all []id, one id) bool { return one != id{} && slices.Contains(all, one) }

// inodes are the files with several names of one pass, of which one has come.
type inodes struct {
	numbers map[id]named
	last    uint32
}

// named is a file whose further names may come.
type named struct {
	number uint32
	left   uint64 // names that have not come
}

// further returns the number of a file one of whose names has come, or ok = false.
func (n *inodes) further(info fs.FileInfo) (number uint32, ok bool) {
	key := idOf(info)
	f, ok := n.numbers[key]
	if !ok {
		return 0, false
	}
	if f.left--; f.left == 0 {
		delete(n.numbers, key)
	} else {
		n.numbers[key] = f
	}
	return f.number, true
}

// next returns the number for a file that comes for the first time, 0 if it has one name or the
// numbers are used up.
func (n *inodes) next(info fs.FileInfo) uint32 {
	if namesOf(info) < 2 || n.last == record.MaxLinks {
		return 0
	}
	return n.last + 1
}

// add takes note of a file that has come with its next number.
func (n *inodes) add(info fs.FileInfo) {
	if n.numbers == nil {
		n.numbers = map[id]named{}
	}
	n.last++
	n.numbers[idOf(info)] = named{n.last, namesOf(info) - 1}
}

// namesOf returns how many names a file has.
func namesOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

package pack

import (
	"io/fs"
	"slices"
	"syscall"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// id identifies a file or a directory on this host.
type id struct{ device, inode uint64 }

// idOf returns the id of a file, or zero if the system has none.
func idOf(info fs.FileInfo) id {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return id{uint64(st.Dev), uint64(st.Ino)}
	}
	return id{}
}

func contains(all []id, one id) bool { return one != id{} && slices.Contains(all, one) }

// inodes holds the files of a pass with several names, of which at least one has come.
type inodes struct {
	numbers map[id]named
	last    uint32
}

// named is a file with names that may still come.
type named struct {
	number uint32
	left   uint64 // number of names that have not come
}

// further returns the number of a file if one of its names has come. Otherwise ok is false.
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

// next returns the number for a new file, or 0 if the file has only one name or no numbers are
// left.
func (n *inodes) next(info fs.FileInfo) uint32 {
	if namesOf(info) < 2 || n.last == record.MaxLinks {
		return 0
	}
	return n.last + 1
}

// add records a file under the next number.
func (n *inodes) add(info fs.FileInfo) {
	if n.numbers == nil {
		n.numbers = map[id]named{}
	}
	n.last++
	n.numbers[idOf(info)] = named{n.last, namesOf(info) - 1}
}

// namesOf returns the number of names of a file.
func namesOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

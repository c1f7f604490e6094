package pack

import (
	"context"
	"os"

	"github.com/schedgen/schedgen/internal/cast/block"
)

// Lacking says what a host lacks of an origin. Empty files, links and directories do not count.
type Lacking struct {
	Files int64    `json:"files"`
	Bytes int64    `json:"bytes"` // bytes of the lacked blocks
	Names []string `json:"names"` // paths of the first files, relative to the top
}

// mostNames is the greatest number of names in Lacking.
const mostNames = 10

// Lacking returns the files and bytes in the blocks of lacked, where nil means all blocks. It reads
// no file.
func (o *Origin) Lacking(ctx context.Context, lacked *block.Set) (Lacking, error) {
	l := &lacker{lacked: lacked, inodes: inodes{}, hard: o.options.HardLinks}
	if err := o.walk(ctx, l, true); err != nil {
		return Lacking{}, err
	}
	return l.Lacking, nil
}

// lacker is a visitor that counts the lacked files and bytes.
type lacker struct {
	Lacking
	lacked *block.Set
	first  int64 // first block of the next file
	hard   bool
	inodes inodes
}

func (*lacker) enter(*entry, *os.Root) error { return nil }

func (*lacker) leave() error { return nil }

func (*lacker) link(*entry, string) error { return nil }

func (*lacker) omit(string) error { return nil }

func (*lacker) settled() bool { return false }

func (l *lacker) file(e *entry) error {
	if l.hard {
		if _, further := l.inodes.further(e.info); further {
			return nil
		}
		if l.inodes.next(e.info) > 0 {
			l.inodes.add(e.info)
		}
	}
	size, before := e.info.Size(), l.Bytes
	for i := range block.Count(size) {
		if l.lacked.Lacks(l.first + i) {
			l.Bytes += min(block.Len, size-i*block.Len)
		}
	}
	l.first += block.Count(size)
	if l.Bytes == before {
		return nil
	}
	if l.Files++; len(l.Names) < mostNames {
		l.Names = append(l.Names, e.rel)
	}
	return nil
}

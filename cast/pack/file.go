package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/record"
)

// blockBytes is the unit in which systems count what a file takes on a disk.
const blockBytes = 512

// head sends what is said of an open file, and returns its size and whether it may have holes.
func (p *packer) head(f *os.File, name, path string) (size int64, holes bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, false, within(path, err)
	}
	if !info.Mode().IsRegular() {
		return 0, false, fmt.Errorf("%s: a %v cannot be sent", path, kindOf(info.Mode()))
	}
	size = info.Size()
	st, ok := info.Sys().(*syscall.Stat_t)
	holes = ok && int64(st.Blocks)*blockBytes < size
	head := record.Record{Kind: record.File, Name: name, Mode: info.Mode().Perm(), Time: info.ModTime().UnixNano(), Size: size, Holes: holes}
	if err := p.w.Write(&head); err != nil {
		return 0, false, fmt.Errorf("%s: %w", path, err)
	}
	return size, holes, nil
}

// file sends an open file.
func (p *packer) file(f *os.File, name, path string) error {
	size, holes, err := p.head(f, name, path)
	if err != nil {
		return err
	}
	for at := int64(0); at < size; {
		from, to := at, size
		if holes {
			from, to = nextData(f, at, size)
		}
		if from > at {
			if err := p.hole(from - at); err != nil {
				return err
			}
		}
		if err := p.stretch(f, from, to); err != nil {
			return within(path, err)
		}
		at = to
	}
	p.first += block.Count(size)
	return p.sum()
}

// prints sends the prints of the blocks of an open file.
func (p *packer) prints(f *os.File, name, path string) error {
	size, _, err := p.head(f, name, path)
	if err != nil {
		return err
	}
	for at := int64(0); at < size; at += block.Len {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		b := p.buf[:min(size-at, block.Len)]
		if _, err := f.ReadAt(b, at); err != nil {
			if err == io.EOF {
				err = errShorter
			}
			return within(path, err)
		}
		if err := p.w.Write(&record.Record{Kind: record.Print, Print: block.PrintOf(b)}); err != nil {
			return err
		}
	}
	return nil
}

// nextData returns where the first data of f at or behind at are: from one byte to before
// another. Behind the last, both are size. Where the system does not know, all are data.
func nextData(f *os.File, at, size int64) (from, to int64) {
	from, err := f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size
	case err != nil || from < at:
		return at, size
	case from >= size:
		return size, size
	}
	if to, err = f.Seek(from, unix.SEEK_HOLE); err != nil || to <= from {
		return from, size
	}
	return from, min(to, size)
}

// hole sends so many bytes that are zero.
func (p *packer) hole(n int64) error {
	for left := n; left > 0; left -= int64(len(zeros)) {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		p.hash.Write(zeros[:min(left, int64(len(zeros)))])
	}
	if err := p.keep(); err != nil {
		return err
	}
	return p.w.Write(&record.Record{Kind: record.Hole, Size: n})
}

// keep says what the receivers have before what is sent next.
func (p *packer) keep() error {
	n := p.kept
	if n == 0 {
		return nil
	}
	p.kept = 0
	return p.w.Write(&record.Record{Kind: record.Keep, Size: n})
}

// errShorter: a file has changed.
var errShorter = errors.New("it has become shorter while it was read")

// stretch sends the bytes from one place in a file to before another.
func (p *packer) stretch(f *os.File, from, to int64) error {
	for from < to {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		n, err := f.ReadAt(p.buf[:min(to-from, int64(len(p.buf)), block.Len-from%block.Len)], from)
		if n > 0 {
			if !p.lacked.Lacks(p.first + from/block.Len) {
				p.hash.Write(p.buf[:n])
				p.kept += int64(n)
			} else if err := p.data(p.buf[:n]); err != nil {
				return err
			}
			from += int64(n)
			continue
		}
		if err == io.EOF {
			err = errShorter
		}
		return err
	}
	return nil
}

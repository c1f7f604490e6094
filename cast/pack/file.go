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

// head sends what is said of an open file, and returns that.
func (p *packer) head(f *os.File, name, path string) (*record.Record, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, within(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: a %v cannot be sent", path, kindOf(info.Mode()))
	}
	size := info.Size()
	st, ok := info.Sys().(*syscall.Stat_t)
	holes := ok && int64(st.Blocks)*blockBytes < size
	head := &record.Record{Kind: record.File, Name: name, Mode: info.Mode().Perm(), Time: info.ModTime().UnixNano(), Size: size, Holes: holes}
	return head, p.begin(head, path)
}

// seal ends a file that has been read. Nobody gives a file its name before its sum has come, so none is
// sent of a file that was not the same all the time.
func (p *packer) seal(f *os.File, head *record.Record, path string) error {
	info, err := f.Stat()
	if err != nil {
		return within(path, err)
	}
	switch {
	case info.Size() != head.Size:
		return &ChangedError{path, fmt.Sprintf("while it was read its size went from %d to %d bytes", head.Size, info.Size())}
	case info.ModTime().UnixNano() != head.Time:
		return &ChangedError{path, "it was written to while it was read"}
	}
	if err := p.keep(); err != nil {
		return err
	}
	sum := p.sum()
	if err := p.check(p.number-1, &sum, path); err != nil {
		return err
	}
	p.bytes += head.Size
	return p.w.Write(&sum)
}

// file sends an open file.
func (p *packer) file(f *os.File, name, path string) error {
	head, err := p.head(f, name, path)
	if err != nil {
		return err
	}
	for at := int64(0); at < head.Size; {
		from, to := at, head.Size
		if head.Holes {
			from, to = nextData(f, at, head.Size)
		}
		if from > at {
			if err := p.hole(from - at); err != nil {
				return err
			}
		}
		if err := p.stretch(f, from, to, path); err != nil {
			return within(path, err)
		}
		at = to
	}
	p.first += block.Count(head.Size)
	return p.seal(f, head, path)
}

// prints sends the prints of the blocks of an open file.
func (p *packer) prints(f *os.File, name, path string) error {
	head, err := p.head(f, name, path)
	if err != nil {
		return err
	}
	for at := int64(0); at < head.Size; at += block.Len {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		b := p.buf[:min(head.Size-at, block.Len)]
		if _, err := f.ReadAt(b, at); err != nil {
			return within(path, shorter(err, path))
		}
		p.hash.Write(b)
		if err := p.w.Write(&record.Record{Kind: record.Print, Print: block.PrintOf(b)}); err != nil {
			return err
		}
	}
	return p.seal(f, head, path)
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

// shorter returns what an error of a read is: a file ends early if it has become shorter since.
func shorter(err error, path string) error {
	if err == io.EOF {
		return &ChangedError{path, "it has become shorter while it was read"}
	}
	return err
}

// stretch sends the bytes from one place in a file to before another.
func (p *packer) stretch(f *os.File, from, to int64, path string) error {
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
		return shorter(err, path)
	}
	return nil
}

package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// blockBytes is the unit of a file's size on a disk, in bytes.
const blockBytes = 512

// tries is how often a file that changes meanwhile is read.
const tries = 2

// file implements visitor.
func (p *packer) file(e *entry) error {
	if p.options.HardLinks {
		if number, further := p.inodes.further(e.info); further {
			return p.begin(nil, &record.Record{Kind: record.HardLink, Name: e.name, Size: int64(number)}, e.path)
		}
	}
	if sent, err := p.unread(e); sent || err != nil {
		return err
	}
	for try := 1; ; try++ {
		f, err := e.open()
		if err != nil {
			return ofSource(err)
		}
		settled, number := p.settled(), p.number
		err = errors.Join(p.send(f, e), f.Close())
		var failed *sourceError
		if !errors.As(err, &failed) {
			return err
		}
		if settled || p.options.Skip == nil || p.ctx.Err() != nil {
			return failed.err
		}
		if p.number > number { // the head was sent
			if err := p.void(); err != nil {
				return err
			}
		}
		if changed := errors.As(failed.err, new(*ChangedError)); !changed || try == tries {
			return failed
		}
	}
}

// void withdraws the open file, whose head was sent.
func (p *packer) void() error {
	p.number--
	p.seen.drop()
	p.voided++
	p.kept = 0
	p.hash.Reset()
	return p.w.Write(&record.Record{Kind: record.Void})
}

// unread sends a file without reading it, if it can. It reports whether it has sent the file.
func (p *packer) unread(e *entry) (sent bool, err error) {
	outline := p.send == nil
	switch {
	case outline:
	case !p.options.Quick || p.lacked == nil || e.info.Size() == 0:
		return false, nil
	default:
		for i := range block.Count(e.info.Size()) {
			if p.lacked.Lacks(p.first + i) {
				return false, nil
			}
		}
	}
	var f *os.File
	if p.extended() {
		if f, err = e.open(); err != nil {
			return false, ofSource(err)
		}
		defer f.Close()
	}
	head, err := p.head(f, e.info, e)
	if err != nil {
		return false, err
	}
	p.bytes += head.Size
	p.first += block.Count(head.Size)
	p.has(e.info)
	if outline {
		return true, nil
	}
	return true, p.w.Write(&record.Record{Kind: record.Same})
}

// has records a sent file that may have further names.
func (p *packer) has(info fs.FileInfo) {
	if p.options.HardLinks && p.inodes.next(info) > 0 {
		p.inodes.add(info)
	}
}

// head sends the head of a file, and returns it. f is nil if extended attributes are not sent.
func (p *packer) head(f *os.File, info fs.FileInfo, e *entry) (*record.Record, error) {
	attr, err := p.attributes(f, info, e.path)
	if err != nil {
		return nil, ofSource(err)
	}
	size := info.Size()
	st, ok := info.Sys().(*syscall.Stat_t)
	holes := ok && int64(st.Blocks)*blockBytes < size
	head := &record.Record{Kind: record.File, Name: e.name, Mode: p.mode(info), Time: info.ModTime().UnixNano(), Size: size, Holes: holes}
	return head, p.begin(attr, head, e.path)
}

// open sends the head of an open file, and returns the head and the file's information.
func (p *packer) open(f *os.File, e *entry) (*record.Record, fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, ofSource(within(e.path, err))
	}
	head, err := p.head(f, info, e)
	return head, info, err
}

// seal ends a file that has been read. It sends the sum only if the file has not changed since
// open. A receiver gives a file its name only after the sum.
func (p *packer) seal(f *os.File, head *record.Record, was fs.FileInfo, e *entry) error {
	info, err := f.Stat()
	if err != nil {
		return ofSource(within(e.path, err))
	}
	switch {
	case info.Size() != head.Size:
		return ofSource(&ChangedError{e.path, fmt.Sprintf("its size changed from %d to %d bytes while it was read", head.Size, info.Size())})
	case info.ModTime().UnixNano() != head.Time:
		return ofSource(&ChangedError{e.path, "it was written to while it was read"})
	}
	if err := p.keep(); err != nil {
		return err
	}
	sum := p.sum()
	if err := p.check(p.number-1, &sum, e.path); err != nil {
		return err
	}
	p.bytes += head.Size
	p.first += block.Count(head.Size)
	p.has(was)
	return p.w.Write(&sum)
}

// contents sends an open file.
func (p *packer) contents(f *os.File, e *entry) error {
	head, info, err := p.open(f, e)
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
		if err := p.stretch(f, from, to, e.path); err != nil {
			return err
		}
		at = to
	}
	return p.seal(f, head, info, e)
}

// prints sends the prints of the blocks of an open file.
func (p *packer) prints(f *os.File, e *entry) error {
	head, info, err := p.open(f, e)
	if err != nil {
		return err
	}
	for at := int64(0); at < head.Size; at += block.Len {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		b := p.buf[:min(head.Size-at, block.Len)]
		if n, err := f.ReadAt(b, at); n < len(b) {
			return shorter(err, e.path)
		}
		p.hash.Write(b)
		if err := p.w.Write(&record.Record{Kind: record.Print, Print: block.PrintOf(b)}); err != nil {
			return err
		}
	}
	return p.seal(f, head, info, e)
}

// nextData returns the first stretch of data in f that begins at byte at or later, from byte from
// to before byte to. After the last data, both are size. If the system does not know where holes
// are, everything is data.
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

// hole sends a hole of n bytes.
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

// keep sends the number of bytes before the next record that the receivers have.
func (p *packer) keep() error {
	n := p.kept
	if n == 0 {
		return nil
	}
	p.kept = 0
	return p.w.Write(&record.Record{Kind: record.Keep, Size: n})
}

// shorter returns err, or an error that says that the file has become shorter, if the read reached
// its end too early.
func shorter(err error, path string) error {
	if err == io.EOF {
		err = &ChangedError{path, "it has become shorter while it was read"}
	}
	return ofSource(within(path, err))
}

// stretch sends the bytes of f from byte from to before byte to.
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

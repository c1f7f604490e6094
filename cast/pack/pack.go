// Package pack reads a tree of files, or a stream, and writes the records of package record. It holds
// the names of a few directories, one stretch of one file, and 24 bytes for each entry, by which it
// notices what changes from one time to the next.
package pack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/record"
)

// zeros is what holes have, for their sums.
var zeros [record.MaxSpan]byte

// packer writes the records of one tree or stream.
type packer struct {
	*Origin // nil: a stream

	ctx  context.Context
	w    *record.Writer
	buf  []byte
	hash hash.Hash

	send   sender
	lacked *block.Set // by the receivers; nil: all
	first  int64      // block of the file that is being sent
	number int        // of the entry that is sent next
	kept   int64      // bytes before the next record that they have
	bytes  int64      // of files
}

func newPacker(ctx context.Context, w io.Writer) *packer {
	return &packer{ctx: ctx, w: record.NewWriter(w), buf: make([]byte, record.MaxSpan), hash: sha256.New()}
}

func (p *packer) end() error {
	r := record.Record{Kind: record.End, Size: p.w.Entries(), Sum: p.w.Digest()}
	if p.Origin != nil {
		if err := p.close(p.number, &r, p.bytes); err != nil {
			return err
		}
	}
	return p.w.Write(&r)
}

// Tree writes the records of the origin to w. A directory comes under its name; if the path ends with a
// slash, or is "." or "..", what is in it comes without it. A symbolic link at the path is followed, and
// links below are sent as links. Owners, access lists and the bits setuid, setgid and sticky are left
// out; a file with several names comes several times.
//
// Devices, sockets and pipes are errors. Tree ends when ctx does. If an entry has changed since an
// earlier pass, the error is a *ChangedError.
//
// lacked holds the blocks that receivers lack; nil means all. Tree sends no contents of the others.
func (o *Origin) Tree(ctx context.Context, w io.Writer, lacked *block.Set) error {
	p := newPacker(ctx, w)
	p.Origin, p.lacked = o, lacked
	return p.tree(p.file)
}

// Survey writes what Tree would, but the prints of a file's blocks in place of what is in them.
func (o *Origin) Survey(ctx context.Context, w io.Writer) error {
	p := newPacker(ctx, w)
	p.Origin, p.buf = o, make([]byte, block.Len)
	if err := p.w.Write(&record.Record{Kind: record.Survey}); err != nil {
		return err
	}
	return p.tree(p.prints)
}

// sender sends an open file.
type sender func(f *os.File, name, path string) error

// tree sends what is at the path.
func (p *packer) tree(send sender) error {
	p.send = send
	info, err := os.Stat(p.path)
	switch {
	case err != nil:
		err = p.missing(err)
	case info.IsDir():
		err = p.top(p.path, info)
	default:
		err = p.single(p.path)
	}
	if err != nil {
		return err
	}
	return p.end()
}

// bare reports whether a directory at path is sent without its name.
func bare(path string) bool {
	last := filepath.Base(path)
	return strings.HasSuffix(path, "/") || last == "." || last == ".." || last == "/"
}

// single sends the file that an argument names.
func (p *packer) single(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return p.missing(err)
	}
	defer f.Close()
	return p.send(f, filepath.Base(path), path)
}

// top sends the directory that an argument names.
func (p *packer) top(path string, info fs.FileInfo) error {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if bare(path) {
		return p.inside(dir, path)
	}
	return p.directory(dir, info, filepath.Base(path), path)
}

// directory sends a directory with all that is in it.
func (p *packer) directory(dir *os.Root, info fs.FileInfo, name, path string) error {
	if err := p.begin(&record.Record{Kind: record.Directory, Name: name, Mode: info.Mode().Perm(), Time: info.ModTime().UnixNano()}, path); err != nil {
		return err
	}
	if err := p.inside(dir, path); err != nil {
		return err
	}
	return p.w.Write(&record.Record{Kind: record.Up})
}

// inside sends what is in a directory.
func (p *packer) inside(dir *os.Root, path string) error {
	return eachName(dir, func(name string) error {
		if err := p.ctx.Err(); err != nil {
			return context.Cause(p.ctx)
		}
		return p.entry(dir, name, filepath.Join(path, name))
	})
}

func (p *packer) entry(dir *os.Root, name, path string) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return within(path, err)
	}
	switch info.Mode().Type() {
	case 0:
		f, err := dir.Open(name)
		if err != nil {
			return within(path, err)
		}
		defer f.Close()
		return p.send(f, name, path)
	case fs.ModeDir:
		below, err := dir.OpenRoot(name)
		if err != nil {
			return within(path, err)
		}
		defer below.Close()
		return p.directory(below, info, name, path)
	case fs.ModeSymlink:
		target, err := dir.Readlink(name)
		if err != nil {
			return within(path, err)
		}
		return p.begin(&record.Record{Kind: record.Link, Name: name, Target: target}, path)
	}
	return fmt.Errorf("%s: a %v cannot be sent", path, kindOf(info.Mode()))
}

// kindOf says what is neither file, directory nor link.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "file of mode " + m.String()
}

// within names the path that an error is about, in place of the last part of it.
func within(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, new(*ChangedError)) {
		return err
	}
	if errors.As(err, &of) {
		return fmt.Errorf("%s %s: %w", strings.TrimSuffix(of.Op, "at"), path, of.Err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// begin writes the head of an entry, which in a later pass must be as it was in the first one.
func (p *packer) begin(r *record.Record, path string) error {
	if err := p.see(p.number, r, path); err != nil {
		return err
	}
	p.number++
	if err := p.w.Write(r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Stream writes the records of a stream, which is all that r gives, to w, and returns their digest. When
// ctx ends, so does Stream, after the read that is under way.
func Stream(ctx context.Context, w io.Writer, r io.Reader) (record.Digest, error) {
	p := newPacker(ctx, w)
	err := p.stream(r)
	return p.w.Digest(), err
}

func (p *packer) stream(r io.Reader) error {
	if err := p.w.Write(&record.Record{Kind: record.Stream}); err != nil {
		return err
	}
	for {
		n, err := r.Read(p.buf)
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		if n > 0 {
			if err := p.data(p.buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
	}
	sum := p.sum()
	if err := p.w.Write(&sum); err != nil {
		return err
	}
	return p.end()
}

func (p *packer) data(b []byte) error {
	p.hash.Write(b)
	if err := p.keep(); err != nil {
		return err
	}
	return p.w.Write(&record.Record{Kind: record.Data, Data: b})
}

// sum returns the sum of what was sent since the one before.
func (p *packer) sum() (r record.Record) {
	r.Kind = record.Sum
	p.hash.Sum(r.Sum[:0])
	p.hash.Reset()
	return r
}

// Package pack reads a tree of files, or a stream, and writes the records of package
// record. It holds the names of a few directories and one stretch of one file.
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
	ctx  context.Context
	w    *record.Writer
	buf  []byte
	hash hash.Hash

	send   sender
	lacked *block.Set // by the receivers; nil: all
	first  int64      // block of the file that is being sent
	kept   int64      // bytes before the next record that they have
}

func newPacker(ctx context.Context, w io.Writer) *packer {
	return &packer{ctx: ctx, w: record.NewWriter(w), buf: make([]byte, record.MaxSpan), hash: sha256.New()}
}

func (p *packer) end() error {
	return p.w.Write(&record.Record{Kind: record.End, Size: p.w.Entries()})
}

// Tree writes the records of the file or the directory at path to w. A directory comes
// under its name; if path ends with a slash, or is "." or "..", what is in it comes without it. A symbolic
// link at path is followed, those below are sent as links. Owners, access lists and the
// bits setuid, setgid and sticky are left out; files with several names come several times.
//
// What is neither file, directory nor link is an error, and so is a file that becomes shorter meanwhile.
// Of one that grows what was there at first is sent. When ctx ends, so does Tree.
//
// Of blocks that are not in lacked it is only said that the receivers have them; nil means that they lack all. So the tree is
// to be as it was when the set was made.
func Tree(ctx context.Context, w io.Writer, path string, lacked *block.Set) error {
	p := newPacker(ctx, w)
	p.lacked = lacked
	return p.tree(path, p.file)
}

// Survey writes what Tree would, but of files the prints of their blocks in place of what is in them.
func Survey(ctx context.Context, w io.Writer, path string) error {
	p := newPacker(ctx, w)
	p.buf = make([]byte, block.Len)
	if err := p.w.Write(&record.Record{Kind: record.Survey}); err != nil {
		return err
	}
	return p.tree(path, p.prints)
}

// sender sends an open file.
type sender func(f *os.File, name, path string) error

// tree sends what is at path.
func (p *packer) tree(path string, send sender) error {
	p.send = send
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		err = p.top(path, info)
	default:
		err = p.single(path)
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
		return err
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
	if err := p.w.Write(&record.Record{Kind: record.Directory, Name: name, Mode: info.Mode().Perm(), Time: info.ModTime().UnixNano()}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
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
		if err == nil {
			err = p.w.Write(&record.Record{Kind: record.Link, Name: name, Target: target})
		}
		return within(path, err)
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
	if errors.As(err, &of) {
		return fmt.Errorf("%s %s: %w", strings.TrimSuffix(of.Op, "at"), path, of.Err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Stream writes the records of a stream, which is all that r gives, to w. When ctx ends, so does
// Stream, after the read that is under way.
func Stream(ctx context.Context, w io.Writer, r io.Reader) error {
	p := newPacker(ctx, w)
	if err := p.w.Write(&record.Record{Kind: record.Stream}); err != nil {
		return err
	}
	for {
		n, err := r.Read(p.buf)
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
	if err := p.sum(); err != nil {
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

// sum ends a file or a stream.
func (p *packer) sum() error {
	if err := p.keep(); err != nil {
		return err
	}
	r := record.Record{Kind: record.Sum}
	p.hash.Sum(r.Sum[:0])
	p.hash.Reset()
	return p.w.Write(&r)
}

// Package pack reads a tree of files, or a stream, and writes the records of package record. In
// memory it holds the names of a few directories, one stretch of one file, and 24 bytes for each
// entry, by which it notices changes from one pass to the next. If hard links are kept, it also
// holds some 50 bytes for each of up to 2^20 files with several names.
//
// [Options] say which entries are sent, and which of their properties. With Options.Skip, entries
// that cannot be sent, and files that change while they are read, are skipped.
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
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// zeros holds the bytes of holes, for sums.
var zeros [record.MaxSpan]byte

// packer writes the records of one tree or stream.
type packer struct {
	*Origin // nil for a stream

	ctx  context.Context
	w    *record.Writer
	buf  []byte
	hash hash.Hash

	send   sender
	lacked *block.Set // blocks that receivers lack; nil: all
	first  int64      // first block of the current file
	number int        // number of the next entry
	kept   int64      // bytes before the next record that receivers have
	bytes  int64      // bytes of files so far
	inodes inodes
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

// Tree writes the records of the origin to w. A directory is sent under its name. If its path ends
// with a slash, or is "." or "..", its entries are sent without it. A symbolic link at a path is
// followed. The origin's Options say which entries are sent, and which of their properties.
//
// Tree ends when ctx does. If an entry has changed since an earlier pass, the error is a
// *ChangedError. If a file changes while it is first read, the error is a *ChangedError if
// Options.Skip is nil. Otherwise the file is read once more, and skipped if it changes again.
//
// lacked holds the blocks that receivers lack; nil means all. Tree does not send the contents of
// other blocks.
func (o *Origin) Tree(ctx context.Context, w io.Writer, lacked *block.Set) error {
	p := newPacker(ctx, w)
	p.Origin, p.lacked, p.send = o, lacked, p.contents
	if err := p.begins(o.options.Quick, record.Quick); err != nil {
		return err
	}
	if o.options.Delete {
		if err := p.deletes(); err != nil {
			return err
		}
	}
	return p.tree(false)
}

// Survey writes the same records as Tree, with the prints of blocks in place of their contents. If
// the origin is quick, it does not read files without blocks in lacked.
func (o *Origin) Survey(ctx context.Context, w io.Writer, lacked *block.Set) error {
	p := newPacker(ctx, w)
	p.Origin, p.lacked, p.send, p.buf = o, lacked, p.prints, make([]byte, block.Len)
	if err := p.begins(o.options.Quick, record.Quick); err != nil {
		return err
	}
	if err := p.begins(true, record.Survey); err != nil {
		return err
	}
	return p.tree(false)
}

// Outline writes the same records as Tree, without the contents of files, which it does not read.
// It is the first pass of a quick cast.
func (o *Origin) Outline(ctx context.Context, w io.Writer) error {
	if !o.options.Quick {
		return errors.New("an outline needs a quick origin")
	}
	p := newPacker(ctx, w)
	p.Origin = o
	if err := p.begins(true, record.Outline); err != nil {
		return err
	}
	return p.tree(true)
}

// begins writes a record of a kind that describes the pass, if is is true.
func (p *packer) begins(is bool, kind record.Kind) error {
	if !is {
		return nil
	}
	return p.w.Write(&record.Record{Kind: kind})
}

// deletes writes the records that say what receivers delete.
func (p *packer) deletes() error {
	all := slices.ContainsFunc(p.sources, func(s source) bool { return s.name == "" })
	if err := p.w.Write(&record.Record{Kind: record.Delete, All: all}); err != nil {
		return err
	}
	for _, r := range p.options.Filter.Rules() {
		if err := p.w.Write(&record.Record{Kind: record.Rule, All: r.Include, Target: r.Pattern}); err != nil {
			return err
		}
	}
	return nil
}

// sender sends an open file.
type sender func(f *os.File, e *entry) error

// tree sends all entries.
func (p *packer) tree(probe bool) error {
	if err := p.walk(p.ctx, p, probe); err != nil {
		return err
	}
	return p.end()
}

// settled implements visitor.
func (p *packer) settled() bool { return p.whole || p.number < p.seen.n }

// enter implements visitor.
func (p *packer) enter(e *entry, dir *os.Root) error {
	attr, err := p.attributesOf(dir, e)
	if err != nil {
		return ofSource(err)
	}
	return p.begin(attr, &record.Record{Kind: record.Directory, Name: e.name, Mode: p.mode(e.info), Time: e.info.ModTime().UnixNano()}, e.path)
}

// leave implements visitor.
func (p *packer) leave() error { return p.w.Write(&record.Record{Kind: record.Up}) }

// link implements visitor.
func (p *packer) link(e *entry, target string) error {
	kind := record.Link
	if record.CheckTarget(target, p.w.Depth()) != nil {
		kind = record.FreeLink
	}
	var attr *record.Attributes
	if p.options.Owner {
		attr = &record.Attributes{Owner: p.owner(e.info)}
	}
	return p.begin(attr, &record.Record{Kind: kind, Name: e.name, Target: target}, e.path)
}

// omit implements visitor.
func (p *packer) omit(name string) error {
	return p.w.Write(&record.Record{Kind: record.Omission, Name: name})
}

// mode returns the mode that is sent for an entry.
func (p *packer) mode(info fs.FileInfo) fs.FileMode {
	mode := info.Mode().Perm()
	if p.options.Special {
		mode |= info.Mode() & record.Special
	}
	return p.options.Modes.apply(mode, info.IsDir())
}

// kindOf names the kind of an entry that is neither a file, a directory nor a link.
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

// within replaces the last element of the path in an error by the whole path.
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

// begin writes the head of an entry. In a later pass, it must be the same as in the first pass.
func (p *packer) begin(attr *record.Attributes, r *record.Record, path string) error {
	if err := p.see(p.number, attr, r, path); err != nil {
		return err
	}
	p.number++
	if attr != nil {
		if err := p.w.Write(&record.Record{Kind: record.Attr, Attributes: attr}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := p.w.Write(r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Stream writes all bytes of r to w, as the records of a stream, and returns their digest. When ctx
// ends, Stream returns an error after the current read.
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

// sum returns the sum of the bytes since the last sum.
func (p *packer) sum() (r record.Record) {
	r.Kind = record.Sum
	p.hash.Sum(r.Sum[:0])
	p.hash.Reset()
	return r
}

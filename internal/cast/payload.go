package cast

import (
	"context"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// Payload is what a cast sends to hosts: files, or a stream.
type Payload struct {
	Name   string       // name in results and messages
	Origin *pack.Origin // the files; nil for a stream
	Totals *pack.Totals // number of entries and bytes of the files; nil if not known
	Stream io.Reader    // the stream, whose length need not be known
}

// Files returns the payload of the file or directory at path, which it measures; see [pack.At].
func Files(ctx context.Context, path string) (*Payload, error) {
	return FilesOf(ctx, []string{path}, pack.Options{})
}

// FilesOf returns the payload of the files and directories at paths, which it measures; see
// [pack.New].
func FilesOf(ctx context.Context, paths []string, o pack.Options) (*Payload, error) {
	origin, err := pack.New(paths, o)
	if err != nil {
		return nil, err
	}
	totals, err := origin.Measure(ctx)
	if err != nil {
		return nil, err
	}
	name := paths[0]
	if more := len(paths) - 1; more > 0 {
		name = fmt.Sprintf("%s and %d more", name, more)
	}
	return &Payload{Name: name, Origin: origin, Totals: &totals}, nil
}

// FromReader returns the payload of all bytes of r. It can be sent only once, so a host that comes
// too late for the first round gets nothing. A Read that blocks delays the end of the cast.
func FromReader(name string, r io.Reader) *Payload { return &Payload{Name: name, Stream: r} }

// accept returns what receivers must accept to get the payload.
func (p *Payload) accept() unpack.Accept {
	if p.streams() {
		return unpack.Accept{}
	}
	o := p.Origin.Options()
	return unpack.Accept{
		Owner: o.Owner, Special: o.Special || o.Modes.Special(), ACL: o.ACL, Xattr: o.Xattr, FreeLinks: o.Links == pack.LinksFree,
	}
}

// streams reports whether the payload is a stream, which comes once.
func (p *Payload) streams() bool { return p.Origin == nil }

// bytes returns the number of bytes, or -1 if it is not known.
func (p *Payload) bytes() int64 {
	if p.Totals == nil {
		return -1
	}
	return p.Totals.Bytes
}

// source returns the source of the blocks in lacked, or of everything if lacked is nil. A stream
// sets *digest at its end.
func (p *Payload) source(lacked *block.Set, digest *Digest) Source {
	if p.streams() {
		return Stream(p.Stream, digest)
	}
	return Tree(p.Origin, lacked)
}

package cast

import (
	"context"
	"io"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/pack"
)

// Payload is what a cast sends to hosts: files, or a stream.
type Payload struct {
	Name   string       // in results and messages
	Origin *pack.Origin // the files; nil of a stream
	Totals *pack.Totals // number of entries and bytes of the files, as far as is known
	Stream io.Reader    // the stream, whose length nobody knows
}

// Files returns the payload of the file or directory at path, which it measures; see [pack.At].
func Files(ctx context.Context, path string) (*Payload, error) {
	totals, err := pack.Measure(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Payload{Name: path, Origin: pack.At(path), Totals: &totals}, nil
}

// FromReader returns the payload of all bytes that r gives. It can be sent once: a host that comes
// too late for the first round gets nothing. A Read that blocks delays the end of the cast.
func FromReader(name string, r io.Reader) *Payload { return &Payload{Name: name, Stream: r} }

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

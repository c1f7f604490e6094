package record

import (
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/schedgen/schedgen/cast/block"
)

// grammar says which record may follow those before, and computes their digest. Writer and Reader share
// it.
type grammar struct {
	last    []string // by depth, the name of the entry that was last in the directory
	entries int64
	open    Kind  // File or Stream: its data follow; 0: none
	left    int64 // bytes of the file that are still to come
	holes   bool  // the file may have some
	whole   bool  // a stream was sent, so nothing else may be
	begun   bool
	survey  bool // files come as prints
	ended   bool
	hash    hash.Hash // of the entries
	scratch []byte
}

// next takes note of r. It returns an error that wraps ErrFormat unless r may come now, and one that
// wraps ErrDigest if r is the end of something else.
func (g *grammar) next(r *Record) error {
	if g.last == nil {
		g.last, g.hash = []string{""}, sha256.New()
	}
	if err := g.follow(r); err != nil {
		return err
	}
	switch r.Kind {
	case Directory, Up, File, Link, Stream, Sum:
		entry := *r
		entry.Holes = false // how a file lies on the disk may differ from one time to the next
		g.scratch = appendHead(g.scratch[:0], &entry)
		g.hash.Write(g.scratch)
	}
	return nil
}

// digest returns the digest of the entries so far.
func (g *grammar) digest() (d Digest) {
	if g.hash == nil {
		return sha256.Sum256(nil)
	}
	g.hash.Sum(d[:0])
	return d
}

// follow returns an error unless r may come now.
func (g *grammar) follow(r *Record) error {
	first := !g.begun
	g.begun = true
	switch {
	case r.Kind == Survey && first:
		g.survey = true
		return nil
	case r.Kind == Stream && g.survey:
		return fmt.Errorf("%w: a survey of a stream", ErrFormat)
	case g.ended:
		return fmt.Errorf("%w: something follows the end", ErrFormat)
	case g.open != 0:
		return g.content(r)
	}
	switch r.Kind {
	case Directory, File, Link:
		return g.entry(r)
	case Stream:
		if g.entries > 0 {
			return fmt.Errorf("%w: a stream beside files", ErrFormat)
		}
		g.entries, g.open, g.left, g.holes, g.whole = 1, Stream, 0, false, true
		return nil
	case Up:
		if len(g.last) == 1 {
			return fmt.Errorf("%w: it leaves the directory that all is in", ErrFormat)
		}
		g.last = g.last[:len(g.last)-1]
		return nil
	case End:
		return g.end(r)
	}
	return fmt.Errorf("%w: a record of kind %q where no file is open", ErrFormat, r.Kind)
}

func (g *grammar) entry(r *Record) error {
	last := &g.last[len(g.last)-1]
	if err := CheckName(r.Name); err != nil {
		return err
	}
	switch {
	case g.whole:
		return fmt.Errorf("%w: %q beside a stream", ErrFormat, r.Name)
	case r.Name <= *last:
		return fmt.Errorf("%w: %q comes after %q", ErrFormat, r.Name, *last)
	case r.Mode&^0o777 != 0:
		return fmt.Errorf("%w: %q has mode %v", ErrFormat, r.Name, r.Mode)
	}
	*last = r.Name
	g.entries++
	switch r.Kind {
	case Directory:
		if len(g.last) > MaxDepth {
			return fmt.Errorf("%w: more than %d directories inside each other, at %q", ErrFormat, MaxDepth, r.Name)
		}
		g.last = append(g.last, "")
	case File:
		if r.Size < 0 {
			return fmt.Errorf("%w: %q has %d bytes", ErrFormat, r.Name, uint64(r.Size))
		}
		g.open, g.left, g.holes = File, r.Size, r.Holes
	case Link:
		return CheckTarget(r.Target, len(g.last)-1)
	}
	return nil
}

// content is what may follow where a file or a stream is open.
func (g *grammar) content(r *Record) error {
	n := r.Size
	switch {
	case g.survey && r.Kind == Print && g.left > 0:
		g.left -= min(g.left, block.Len)
		return nil
	case g.survey && r.Kind == Print:
		return fmt.Errorf("%w: a file has more blocks than was said", ErrFormat)
	case g.survey && r.Kind != Sum:
		return fmt.Errorf("%w: a record of kind %q in a survey", ErrFormat, r.Kind)
	case r.Kind == Sum && g.left == 0:
		g.open = 0
		return nil
	case r.Kind == Sum:
		return fmt.Errorf("%w: %d bytes of a file are missing", ErrFormat, g.left)
	case r.Kind == Data:
		n = int64(len(r.Data))
	case r.Kind == Keep && g.open == File:
	case r.Kind != Hole || !g.holes:
		return fmt.Errorf("%w: a record of kind %q where data should be", ErrFormat, r.Kind)
	}
	switch {
	case n <= 0 || r.Kind == Data && n > MaxSpan:
		return fmt.Errorf("%w: a stretch of %d bytes", ErrFormat, n)
	case g.open == Stream:
		return nil
	case n > g.left:
		return fmt.Errorf("%w: a file has %d bytes more than was said", ErrFormat, n-g.left)
	}
	g.left -= n
	return nil
}

func (g *grammar) end(r *Record) error {
	switch {
	case len(g.last) > 1:
		return fmt.Errorf("%w: it ends inside of a directory", ErrFormat)
	case r.Size != g.entries:
		return fmt.Errorf("%w: it ends after %d entries and says that there were %d", ErrFormat, g.entries, r.Size)
	case r.Sum != g.digest():
		return ErrDigest
	}
	g.ended = true
	return nil
}

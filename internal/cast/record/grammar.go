package record

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"strings"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/filter"
)

// grammar checks the order of records, and computes their digest. Writer and Reader share it.
type grammar struct {
	last     []string // by depth, the last name in the directory
	entries  int64
	open     Kind  // File or Stream whose data follow; 0: none
	size     int64 // size of the open file
	left     int64 // bytes of the open file that follow
	holes    bool  // the open file may have holes
	whole    bool  // a stream was sent; nothing else may follow
	head     int   // stage of the records that describe the pass
	quick    bool
	survey   bool // files have prints in place of contents
	outline  bool // files have neither contents nor prints
	rules    int
	attr     *Attributes // attributes of the next entry
	links    uint32      // highest number of a file with further names
	numbered bool        // the open file has this number
	again    bool        // the last name may follow again, because its file was void
	ended    bool
	hash     hash.Hash // hash of the entries
	pending  []byte    // bytes of the open entry, which are hashed if it is completed
}

// next records r. It returns an error that wraps ErrFormat if r may not follow, and one that wraps
// ErrDigest if r is an End with another digest.
func (g *grammar) next(r *Record) error {
	if g.last == nil {
		g.last, g.hash = []string{""}, sha256.New()
	}
	if err := g.follow(r); err != nil {
		return err
	}
	switch r.Kind {
	case Attr:
		g.pending = appendHead(g.pending, r)
	case Directory, Up, Link, FreeLink, HardLink:
		g.pending = appendHead(g.pending, r)
		g.commit()
	case File, Stream:
		entry := *r
		entry.Holes = false // holes may change in a file that does not change
		g.pending = appendHead(g.pending, &entry)
		if g.open == 0 { // in an outline
			g.commit()
		}
	case Sum:
		if !g.quick {
			g.pending = appendHead(g.pending, r)
		}
		g.commit()
	case Same:
		g.commit()
	case Void:
		g.pending = g.pending[:0]
	}
	return nil
}

// commit hashes the pending bytes of a complete entry.
func (g *grammar) commit() {
	g.hash.Write(g.pending)
	g.pending = g.pending[:0]
}

// digest returns the digest of the entries so far.
func (g *grammar) digest() (d Digest) {
	if g.hash == nil {
		return sha256.Sum256(nil)
	}
	g.hash.Sum(d[:0])
	return d
}

// stageOf returns the stage of a record that describes the pass, or 0 for other records. Stages
// ascend.
func stageOf(k Kind) int {
	switch k {
	case Quick:
		return 1
	case Survey, Outline:
		return 2
	case Delete, Rule:
		return 3
	}
	return 0
}

// entriesBegun is the stage after all others.
const entriesBegun = 4

// follow returns an error unless r may follow.
func (g *grammar) follow(r *Record) error {
	stage, before := stageOf(r.Kind), g.head
	switch {
	case g.ended:
		return fmt.Errorf("%w: something follows the end", ErrFormat)
	case stage > 0 && stage >= g.head && g.head < entriesBegun:
		return g.begin(r, stage)
	}
	g.head = entriesBegun
	switch {
	case r.Kind == Stream && before > 0 && before < entriesBegun:
		return fmt.Errorf("%w: a survey of a stream, or one with deletion", ErrFormat)
	case g.open != 0:
		return g.content(r)
	case g.attr != nil && r.Kind != Directory && r.Kind != File && r.Kind != Link && r.Kind != FreeLink:
		return fmt.Errorf("%w: a record of kind %q after attributes", ErrFormat, r.Kind)
	}
	switch r.Kind {
	case Directory, File, Link, FreeLink, HardLink, Omission:
		return g.entry(r)
	case Attr:
		return g.attributes(r.Attributes)
	case Stream:
		if g.entries > 0 || g.last[0] != "" {
			return fmt.Errorf("%w: a stream beside files", ErrFormat)
		}
		g.entries, g.open, g.left, g.holes, g.whole = 1, Stream, 0, false, true
		return nil
	case Up:
		if len(g.last) == 1 {
			return fmt.Errorf("%w: it leaves the top directory", ErrFormat)
		}
		g.last, g.again = g.last[:len(g.last)-1], false
		return nil
	case End:
		return g.end(r)
	}
	return fmt.Errorf("%w: a record of kind %q outside of a file", ErrFormat, r.Kind)
}

// begin checks a record that describes the pass.
func (g *grammar) begin(r *Record, stage int) error {
	again := stage == g.head
	g.head = stage
	switch {
	case r.Kind == Rule && !again:
		return fmt.Errorf("%w: a rule where nothing is deleted", ErrFormat)
	case r.Kind == Rule:
		if g.rules++; g.rules > filter.MaxRules {
			return fmt.Errorf("%w: more than %d rules", ErrFormat, filter.MaxRules)
		}
		if len(r.Target) > filter.MaxPattern {
			return fmt.Errorf("%w: a pattern of %d bytes", ErrFormat, len(r.Target))
		}
		return nil
	case again:
		return fmt.Errorf("%w: a record of kind %q comes twice, or beside another", ErrFormat, r.Kind)
	case r.Kind == Outline && g.quick:
		return fmt.Errorf("%w: a quick outline", ErrFormat)
	}
	g.quick = g.quick || r.Kind == Quick || r.Kind == Outline
	g.survey, g.outline = r.Kind == Survey || g.survey, r.Kind == Outline || g.outline
	return nil
}

// attributes checks attributes.
func (g *grammar) attributes(a *Attributes) error {
	if len(a.Extended) > MaxExtended {
		return fmt.Errorf("%w: %d extended attributes, at most %d are allowed", ErrFormat, len(a.Extended), MaxExtended)
	}
	if a.Link != 0 && (a.Link != g.links+1 || a.Link > MaxLinks) {
		return fmt.Errorf("%w: a file of number %d after %d", ErrFormat, a.Link, g.links)
	}
	if o := a.Owner; o != nil && (len(o.User) > MaxName || len(o.Group) > MaxName) {
		return fmt.Errorf("%w: the name of an owner has more than %d bytes", ErrFormat, MaxName)
	}
	last, left := "", MaxValues
	for _, e := range a.Extended {
		left -= len(e.Value)
		switch {
		case len(e.Name) > MaxName || e.Name <= last || strings.ContainsRune(e.Name, 0):
			return fmt.Errorf("%w: the extended attribute %q after %q", ErrFormat, e.Name, last)
		case IsACL(e.Name) && !a.ACL || !IsACL(e.Name) && !a.Xattr:
			return fmt.Errorf("%w: unexpected extended attribute %q", ErrFormat, e.Name)
		case len(e.Value) > MaxValue || left < 0:
			return fmt.Errorf("%w: the value of %q has %d bytes", ErrFormat, e.Name, len(e.Value))
		}
		last = e.Name
	}
	g.attr = a
	return nil
}

func (g *grammar) entry(r *Record) error {
	last := &g.last[len(g.last)-1]
	if err := CheckName(r.Name); err != nil {
		return err
	}
	switch {
	case g.whole:
		return fmt.Errorf("%w: %q beside a stream", ErrFormat, r.Name)
	case r.Name < *last || r.Name == *last && !g.again:
		return fmt.Errorf("%w: %q comes after %q", ErrFormat, r.Name, *last)
	case r.Mode&^(fs.ModePerm|Special) != 0:
		return fmt.Errorf("%w: %q has mode %v", ErrFormat, r.Name, r.Mode)
	}
	*last, g.again = r.Name, false
	if r.Kind == Omission {
		return nil
	}
	g.entries++
	attr := g.attr
	g.attr = nil
	if attr != nil && r.Kind != File && attr.Link != 0 {
		return fmt.Errorf("%w: %q has a number but is not a file", ErrFormat, r.Name)
	}
	switch r.Kind {
	case Directory:
		if len(g.last) > MaxDepth {
			return fmt.Errorf("%w: more than %d nested directories, at %q", ErrFormat, MaxDepth, r.Name)
		}
		g.last = append(g.last, "")
	case File:
		if r.Size < 0 {
			return fmt.Errorf("%w: %q has %d bytes", ErrFormat, r.Name, uint64(r.Size))
		}
		if attr != nil && attr.Link != 0 {
			g.links, g.numbered = attr.Link, !g.outline
		}
		if !g.outline {
			g.open, g.size, g.left, g.holes = File, r.Size, r.Size, r.Holes
		}
	case HardLink:
		if r.Size < 1 || r.Size > int64(g.links) {
			return fmt.Errorf("%w: %q is a further name of file %d of %d", ErrFormat, r.Name, r.Size, g.links)
		}
	case Link:
		return CheckTarget(r.Target, len(g.last)-1)
	case FreeLink:
		return checkFree(r.Target)
	}
	return nil
}

// content checks a record that follows in an open file or stream.
func (g *grammar) content(r *Record) error {
	n := r.Size
	switch {
	case r.Kind == Void && g.open == File:
		if g.numbered {
			g.links--
		}
		g.open, g.again, g.numbered = 0, true, false
		g.entries--
		return nil
	case r.Kind == Same && g.quick && g.left == g.size:
		g.open, g.numbered = 0, false
		return nil
	case g.survey && r.Kind == Print && g.left > 0:
		g.left -= min(g.left, block.Len)
		return nil
	case g.survey && r.Kind == Print:
		return fmt.Errorf("%w: a file has more blocks than announced", ErrFormat)
	case g.survey && r.Kind != Sum:
		return fmt.Errorf("%w: a record of kind %q in a survey", ErrFormat, r.Kind)
	case r.Kind == Sum && g.left == 0:
		g.open, g.numbered = 0, false
		return nil
	case r.Kind == Sum:
		return fmt.Errorf("%w: %d bytes of a file are missing", ErrFormat, g.left)
	case r.Kind == Data:
		n = int64(len(r.Data))
	case r.Kind == Keep && g.open == File:
	case r.Kind != Hole || !g.holes:
		return fmt.Errorf("%w: a record of kind %q in place of data", ErrFormat, r.Kind)
	}
	switch {
	case n <= 0 || r.Kind == Data && n > MaxSpan:
		return fmt.Errorf("%w: a stretch of %d bytes", ErrFormat, n)
	case g.open == Stream:
		return nil
	case n > g.left:
		return fmt.Errorf("%w: a file has %d bytes more than announced", ErrFormat, n-g.left)
	}
	g.left -= n
	return nil
}

func (g *grammar) end(r *Record) error {
	switch {
	case g.attr != nil:
		return fmt.Errorf("%w: it ends after attributes", ErrFormat)
	case len(g.last) > 1:
		return fmt.Errorf("%w: it ends inside a directory", ErrFormat)
	case r.Size != g.entries:
		return fmt.Errorf("%w: it ends after %d entries, but announces %d", ErrFormat, g.entries, r.Size)
	case r.Sum != g.digest():
		return ErrDigest
	}
	g.ended = true
	return nil
}

package unpack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/record"
)

// PartialName returns under which name in its directory what has come of a file stays.
func PartialName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return TempPrefix + hex.EncodeToString(sum[:12])
}

// Held is what is there of a tree that is to come: in files that have not all, and in those that
// stand under its names.
type Held struct {
	partial, old block.Set // what is not there
	lacked       block.Set
	digest       record.Digest // of the survey
}

// Lacked returns which blocks are not there.
func (h *Held) Lacked() *block.Set { return &h.lacked }

// add takes note of the next block.
func (h *Held) add(partial, old bool) {
	h.partial.Append(!partial)
	h.old.Append(!old)
	h.lacked.Append(!partial && !old)
}

// truncate forgets all blocks but the first n.
func (h *Held) truncate(n int64) {
	h.partial.Truncate(n)
	h.old.Truncate(n)
	h.lacked.Truncate(n)
}

// surveyor compares what is to come with what is there, and changes nothing.
type surveyor struct {
	ctx   context.Context
	r     *record.Reader
	held  Held
	quick bool  // it is an outline: size and time count
	dirs  []Dir // those that are open, the outermost first; nil: it is not there
	buf   []byte
}

// Survey reads the records of a survey or an outline, and looks for the blocks that they speak of
// below dir, which is nil if there is no directory. Of an outline all blocks of a file are there if
// its size and time are right; it is not read. A file that cannot be read counts as none. When ctx
// ends, so does Survey.
func Survey(ctx context.Context, r io.Reader, dir Dir) (*Held, error) {
	s := &surveyor{ctx: ctx, r: record.NewReader(r), dirs: []Dir{dir}, buf: make([]byte, block.Len)}
	defer func() {
		for len(s.dirs) > 1 {
			s.leave()
		}
	}()
	rec, err := s.next()
	if err == nil && rec.Kind == record.Quick {
		rec, err = s.next()
	}
	if s.quick = rec.Kind == record.Outline; err == nil && !s.quick && rec.Kind != record.Survey {
		err = ErrFiles
	}
	for err == nil {
		if rec, err = s.next(); err != nil {
			break
		}
		switch rec.Kind {
		case record.Directory:
			s.enter(rec.Name)
		case record.Up:
			s.leave()
		case record.File:
			err = s.file(&rec)
		case record.End:
			s.held.digest = rec.Sum
			return &s.held, nil
		}
	}
	return nil, err
}

func (s *surveyor) next() (record.Record, error) {
	if s.ctx.Err() != nil {
		return record.Record{}, context.Cause(s.ctx)
	}
	return s.r.Next()
}

func (s *surveyor) here() Dir { return s.dirs[len(s.dirs)-1] }

func (s *surveyor) enter(name string) {
	var below Dir
	if here := s.here(); here != nil {
		if info, err := here.Lstat(name); err == nil && info.IsDir() {
			if dir, err := here.Enter(name); err == nil {
				below = dir
			}
		}
	}
	s.dirs = append(s.dirs, below)
}

func (s *surveyor) leave() {
	if dir := s.here(); dir != nil {
		_ = dir.Close() // nothing was written
	}
	s.dirs = s.dirs[:len(s.dirs)-1]
}

// file compares the blocks of a file.
func (s *surveyor) file(rec *record.Record) error {
	if s.quick {
		s.stands(rec)
		return nil
	}
	before := s.held.lacked.Len()
	var partial, old File
	for at := int64(0); ; at += block.Len {
		r, err := s.next()
		switch {
		case err != nil:
			return err
		case r.Kind == record.Same:
			s.stands(rec)
			return nil
		case r.Kind == record.Void:
			s.held.truncate(before)
			return nil
		case r.Kind == record.Sum: // the digest has it
			return nil
		}
		if at == 0 {
			partial, old = openIn(s.here(), PartialName(rec.Name)), openIn(s.here(), rec.Name)
			for _, f := range []File{partial, old} {
				if f != nil {
					defer f.Close()
				}
			}
		}
		n := min(rec.Size-at, block.Len)
		inPartial := s.has(partial, at, n, &r.Print)
		s.held.add(inPartial, !inPartial && s.has(old, at, n, &r.Print))
	}
}

// stands says of all blocks of a file whether they are there, by its size and time.
func (s *surveyor) stands(rec *record.Record) {
	there := false
	if dir := s.here(); dir != nil {
		info, err := dir.Lstat(rec.Name)
		there = err == nil && unchanged(info, rec)
	}
	for range block.Count(rec.Size) {
		if s.held.lacked.Len() == block.Most {
			break // those behind are lacked
		}
		s.held.add(false, there)
	}
}

// openIn opens a file that is there; nil if there is none, or none that can be read.
func openIn(dir Dir, name string) File {
	if dir == nil {
		return nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil
	}
	return f
}

// has reports whether n bytes of a file have a print.
func (s *surveyor) has(f File, at, n int64, want *block.Print) bool {
	if f == nil {
		return false
	}
	got, err := f.ReadAt(s.buf[:n], at)
	return int64(got) == n && (err == nil || errors.Is(err, io.EOF)) && block.PrintOf(s.buf[:n]) == *want
}

// whole reports whether the file that stands under a name is just what is to come.
func (h *Held) whole(dir Dir, rec *record.Record, first int64) bool {
	for i := range block.Count(rec.Size) {
		if h.old.Lacks(first + i) {
			return false
		}
	}
	info, err := dir.Lstat(rec.Name)
	return err == nil && info.Mode().IsRegular() && info.Size() == rec.Size
}

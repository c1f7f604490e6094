package unpack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// PartialName returns the name of the partial file that remains, in the same directory, of a file
// that has not come completely.
func PartialName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return TempPrefix + hex.EncodeToString(sum[:12])
}

// Held says which blocks of a tree exist on this host, in partial files and in complete files of
// the same names.
type Held struct {
	partial, old block.Set // blocks that partial files, and files of the same names, lack
	lacked       block.Set
	digest       record.Digest // digest of the survey
}

// Lacked returns the blocks that this host lacks.
func (h *Held) Lacked() *block.Set { return &h.lacked }

// add records the next block.
func (h *Held) add(partial, old bool) {
	h.partial.Append(!partial)
	h.old.Append(!old)
	h.lacked.Append(!partial && !old)
}

// truncate removes all blocks after the first n.
func (h *Held) truncate(n int64) {
	h.partial.Truncate(n)
	h.old.Truncate(n)
	h.lacked.Truncate(n)
}

// surveyor compares the sender's files with those on this host. It changes nothing.
type surveyor struct {
	ctx   context.Context
	r     *record.Reader
	held  Held
	quick bool  // the records are an outline: only size and time count
	dirs  []Dir // open directories, the outermost first; nil: does not exist
	buf   []byte
}

// Survey reads the records of a survey or an outline, and looks for their blocks below dir. dir is
// nil if there is no directory. With an outline, Survey reads no files: all blocks of a file exist
// if its size and time are right. A file that cannot be read counts as missing. Survey returns an
// error when ctx ends.
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
		err = errors.New("files or a stream came in place of a survey")
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

func (s *surveyor) current() Dir { return s.dirs[len(s.dirs)-1] }

func (s *surveyor) enter(name string) {
	var below Dir
	if here := s.current(); here != nil {
		if info, err := here.Lstat(name); err == nil && info.IsDir() {
			if dir, err := here.Enter(name); err == nil {
				below = dir
			}
		}
	}
	s.dirs = append(s.dirs, below)
}

func (s *surveyor) leave() {
	if dir := s.current(); dir != nil {
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
		case r.Kind == record.Sum: // the digest covers it
			return nil
		}
		if at == 0 {
			partial, old = openIn(s.current(), PartialName(rec.Name)), openIn(s.current(), rec.Name)
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

// stands records all blocks of a file as present or lacked, by its size and time.
func (s *surveyor) stands(rec *record.Record) {
	there := false
	if dir := s.current(); dir != nil {
		info, err := dir.Lstat(rec.Name)
		there = err == nil && unchanged(info, rec)
	}
	for range block.Count(rec.Size) {
		if s.held.lacked.Len() == block.Most {
			break // later blocks count as lacked
		}
		s.held.add(false, there)
	}
}

// openIn opens an existing file. It returns nil if there is none, or if it cannot be read.
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

// has reports whether the n bytes of f from byte at on have the print want.
func (s *surveyor) has(f File, at, n int64, want *block.Print) bool {
	if f == nil {
		return false
	}
	got, err := f.ReadAt(s.buf[:n], at)
	return int64(got) == n && (err == nil || errors.Is(err, io.EOF)) && block.PrintOf(s.buf[:n]) == *want
}

// whole reports whether the existing file is the same as the sender's.
func (h *Held) whole(dir Dir, rec *record.Record, first int64) bool {
	for i := range block.Count(rec.Size) {
		if h.old.Lacks(first + i) {
			return false
		}
	}
	info, err := dir.Lstat(rec.Name)
	return err == nil && info.Mode().IsRegular() && info.Size() == rec.Size
}

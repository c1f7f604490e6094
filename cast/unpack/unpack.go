// Package unpack writes what the records of package record say: a tree below a directory, or a
// stream. It takes whatever comes and writes nothing outside of that directory.
//
// A file is written beside its place, under a name that begins with TempPrefix, and
// renamed when all of it is there, its SHA-256 is right and the disk has it. So it is whole or
// absent. After an error nothing is left under such a name; a process that is killed leaves a few dozen at most.
package unpack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/schedgen/schedgen/cast/record"
)

// TempPrefix is what the names of files that are not whole yet begin with.
const TempPrefix = ".schedgen-cast-"

// reserveFrom is the size of files for which room is reserved, in bytes.
const reserveFrom = 1 << 20

// Target says where what comes goes.
type Target struct {
	Dir    Dir       // files; nil: that files come is an error. It is not closed
	Stream io.Writer // a stream; nil: that one comes is an error
	// Keep has what has come of a file stay when something fails, under its PartialName. Nobody else may write there meanwhile.
	Keep bool
	// Held is what Survey has found, of which the sender keeps back some; nil: nothing. It needs Keep.
	Held *Held
}

// Errors of a target that does not fit.
var (
	ErrFiles  = errors.New("files come, where a stream was to come")
	ErrStream = errors.New("a stream comes, where files were to come")
	// ErrSurvey: a survey comes, where what it speaks of was to come.
	ErrSurvey = errors.New("a survey comes, where files or a stream were to come")
	// ErrSum: what has come is not what was sent.
	ErrSum = errors.New("its SHA-256 is wrong")
)

// Totals is how much has been written, and what.
type Totals struct {
	Entries int64         // directories, files and links; 1 of a stream
	Bytes   int64         // of files, holes included, or of the stream
	Digest  record.Digest // of all; zero before all has been written
}

// unpacker writes one tree or stream.
type unpacker struct {
	ctx    context.Context
	r      *record.Reader
	target Target
	levels []level // directories that are open, the outermost first
	totals Totals
	hash   hash.Hash
	temps  temps
	disk   disk
	zeros  []byte
	buf    []byte
	first  int64 // block of the file that comes
}

// level is a directory that is being written to.
type level struct {
	dir  Dir
	name string
	mode fs.FileMode
	time int64
}

// Unpack reads the records that r gives and writes what they say. It returns nil when all is
// where it belongs, and the disk has it. When ctx ends, so does Unpack, after the read or the write that is under way.
func Unpack(ctx context.Context, r io.Reader, t Target) (totals Totals, err error) {
	u := &unpacker{ctx: ctx, r: record.NewReader(r), target: t, hash: sha256.New(), temps: temps{rand.Text(), 0}}
	if t.Dir != nil {
		u.levels = []level{{dir: t.Dir}}
	}
	defer func() {
		err = errors.Join(err, u.disk.settle(0))
		totals = u.totals
		for len(u.levels) > 1 {
			err = errors.Join(err, u.pop().dir.Close())
		}
	}()
	for {
		rec, err := u.next()
		if err != nil {
			return totals, err
		}
		if rec.Kind == record.Survey {
			return totals, ErrSurvey
		}
		if rec.Kind == record.End {
			return totals, u.end(&rec)
		}
		if err := u.put(&rec); err != nil {
			return totals, err
		}
	}
}

func (u *unpacker) next() (record.Record, error) {
	if u.ctx.Err() != nil {
		return record.Record{}, context.Cause(u.ctx)
	}
	return u.r.Next()
}

// end has the disk keep the names in the outermost directory.
func (u *unpacker) end(rec *record.Record) error {
	if held := u.target.Held; held != nil && held.digest != rec.Sum {
		return errChanged
	}
	err := u.disk.settle(0)
	if err == nil && u.target.Dir != nil && u.totals.Entries > 0 {
		err = u.target.Dir.Sync()
	}
	if err == nil {
		u.totals.Digest = rec.Sum
	}
	return err
}

// put does what a record says that stands between files.
func (u *unpacker) put(rec *record.Record) (err error) {
	if rec.Kind == record.Stream {
		u.totals.Entries++
		return u.stream()
	}
	if u.target.Dir == nil {
		return ErrFiles
	}
	if rec.Kind == record.Up {
		return u.leave()
	}
	u.totals.Entries++
	switch rec.Kind {
	case record.Directory:
		err = u.enter(rec)
	case record.File:
		err = u.file(rec)
	case record.Link:
		err = u.link(rec)
	}
	return err
}

// here returns the directory that is being written to.
func (u *unpacker) here() Dir { return u.levels[len(u.levels)-1].dir }

// at names an entry of it, for errors.
func (u *unpacker) at(name string) string {
	var parts []string
	for _, l := range u.levels[1:] {
		parts = append(parts, l.name)
	}
	return path.Join(append(parts, name)...)
}

// failed says of which entry an error is.
func (u *unpacker) failed(name string, err error) error { return failedAt(u.at(name), err) }

func failedAt(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err // its path is part of this one, or a name of ours
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// enter goes into a directory, which is made unless it is there. A link is none, wherever it leads.
func (u *unpacker) enter(rec *record.Record) error {
	info, err := u.here().Lstat(rec.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = u.here().Mkdir(rec.Name, 0o700)
	case err == nil && !info.IsDir():
		err = errors.New("there is something that is no directory")
	}
	var dir Dir
	if err == nil {
		dir, err = u.here().Enter(rec.Name)
	}
	if err != nil {
		return u.failed(rec.Name, err)
	}
	u.levels = append(u.levels, level{dir, rec.Name, rec.Mode, rec.Time})
	return nil
}

func (u *unpacker) pop() level {
	l := u.levels[len(u.levels)-1]
	u.levels = u.levels[:len(u.levels)-1]
	return l
}

// leave goes out of a directory, which gets its permissions and its time once its files have their names.
func (u *unpacker) leave() error {
	l := u.pop()
	in, path := u.here(), u.at(l.name)
	return u.disk.give(nil, func(error) error {
		err := in.Chmod(l.name, l.mode)
		if err == nil {
			err = in.Chtimes(l.name, time.Unix(0, l.time))
		}
		if err != nil {
			err = failedAt(path, err)
		}
		return errors.Join(err, u.disk.give(l.dir.Sync, func(err error) error {
			if e := l.dir.Close(); err == nil {
				err = e
			}
			if err != nil {
				return failedAt(path, err)
			}
			return nil
		}))
	})
}

// link makes a link under another name first: a link that is there is replaced at once.
func (u *unpacker) link(rec *record.Record) error {
	temp := u.temps.next()
	err := u.here().Symlink(rec.Target, temp)
	if err == nil {
		if err = u.here().Rename(temp, rec.Name); err != nil {
			err = errors.Join(err, u.here().Remove(temp))
		}
	}
	if err != nil {
		return u.failed(rec.Name, err)
	}
	return nil
}

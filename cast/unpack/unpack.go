// Package unpack writes what the records of package record say: a tree below a directory, or a
// stream. It takes whatever comes and writes nothing outside of that directory.
//
// A file is written beside its place, under a name that begins with TempPrefix, and renamed when
// all of it is there, its SHA-256 is right and the disk has it. So it is whole or absent. After an
// error nothing is left under such a name; a process that is killed leaves a few dozen at most.
//
// No link is ever followed. What a receiver has not asked for is an error: see [Accept]. What the
// sender does not have is deleted in the end, if both sides ask for that, and only if it is not too
// much.
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
	// Keep has what has come of a file stay when something fails, under its PartialName. Nobody
	// else may write there meanwhile.
	Keep bool
	// Accept says what may come beside names, contents, permissions and times. What comes and was
	// not asked for is an error.
	Accept Accept
	// Delete is how many entries are deleted at most that the sender does not have, if it asks for
	// that; 0: that it asks is an error. If there are more, none is deleted.
	Delete int
	// Held is what Survey has found, of which the sender keeps back some; nil: nothing. It needs
	// Keep.
	Held *Held
}

// Accept is what a receiver has asked for. The zero value is safe whoever sends.
type Accept struct {
	Owner     bool `json:"owner,omitempty"`      // users and groups
	Special   bool `json:"special,omitempty"`    // setuid, setgid and sticky
	ACL       bool `json:"acl,omitempty"`        // access lists
	Xattr     bool `json:"xattr,omitempty"`      // other extended attributes
	FreeLinks bool `json:"free_links,omitempty"` // links that lead out of the directory
}

// Errors of a target that does not fit.
var (
	ErrFiles  = errors.New("files come, where a stream was to come")
	ErrStream = errors.New("a stream comes, where files were to come")
	// ErrSurvey: a survey comes, where what it speaks of was to come.
	ErrSurvey = errors.New("a survey comes, where files or a stream were to come")
	// ErrUnasked: something comes that Accept or Delete does not ask for.
	ErrUnasked = errors.New("this was not asked for here")
	// ErrTooMany: the sender does not have more entries than may be deleted.
	ErrTooMany = errors.New("too many entries would be deleted")
	// ErrSum: what has come is not what was sent.
	ErrSum = errors.New("its SHA-256 is wrong")
)

// Totals is how much has been written, and what.
type Totals struct {
	Entries int64         // directories, files and links; 1 of a stream
	Deleted int64         // entries that the sender does not have
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
	quick  bool
	attr   *record.Attributes // of the entry that comes next
	linked map[uint32]string  // paths of the files that have numbers
	owners owners
	prune  *pruner // nil: nothing is deleted
}

// level is a directory that is being written to.
type level struct {
	dir  Dir
	name string
	mode fs.FileMode
	time int64
	attr *record.Attributes // nil: none
	old  *old               // nil: nothing is deleted
}

// Unpack reads the records that r gives and writes what they say. It returns nil when all is where
// it belongs, and the disk has it. When ctx ends, so does Unpack, after the read or the write that
// is under way.
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
		if len(u.levels) > 0 {
			u.levels[0].old.stop()
		}
	}()
	for {
		rec, err := u.next()
		if err != nil {
			return totals, err
		}
		if rec.Kind == record.Survey || rec.Kind == record.Outline {
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
	if err == nil && u.prune != nil {
		err = u.sweep()
	}
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
	switch rec.Kind {
	case record.Up:
		return u.leave()
	case record.Quick:
		u.quick = true
		return nil
	case record.Delete, record.Rule:
		return u.deletes(rec)
	case record.Attr:
		u.attr = rec.Attributes
		return nil
	}
	if err := u.admit(rec); err != nil {
		return err
	}
	if err := u.passOver(rec.Name); err != nil {
		return err
	}
	if rec.Kind == record.Omission {
		return nil
	}
	u.totals.Entries++
	switch rec.Kind {
	case record.Directory:
		err = u.enter(rec)
	case record.File:
		err = u.file(rec)
	case record.Link, record.FreeLink:
		err = u.link(rec)
	case record.HardLink:
		err = u.hardLink(rec)
	}
	u.attr = nil
	return err
}

// admit returns an error unless an entry and its attributes were asked for.
func (u *unpacker) admit(rec *record.Record) error {
	may, a := u.target.Accept, u.attr
	var what string
	switch {
	case rec.Mode&record.Special != 0 && !may.Special:
		what = "setuid, setgid or sticky"
	case rec.Kind == record.FreeLink && !may.FreeLinks:
		what = "a link that may lead out of what is sent"
	case a == nil:
	case a.Owner != nil && !may.Owner:
		what = "an owner"
	case a.ACL && !may.ACL:
		what = "access lists"
	case a.Xattr && !may.Xattr:
		what = "extended attributes"
	}
	if what == "" {
		return nil
	}
	return u.failed(rec.Name, fmt.Errorf("%w: %s", ErrUnasked, what))
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
	return fmt.Errorf("write %s: %w", path, cause(err)) // its path is part of this one, or a name of ours
}

// enter goes into a directory, which is made unless it is there. A link is none, wherever it leads.
func (u *unpacker) enter(rec *record.Record) error {
	info, err := u.here().Lstat(rec.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = u.here().Mkdir(rec.Name, 0o700)
	case err == nil && !info.IsDir():
		err = errNoDir
	}
	var dir Dir
	if err == nil {
		dir, err = u.here().Enter(rec.Name)
	}
	if err != nil {
		return u.failed(rec.Name, err)
	}
	u.levels = append(u.levels, level{dir: dir, name: rec.Name, mode: rec.Mode, time: rec.Time, attr: u.attr})
	if u.prune != nil {
		u.levels[len(u.levels)-1].old = list(dir)
	}
	return nil
}

var errNoDir = errors.New("there is something that is no directory")

// free returns an error if a directory stands where a file or a link is to come.
func (u *unpacker) free(name string) error {
	info, err := u.here().Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.IsDir():
		return errors.New("a directory of this name is there")
	}
	return err
}

func (u *unpacker) pop() level {
	l := u.levels[len(u.levels)-1]
	l.old.stop()
	u.levels = u.levels[:len(u.levels)-1]
	return l
}

// leave goes out of a directory, which gets its permissions and its time once its files have their
// names.
func (u *unpacker) leave() error {
	if err := u.passOver(""); err != nil {
		return err
	}
	l := u.pop()
	in, path := u.here(), u.at(l.name)
	return u.disk.give(nil, func(error) error {
		err := u.attributes(l.attr, func(uid, gid int) error { return in.Lchown(l.name, uid, gid) }, l.dir.SetExtended)
		if err == nil {
			err = in.Chmod(l.name, l.mode)
		}
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
	if err := u.free(rec.Name); err != nil {
		return u.failed(rec.Name, err)
	}
	temp := u.temps.next()
	err := u.here().Symlink(rec.Target, temp)
	if err == nil {
		err = u.attributes(u.attr, func(uid, gid int) error { return u.here().Lchown(temp, uid, gid) }, nil)
		if err != nil {
			err = errors.Join(err, u.here().Remove(temp))
		}
	}
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

// Package unpack reads the records of package record, and writes a tree of files below a directory,
// or a stream. Whatever the records are, it writes nothing outside of that directory.
//
// A file is first written in its directory under a name that begins with TempPrefix. It is renamed
// when it is complete, its SHA-256 is right and the disk has it. So under its own name a file is
// complete, or as it was before. After an error, no such names are left, except PartialName if
// Target.Keep is set. A process that is killed leaves a few dozen at most.
//
// Package unpack never follows a link. Properties that a receiver has not asked for are an error:
// see [Accept]. Entries that the sender does not have are deleted at the end, if both sides ask for
// it, and if they are not too many.
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

	"github.com/schedgen/schedgen/internal/cast/record"
)

// TempPrefix is the beginning of the names of incomplete files.
const TempPrefix = ".schedgen-cast-"

// reserveFrom is the least size, in bytes, of files for which space is reserved.
const reserveFrom = 1 << 20

// Target says where to write.
type Target struct {
	Dir    Dir       // directory for files, which stays open; nil: files are an error
	Stream io.Writer // writer for a stream; nil: a stream is an error
	// Keep leaves the received part of an incomplete file under its PartialName. No other process
	// may write in the directory meanwhile.
	Keep bool
	// Accept says what the target accepts beside names, contents, permissions and times. Anything
	// else is an error.
	Accept Accept
	// Delete is the greatest number of entries that are deleted because the sender does not have
	// them. If there are more, none is deleted. 0 means that the sender may not ask for it.
	Delete int
	// Held is the result of Survey. The sender may keep back blocks that are in it. nil means that
	// the sender keeps back nothing. Held requires Keep.
	Held *Held
}

// Accept says what a receiver has asked for. The zero value is safe with any sender.
type Accept struct {
	Owner     bool `json:"owner,omitempty"`      // users and groups
	Special   bool `json:"special,omitempty"`    // setuid, setgid and sticky
	ACL       bool `json:"acl,omitempty"`        // access lists
	Xattr     bool `json:"xattr,omitempty"`      // other extended attributes
	FreeLinks bool `json:"free_links,omitempty"` // links that lead out of the directory
}

// Errors of a target that does not fit.
var (
	ErrFiles  = errors.New("files came in place of a stream")
	ErrStream = errors.New("a stream came in place of files")
	// ErrSurvey says that a survey came in place of files or a stream.
	ErrSurvey = errors.New("a survey came in place of files or a stream")
	// ErrUnasked says that Accept or Delete does not allow an entry.
	ErrUnasked = errors.New("not accepted at this host")
	// ErrTooMany says that more entries would be deleted than Delete allows.
	ErrTooMany = errors.New("too many entries would be deleted")
	// ErrSum says that the received data differ from the sent data.
	ErrSum = errors.New("its SHA-256 is wrong")
)

// Totals describes the written data.
type Totals struct {
	Entries int64         // directories, files and links; 1 for a stream
	Deleted int64         // entries deleted
	Bytes   int64         // bytes of files, with holes, or of the stream
	Digest  record.Digest // digest of everything; zero until everything is written
}

// unpacker writes one tree or stream.
type unpacker struct {
	ctx    context.Context
	r      *record.Reader
	target Target
	levels []level // open directories, the outermost first
	totals Totals
	hash   hash.Hash
	temps  temps
	disk   disk
	zeros  []byte
	buf    []byte
	first  int64 // first block of the current file
	quick  bool
	attr   *record.Attributes // attributes of the next entry
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

// Unpack reads records from r and writes their tree or stream to t. It returns nil when everything
// is written and the disk has it. When ctx ends, Unpack returns an error after the current read or
// write.
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

// end syncs the outermost directory.
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

// put executes a record outside of a file.
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

// current returns the directory that is being written to.
func (u *unpacker) current() Dir { return u.levels[len(u.levels)-1].dir }

// at returns the path of an entry of the current directory, for errors.
func (u *unpacker) at(name string) string {
	var parts []string
	for _, l := range u.levels[1:] {
		parts = append(parts, l.name)
	}
	return path.Join(append(parts, name)...)
}

// failed adds the path of an entry to an error.
func (u *unpacker) failed(name string, err error) error { return failedAt(u.at(name), err) }

func failedAt(path string, err error) error {
	return fmt.Errorf("write %s: %w", path, cause(err)) // the path in err is a part of path, or a temporary name
}

// enter enters a directory, and creates it if it does not exist. A link to a directory does not
// count as one.
func (u *unpacker) enter(rec *record.Record) error {
	info, err := u.current().Lstat(rec.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = u.current().Mkdir(rec.Name, 0o700)
	case err == nil && !info.IsDir():
		err = errNoDir
	}
	var dir Dir
	if err == nil {
		dir, err = u.current().Enter(rec.Name)
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

var errNoDir = errors.New("it exists and is not a directory")

// free returns an error if a directory has the name of a file or a link that follows.
func (u *unpacker) free(name string) error {
	info, err := u.current().Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.IsDir():
		return errors.New("a directory of this name exists")
	}
	return err
}

func (u *unpacker) pop() level {
	l := u.levels[len(u.levels)-1]
	l.old.stop()
	u.levels = u.levels[:len(u.levels)-1]
	return l
}

// leave leaves a directory. The directory gets its permissions and its time once its files have
// their names.
func (u *unpacker) leave() error {
	if err := u.passOver(""); err != nil {
		return err
	}
	l := u.pop()
	in, path := u.current(), u.at(l.name)
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

// link makes a link. It makes it under a temporary name first, and renames it, to replace an
// existing link atomically.
func (u *unpacker) link(rec *record.Record) error {
	if err := u.free(rec.Name); err != nil {
		return u.failed(rec.Name, err)
	}
	temp := u.temps.next()
	err := u.current().Symlink(rec.Target, temp)
	if err == nil {
		err = u.attributes(u.attr, func(uid, gid int) error { return u.current().Lchown(temp, uid, gid) }, nil)
		if err != nil {
			err = errors.Join(err, u.current().Remove(temp))
		}
	}
	if err == nil {
		if err = u.current().Rename(temp, rec.Name); err != nil {
			err = errors.Join(err, u.current().Remove(temp))
		}
	}
	if err != nil {
		return u.failed(rec.Name, err)
	}
	return nil
}

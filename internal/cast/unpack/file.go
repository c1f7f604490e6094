package unpack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// errVoid says that the open file is not sent.
var errVoid = errors.New("the sender could not read it whole, or it changed meanwhile")

// file writes a file. After a failure it leaves nothing, except a partial file if Target.Keep is
// set.
func (u *unpacker) file(rec *record.Record) error {
	dir, path, attr := u.current(), u.at(rec.Name), u.attr
	if err := u.free(rec.Name); err != nil {
		return failedAt(path, err)
	}
	first, err := u.next()
	if err != nil {
		return err
	}
	if first.Kind == record.Same {
		err = u.same(rec)
		u.first += block.Count(rec.Size)
		if err != nil {
			return failedAt(path, err)
		}
		u.number(attr, path)
		return nil
	}
	d, err := u.draw(rec)
	if err != nil {
		return failedAt(path, err)
	}
	err = u.content(d, rec, first)
	if errors.Is(err, errVoid) {
		u.totals.Entries--
		u.hash.Reset()
		return errors.Join(d.close(), u.discard(dir, d))
	}
	u.first += block.Count(rec.Size)
	if err != nil {
		return errors.Join(err, d.close(), u.drop(dir, d))
	}
	u.number(attr, path)
	return u.disk.give(d.file().Sync, func(err error) error {
		if e := d.close(); err == nil {
			err = e
		}
		if err == nil {
			err = u.place(dir, d, rec)
		}
		if err != nil {
			return errors.Join(failedAt(path, err), u.drop(dir, d))
		}
		u.totals.Bytes += rec.Size
		if u.target.Keep && d.name != "" {
			return nil // the file has its name already
		}
		if err := u.forget(dir, rec.Name); err != nil {
			return failedAt(path, err)
		}
		return nil
	})
}

// same keeps an existing file with the right size and time.
func (u *unpacker) same(rec *record.Record) error {
	dir := u.current()
	info, err := dir.Lstat(rec.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || u.target.Held == nil || !unchanged(info, rec) {
		return errChanged
	}
	u.totals.Bytes += rec.Size
	mode := info.Mode() & (fs.ModePerm | record.Special)
	if mode == rec.Mode && u.attr == nil {
		return nil
	}
	f, err := dir.Open(rec.Name)
	if err != nil {
		return err
	}
	err = u.attributes(u.attr, f.Chown, f.SetExtended)
	if err == nil {
		err = f.Chmod(rec.Mode)
	}
	return errors.Join(err, f.Close())
}

// unchanged reports whether a file has the size and the time of the sender's file. Some file
// systems store only whole seconds.
func unchanged(info fs.FileInfo, rec *record.Record) bool {
	if !info.Mode().IsRegular() || info.Size() != rec.Size {
		return false
	}
	is, want := info.ModTime(), time.Unix(0, rec.Time)
	return is.Equal(want) || is.Nanosecond() == 0 && is.Unix() == want.Unix()
}

// place gives a complete file its time and its name.
func (u *unpacker) place(dir Dir, d *draft, rec *record.Record) error {
	at := d.name
	if at == "" {
		at = rec.Name
	}
	if err := dir.Chtimes(at, time.Unix(0, rec.Time)); err != nil || at == rec.Name {
		return err
	}
	return dir.Rename(at, rec.Name)
}

// content writes the contents of a file. r is their first record.
func (u *unpacker) content(d *draft, rec *record.Record, r record.Record) error {
	if d.f != nil && rec.Size >= reserveFrom && !rec.Holes {
		if err := d.f.Reserve(rec.Size); err != nil {
			return u.failed(rec.Name, err)
		}
	}
	var at int64
	for {
		var err error
		switch r.Kind {
		case record.Void:
			return errVoid
		case record.Data:
			err = u.write(d, r.Data, at)
			at += int64(len(r.Data))
		case record.Hole:
			err = u.hole(d, at, r.Size)
			at += r.Size
		case record.Keep:
			err = u.take(d, at, r.Size)
			at += r.Size
		case record.Sum:
			if err = u.check(&r); err == nil {
				return u.seal(d, rec)
			}
		}
		if err != nil {
			return u.failed(rec.Name, err)
		}
		if r, err = u.next(); err != nil {
			return err
		}
	}
}

// seal sets the length and the permissions of a complete file.
func (u *unpacker) seal(d *draft, rec *record.Record) error {
	var err error
	if d.f != nil && (rec.Holes || !d.fresh) {
		err = d.f.Truncate(rec.Size) // a hole at the end may be missing, or old data may follow
	}
	if err == nil {
		err = u.attributes(u.attr, d.file().Chown, d.file().SetExtended)
	}
	if err == nil {
		err = d.file().Chmod(rec.Mode)
	}
	if err != nil {
		return u.failed(rec.Name, err)
	}
	return nil
}

// hashZeros hashes n zero bytes of a hole.
func (u *unpacker) hashZeros(n int64) error {
	if u.zeros == nil {
		u.zeros = make([]byte, record.MaxSpan)
	}
	for ; n > 0; n -= int64(len(u.zeros)) {
		if u.ctx.Err() != nil {
			return context.Cause(u.ctx)
		}
		u.hash.Write(u.zeros[:min(n, int64(len(u.zeros)))])
	}
	return nil
}

// check compares a sum with that of the received data.
func (u *unpacker) check(r *record.Record) error {
	var got [record.SumLen]byte
	u.hash.Sum(got[:0])
	u.hash.Reset()
	if got != r.Sum {
		return ErrSum
	}
	return nil
}

// stream passes a stream to Target.Stream.
func (u *unpacker) stream() error {
	if u.target.Stream == nil {
		return ErrStream
	}
	for {
		r, err := u.next()
		if err != nil {
			return err
		}
		if r.Kind == record.Sum {
			if err := u.check(&r); err != nil {
				return fmt.Errorf("the stream: %w", err)
			}
			return nil
		}
		u.hash.Write(r.Data)
		if _, err := u.target.Stream.Write(r.Data); err != nil {
			return fmt.Errorf("pass on the stream: %w", err)
		}
		u.totals.Bytes += int64(len(r.Data))
	}
}

package unpack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/record"
)

// file writes a file. Whatever fails, nothing of it is left, but for what is to be kept.
func (u *unpacker) file(rec *record.Record) error {
	dir, path := u.here(), u.at(rec.Name)
	d, err := u.draw(rec)
	if err != nil {
		return failedAt(path, err)
	}
	err = u.content(d, rec)
	u.first += block.Count(rec.Size)
	if err != nil {
		return errors.Join(err, d.close(), u.drop(dir, d))
	}
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
			return nil // it has its name
		}
		if err := u.forget(dir, rec.Name); err != nil {
			return failedAt(path, err)
		}
		return nil
	})
}

// place gives a file that is whole its time and its name.
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

// content writes what a file has.
func (u *unpacker) content(d *draft, rec *record.Record) error {
	if d.f != nil && rec.Size >= reserveFrom && !rec.Holes {
		if err := d.f.Reserve(rec.Size); err != nil {
			return u.failed(rec.Name, err)
		}
	}
	var at int64
	for {
		r, err := u.next()
		if err != nil {
			return err
		}
		switch r.Kind {
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
	}
}

// seal makes the length and the permissions right of a file of which all is there.
func (u *unpacker) seal(d *draft, rec *record.Record) error {
	var err error
	if d.f != nil && (rec.Holes || !d.fresh) {
		err = d.f.Truncate(rec.Size) // there may be a hole at its end, or more than belongs to it
	}
	if err == nil {
		err = d.file().Chmod(rec.Mode)
	}
	if err != nil {
		return u.failed(rec.Name, err)
	}
	return nil
}

// hashZeros is for a hole.
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

// check compares a sum with that of what has come.
func (u *unpacker) check(r *record.Record) error {
	var got [record.SumLen]byte
	u.hash.Sum(got[:0])
	u.hash.Reset()
	if got != r.Sum {
		return ErrSum
	}
	return nil
}

// stream hands a stream on.
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
			return fmt.Errorf("hand the stream on: %w", err)
		}
		u.totals.Bytes += int64(len(r.Data))
	}
}

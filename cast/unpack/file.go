package unpack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/cast/record"
)

// file writes a file. Whatever fails, nothing of it is left.
func (u *unpacker) file(rec *record.Record) error {
	dir, name := u.here(), rec.Name
	f, err := dir.Create(u.temp)
	if err != nil {
		return u.failed(name, err)
	}
	err = u.content(f, rec)
	if e := f.Close(); err == nil && e != nil {
		err = u.failed(name, e)
	}
	if err == nil {
		if err = dir.Chtimes(u.temp, time.Unix(0, rec.Time)); err == nil {
			err = dir.Rename(u.temp, name)
		}
		if err != nil {
			err = u.failed(name, err)
		}
	}
	if err != nil {
		return errors.Join(err, u.remove(dir))
	}
	u.totals.Bytes += rec.Size
	return nil
}

func (u *unpacker) remove(dir Dir) error {
	if err := dir.Remove(u.temp); err != nil {
		return fmt.Errorf("remove what is not whole: %w", err)
	}
	return nil
}

// content writes what a file has.
func (u *unpacker) content(f File, rec *record.Record) error {
	if rec.Size >= reserveFrom && !rec.Holes {
		if err := f.Reserve(rec.Size); err != nil {
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
			u.hash.Write(r.Data)
			if _, err := f.WriteAt(r.Data, at); err != nil {
				return u.failed(rec.Name, err)
			}
			at += int64(len(r.Data))
		case record.Hole:
			if err := u.hashZeros(r.Size); err != nil {
				return err
			}
			at += r.Size
		case record.Sum:
			if err := u.check(&r); err != nil {
				return u.failed(rec.Name, err)
			}
			return u.seal(f, rec)
		}
	}
}

// seal has the disk keep a file of which all is there.
func (u *unpacker) seal(f File, rec *record.Record) error {
	var err error
	if rec.Holes {
		err = f.Truncate(rec.Size) // there may be a hole at its end
	}
	if err == nil {
		err = f.Chmod(rec.Mode)
	}
	if err == nil {
		err = f.Sync()
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

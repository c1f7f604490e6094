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
	dir, name := u.here(), rec.Name
	d, err := u.draw(rec)
	if err != nil {
		return u.failed(name, err)
	}
	err = u.content(d, rec)
	if e := d.close(); err == nil && e != nil {
		err = u.failed(name, e)
	}
	u.first += block.Count(rec.Size)
	if err != nil {
		return errors.Join(err, u.drop(dir, d))
	}
	if err := u.place(dir, d, rec); err != nil {
		return errors.Join(u.failed(name, err), u.drop(dir, d))
	}
	if !u.target.Keep || d.name == "" {
		if err := u.forget(dir, name); err != nil {
			return u.failed(name, err)
		}
	}
	u.totals.Bytes += rec.Size
	return nil
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

// seal has the disk keep a file of which all is there.
func (u *unpacker) seal(d *draft, rec *record.Record) error {
	f := d.f
	if d.name == "" {
		f = d.old
	}
	var err error
	if d.f != nil && (rec.Holes || !d.fresh) {
		err = f.Truncate(rec.Size) // there may be a hole at its end, or more than belongs to it
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

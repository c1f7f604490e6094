package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// draft is a file that is being written under a temporary name.
type draft struct {
	name  string // empty: the existing file is already what the sender has
	f     File   // nil if name is empty
	fresh bool   // the draft was empty when it was opened
	old   File   // existing file with the final name; nil if it is not used

	behind behind
}

// errChanged says that the sender keeps back data that this host does not have.
var errChanged = errors.New("the sender's data have changed since the comparison: cast again")

// draw opens a draft.
func (u *unpacker) draw(rec *record.Record) (d *draft, err error) {
	dir, held := u.current(), u.target.Held
	d = &draft{name: u.temps.next(), fresh: true}
	if held != nil && !u.quick && held.whole(dir, rec, u.first) {
		d.name = ""
	}
	if held != nil {
		d.old = openIn(dir, rec.Name)
	}
	switch {
	case d.name == "" && d.old == nil:
		err = fs.ErrPermission
	case d.name == "":
	case u.target.Keep:
		d.name = PartialName(rec.Name)
		d.f, d.fresh, err = dir.Resume(d.name)
	default:
		d.f, err = dir.Create(d.name)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// file returns the file that gets the final name.
func (d *draft) file() File {
	if d.f != nil {
		return d.f
	}
	return d.old
}

func (d *draft) close() (err error) {
	d.behind.wait()
	if d.f != nil {
		err = d.f.Close()
	}
	if d.old != nil {
		err = errors.Join(err, d.old.Close())
	}
	return err
}

// take uses data that this host has for n bytes from byte at on.
func (u *unpacker) take(d *draft, at, n int64) error {
	for n > 0 {
		if u.ctx.Err() != nil {
			return context.Cause(u.ctx)
		}
		some := min(n, int64(len(u.scratch())), block.Len-at%block.Len)
		from, copied := d.old, true
		switch h, i := u.target.Held, u.first+at/block.Len; {
		case d.name == "":
			copied = false
		case h == nil:
			return errChanged
		case !h.partial.Lacks(i) && !d.fresh:
			from, copied = d.f, false
		case h.old.Lacks(i) || d.old == nil:
			return errChanged
		}
		b := u.scratch()[:some]
		if got, err := from.ReadAt(b, at); int64(got) < some {
			if err == nil || errors.Is(err, io.EOF) {
				err = errChanged
			}
			return err
		}
		u.hash.Write(b)
		if copied {
			if _, err := d.f.WriteAt(b, at); err != nil {
				return err
			}
		}
		at, n = at+some, n-some
	}
	return nil
}

// write writes data that came, unless the file has them.
func (u *unpacker) write(d *draft, b []byte, at int64) error {
	if d.name == "" {
		return u.take(d, at, int64(len(b)))
	}
	u.hash.Write(b)
	n, err := d.f.WriteAt(b, at)
	d.behind.wrote(d.f, at, int64(n))
	return err
}

// hole makes n zero bytes from byte at on.
func (u *unpacker) hole(d *draft, at, n int64) error {
	if d.name == "" {
		return u.take(d, at, n)
	}
	if err := u.hashZeros(n); err != nil {
		return err
	}
	if d.fresh {
		return nil
	}
	return d.f.Zero(at, n)
}

// scratch returns a buffer for a stretch of a file.
func (u *unpacker) scratch() []byte {
	if u.buf == nil {
		u.buf = make([]byte, record.MaxSpan)
	}
	return u.buf
}

// discard removes the draft of a file that is not sent.
func (u *unpacker) discard(dir Dir, d *draft) error {
	if d.name == "" {
		return nil
	}
	if err := dir.Remove(d.name); err != nil {
		return fmt.Errorf("remove a file that is not sent: %w", err)
	}
	return nil
}

// drop removes an unfinished draft, which must be closed, unless Target.Keep is set.
func (u *unpacker) drop(dir Dir, d *draft) error {
	if d.name == "" || u.target.Keep {
		return nil
	}
	if err := dir.Remove(d.name); err != nil {
		return fmt.Errorf("remove an incomplete file: %w", err)
	}
	return nil
}

// forget removes the partial file of an earlier cast, because the file is whole now.
func (u *unpacker) forget(dir Dir, name string) error {
	if err := dir.Remove(PartialName(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a partial file: %w", err)
	}
	return nil
}

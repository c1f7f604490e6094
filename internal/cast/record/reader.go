package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/cast/filter"
)

// Reader reads records. It holds one record in memory, and a name for each open directory.
type Reader struct {
	r       *bufio.Reader
	grammar grammar
	span    int // bytes of data that the caller has, and that Next skips
	begun   bool
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, MaxSpan)} }

// Next reads the next record. The last record is End. The error wraps ErrFormat for an invalid
// record, and ErrDigest for a wrong digest. It wraps io.ErrUnexpectedEOF if the input ends too
// early.
func (r *Reader) Next() (Record, error) {
	rec, err := r.next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = r.grammar.next(&rec)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read a record: %w", err)
	}
	return rec, nil
}

func (r *Reader) next() (rec Record, err error) {
	if _, err := r.r.Discard(r.span); err != nil {
		return rec, err
	}
	r.span = 0
	if !r.begun {
		if err := r.begin(); err != nil {
			return rec, err
		}
		r.begun = true
	}
	kind, err := r.r.ReadByte()
	if err != nil {
		return rec, err
	}
	rec.Kind = Kind(kind)
	switch rec.Kind {
	case Directory, File:
		err = r.meta(&rec)
	case Link, FreeLink:
		if rec.Name, err = r.text(MaxName); err == nil {
			rec.Target, err = r.text(MaxTarget)
		}
	case Data:
		err = r.data(&rec)
	case Hole, Keep:
		rec.Size, err = r.integer()
	case End:
		if rec.Size, err = r.integer(); err == nil {
			_, err = io.ReadFull(r.r, rec.Sum[:])
		}
	case Sum:
		_, err = io.ReadFull(r.r, rec.Sum[:])
	case Print:
		_, err = io.ReadFull(r.r, rec.Print[:])
	case HardLink:
		var n uint32
		if n, err = r.short(); err == nil {
			rec.Size = int64(n)
			rec.Name, err = r.text(MaxName)
		}
	case Omission:
		rec.Name, err = r.text(MaxName)
	case Attr:
		rec.Attributes, err = r.attributes()
	case Delete:
		rec.All, err = r.flag()
	case Rule:
		if rec.All, err = r.flag(); err == nil {
			rec.Target, err = r.text(filter.MaxPattern)
		}
	case Up, Stream, Survey, Outline, Quick, Same, Void:
	default:
		err = fmt.Errorf("%w: a record of kind %q", ErrFormat, kind)
	}
	return rec, err
}

// begin reads the header of the stream.
func (r *Reader) begin() error {
	b, err := r.r.Peek(len(magic) + 1)
	if err != nil {
		return err
	}
	if string(b[:len(magic)]) != magic {
		return fmt.Errorf("%w: it begins with %q", ErrFormat, b)
	}
	if v := b[len(magic)]; v != version {
		return fmt.Errorf("%w: version %d, want %d", ErrFormat, v, version)
	}
	_, err = r.r.Discard(len(b))
	return err
}

// meta reads the fields of a directory or a file.
func (r *Reader) meta(rec *Record) error {
	b, err := r.r.Peek(2)
	if err != nil {
		return err
	}
	rec.Mode = ModeOf(binary.BigEndian.Uint16(b))
	if _, err := r.r.Discard(2); err != nil {
		return err
	}
	if rec.Time, err = r.integer(); err != nil {
		return err
	}
	if rec.Kind == File {
		if rec.Size, err = r.integer(); err != nil {
			return err
		}
		if rec.Holes, err = r.flag(); err != nil {
			return err
		}
	}
	rec.Name, err = r.text(MaxName)
	return err
}

// data reads bytes of data without copying them out of the buffer, which holds MaxSpan bytes.
func (r *Reader) data(rec *Record) error {
	b, err := r.r.Peek(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(b)
	if n > MaxSpan {
		return fmt.Errorf("%w: a stretch of %d bytes", ErrFormat, n)
	}
	if _, err := r.r.Discard(4); err != nil {
		return err
	}
	rec.Data, err = r.r.Peek(int(n))
	r.span = len(rec.Data)
	return err
}

// attributes reads attributes. It bounds their size while it reads.
func (r *Reader) attributes() (*Attributes, error) {
	flags, err := r.r.ReadByte()
	if err != nil {
		return nil, err
	}
	if flags >= hasLink<<1 {
		return nil, fmt.Errorf("%w: flags of %d", ErrFormat, flags)
	}
	a := &Attributes{ACL: flags&hasACL != 0, Xattr: flags&hasXattr != 0}
	if flags&hasOwner != 0 {
		if a.Owner, err = r.owner(); err != nil {
			return nil, err
		}
	}
	if flags&hasLink != 0 {
		if a.Link, err = r.short(); err != nil {
			return nil, err
		}
		if a.Link == 0 {
			return nil, fmt.Errorf("%w: a file of number 0", ErrFormat)
		}
	}
	b, err := r.r.Peek(2)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > MaxExtended {
		return nil, fmt.Errorf("%w: %d extended attributes, at most %d are allowed", ErrFormat, n, MaxExtended)
	}
	if _, err := r.r.Discard(2); err != nil {
		return nil, err
	}
	for left := MaxValues; n > 0; n-- {
		var e Extended
		if e.Name, err = r.text(MaxName); err != nil {
			return nil, err
		}
		length, err := r.short()
		if err != nil {
			return nil, err
		}
		if length > MaxValue || int(length) > left {
			return nil, fmt.Errorf("%w: the value of %q has %d bytes", ErrFormat, e.Name, length)
		}
		left -= int(length)
		e.Value = make([]byte, length)
		if _, err := io.ReadFull(r.r, e.Value); err != nil {
			return nil, err
		}
		a.Extended = append(a.Extended, e)
	}
	return a, nil
}

func (r *Reader) owner() (o *Owner, err error) {
	o = new(Owner)
	if o.UID, err = r.short(); err == nil {
		o.GID, err = r.short()
	}
	if err == nil {
		o.User, err = r.text(MaxName)
	}
	if err == nil {
		o.Group, err = r.text(MaxName)
	}
	return o, err
}

func (r *Reader) flag() (bool, error) {
	b, err := r.r.ReadByte()
	if err == nil && b > 1 {
		err = fmt.Errorf("%w: a flag of %d", ErrFormat, b)
	}
	return b == 1, err
}

// short reads an integer of four bytes.
func (r *Reader) short() (uint32, error) {
	b, err := r.r.Peek(4)
	if err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(b)
	_, err = r.r.Discard(4)
	return n, err
}

func (r *Reader) integer() (int64, error) {
	b, err := r.r.Peek(8)
	if err != nil {
		return 0, err
	}
	n := int64(binary.BigEndian.Uint64(b))
	_, err = r.r.Discard(8)
	return n, err
}

func (r *Reader) text(limit int) (string, error) {
	b, err := r.r.Peek(2)
	if err != nil {
		return "", err
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > limit {
		return "", fmt.Errorf("%w: a text of %d bytes, at most %d are allowed", ErrFormat, n, limit)
	}
	if _, err := r.r.Discard(2); err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r.r, text)
	return string(text), err
}

package record

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
)

// Writer writes records.
type Writer struct {
	w       io.Writer
	grammar grammar
	head    []byte // scratch
	begun   bool
}

// NewWriter returns a Writer to w. w should be buffered, because some records have one byte.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Entries returns the number of directories, files, links and streams written.
func (w *Writer) Entries() int64 { return w.grammar.entries }

// Depth returns the number of directories around the next entry, below the top.
func (w *Writer) Depth() int { return max(len(w.grammar.last)-1, 0) }

// Digest returns the digest of all entries written, which belongs into the record End.
func (w *Writer) Digest() Digest { return w.grammar.digest() }

// Write writes a record. If a Reader would refuse the record, Write writes nothing and returns an
// error that wraps ErrFormat, or ErrDigest for an End with another digest.
func (w *Writer) Write(r *Record) error {
	if err := w.grammar.next(r); err != nil {
		return err
	}
	b := w.head[:0]
	if !w.begun {
		w.begun = true
		b = append(append(b, magic...), version)
	}
	b = appendHead(b, r)
	w.head = b
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("write a record: %w", err)
	}
	if r.Kind != Data {
		return nil
	}
	if _, err := w.w.Write(r.Data); err != nil {
		return fmt.Errorf("write data: %w", err)
	}
	return nil
}

// appendHead appends a record without its data.
func appendHead(b []byte, r *Record) []byte {
	b = append(b, byte(r.Kind))
	switch r.Kind {
	case Directory, File:
		b = binary.BigEndian.AppendUint16(b, modeBits(r.Mode))
		b = binary.BigEndian.AppendUint64(b, uint64(r.Time))
		if r.Kind == File {
			b = append(binary.BigEndian.AppendUint64(b, uint64(r.Size)), flag(r.Holes))
		}
		b = appendText(b, r.Name)
	case Link, FreeLink:
		b = appendText(appendText(b, r.Name), r.Target)
	case HardLink:
		b = appendText(binary.BigEndian.AppendUint32(b, uint32(r.Size)), r.Name)
	case Omission:
		b = appendText(b, r.Name)
	case Attr:
		b = r.Attributes.Append(b)
	case Delete:
		b = append(b, flag(r.All))
	case Rule:
		b = appendText(append(b, flag(r.All)), r.Target)
	case Data:
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.Data)))
	case Hole, Keep:
		b = binary.BigEndian.AppendUint64(b, uint64(r.Size))
	case End:
		b = append(binary.BigEndian.AppendUint64(b, uint64(r.Size)), r.Sum[:]...)
	case Sum:
		b = append(b, r.Sum[:]...)
	case Print:
		b = append(b, r.Print[:]...)
	}
	return b
}

// The flags of attributes.
const (
	hasOwner = 1 << iota
	hasACL
	hasXattr
	hasLink
)

// Append appends the encoding of attributes, without the kind of the record.
func (a *Attributes) Append(b []byte) []byte {
	flags := flag(a.Owner != nil)*hasOwner | flag(a.ACL)*hasACL | flag(a.Xattr)*hasXattr | flag(a.Link != 0)*hasLink
	b = append(b, flags)
	if o := a.Owner; o != nil {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, o.UID), o.GID)
		b = appendText(appendText(b, o.User), o.Group)
	}
	if a.Link != 0 {
		b = binary.BigEndian.AppendUint32(b, a.Link)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(a.Extended)))
	for _, e := range a.Extended {
		b = appendText(b, e.Name)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(e.Value))), e.Value...)
	}
	return b
}

// noMode is the encoding of a mode that cannot be sent.
const noMode = 0xffff

// modeBits returns the bits of a mode in Unix.
func modeBits(m fs.FileMode) uint16 {
	if m&^(fs.ModePerm|Special) != 0 {
		return noMode
	}
	bits := uint16(m.Perm())
	for i, special := range specials {
		if m&special != 0 {
			bits |= 0o1000 << i
		}
	}
	return bits
}

// specials holds the bits above the permissions, from the lowest on.
var specials = [...]fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid}

// ModeOf returns the mode with the given bits in Unix. If there is none, it returns a mode that
// cannot be sent.
func ModeOf(bits uint16) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	for i, special := range specials {
		if bits&(0o1000<<i) != 0 {
			m |= special
		}
	}
	if bits > 0o7777 {
		m |= fs.ModeIrregular
	}
	return m
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func flag(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

package record

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Writer writes records.
type Writer struct {
	w       io.Writer
	grammar grammar
	head    []byte // scratch
	begun   bool
}

// NewWriter returns a Writer to w, which should be buffered: some records are one byte.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Entries returns how many directories, files, links and streams have been written.
func (w *Writer) Entries() int64 { return w.grammar.entries }

// Digest returns the digest of all entries that have been written, which the record End carries.
func (w *Writer) Digest() Digest { return w.grammar.digest() }

// Write writes a record. One that a Reader would not take is an error that wraps ErrFormat,
// and nothing is written.
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

// appendHead appends all of a record but its data.
func appendHead(b []byte, r *Record) []byte {
	b = append(b, byte(r.Kind))
	switch r.Kind {
	case Directory, File:
		b = binary.BigEndian.AppendUint16(b, uint16(r.Mode))
		b = binary.BigEndian.AppendUint64(b, uint64(r.Time))
		if r.Kind == File {
			b = append(binary.BigEndian.AppendUint64(b, uint64(r.Size)), flag(r.Holes))
		}
		b = appendText(b, r.Name)
	case Link:
		b = appendText(appendText(b, r.Name), r.Target)
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

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func flag(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

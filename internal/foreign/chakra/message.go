package chakra

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// messages reads the protobuf messages of a trace, one after the other.
type messages struct {
	in  *bufio.Reader
	at  int64 // bytes before the message that next has returned
	end int64 // bytes so far
	buf bytes.Buffer
}

// next returns the next message, which is valid until the next call. The error is io.EOF behind the
// last message. The buffer grows with the bytes that are there, whatever length a message claims.
func (s *messages) next() ([]byte, error) {
	s.at = s.end
	length, err := s.length()
	if err != nil {
		return nil, err
	}
	if length > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes: at most %d are read", length, maxMessage)
	}
	s.buf.Reset()
	n, err := io.CopyN(&s.buf, s.in, int64(length))
	s.end += n
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("a message of %d bytes, of which the file has %d", length, n)
	}
	return s.buf.Bytes(), err
}

// length reads a length. The error is io.EOF if the file ends before it.
func (s *messages) length() (uint64, error) {
	var text []byte
	for {
		b, err := s.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(text) > 0:
			return 0, errors.New("the file ends within the length of a message")
		case err != nil:
			return 0, err
		}
		s.end++
		if text = append(text, b); b < 0x80 || len(text) > 10 {
			break
		}
	}
	length, n := protowire.ConsumeVarint(text)
	if n < 0 {
		return 0, errors.New("the length of a message is no varint of 64 bits")
	}
	return length, nil
}

// field is a field of a message.
type field struct {
	number protowire.Number
	wire   protowire.Type
	value  uint64 // of a varint or a fixed number
	bytes  []byte // of a string or a message
}

// eachField calls do with all fields of a message.
func eachField(m []byte, do func(field) error) error {
	for len(m) > 0 {
		var f field
		var n int
		if f.number, f.wire, n = protowire.ConsumeTag(m); n < 0 {
			return fmt.Errorf("no protobuf message: %w", protowire.ParseError(n))
		}
		m = m[n:]
		switch f.wire {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(m)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(m)
			f.value = uint64(v)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(m)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(m)
		default:
			n = protowire.ConsumeFieldValue(f.number, f.wire, m)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", f.number, protowire.ParseError(n))
		}
		m = m[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// varint returns the value of a field that holds a number.
func (f *field) varint() (uint64, error) {
	if f.wire != protowire.VarintType {
		return 0, f.wrongWire()
	}
	return f.value, nil
}

// text returns the value of a field that holds a string or a message.
func (f *field) text() ([]byte, error) {
	if f.wire != protowire.BytesType {
		return nil, f.wrongWire()
	}
	return f.bytes, nil
}

func (f *field) wrongWire() error { return fmt.Errorf("field %d has wire type %d", f.number, f.wire) }

// appendNumbers appends the numbers of a repeated field, which is packed or not.
func (f *field) appendNumbers(list []uint64) ([]uint64, error) {
	if f.wire != protowire.BytesType {
		v, err := f.varint()
		return append(list, v), err
	}
	for m := f.bytes; len(m) > 0; {
		v, n := protowire.ConsumeVarint(m)
		if n < 0 {
			return nil, fmt.Errorf("field %d: %w", f.number, protowire.ParseError(n))
		}
		list, m = append(list, v), m[n:]
	}
	return list, nil
}

// integer returns the value of a field of an attribute that holds an integer of any type. It
// returns the largest integer for all larger ones, and reports whether the field holds an integer.
func (f *field) integer() (v int64, ok bool) {
	wire := protowire.VarintType
	switch f.number {
	case attrInt32:
		v = int64(int32(f.value))
	case attrInt64:
		v = int64(f.value)
	case attrUint32:
		v = int64(uint32(f.value))
	case attrUint64:
		v = int64(min(f.value, math.MaxInt64))
	case attrSint32:
		v = int64(int32(protowire.DecodeZigZag(f.value & math.MaxUint32)))
	case attrSint64:
		v = protowire.DecodeZigZag(f.value)
	case attrFixed32:
		v, wire = int64(f.value), protowire.Fixed32Type
	case attrFixed64:
		v, wire = int64(min(f.value, math.MaxInt64)), protowire.Fixed64Type
	case attrSfixed32:
		v, wire = int64(int32(f.value)), protowire.Fixed32Type
	case attrSfixed64:
		v, wire = int64(f.value), protowire.Fixed64Type
	default:
		return 0, false
	}
	return v, f.wire == wire
}

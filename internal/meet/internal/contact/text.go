package contact

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// MaxText is the greatest length of addresses and reasons in bytes.
const MaxText = 1024

// AppendBytes appends text or a blob, of at most 65,535 bytes, behind its length.
func AppendBytes[T string | []byte](b []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// AppendStatus appends a status. It cuts long reasons, which may quote peers, to the length that is
// read.
func AppendStatus(b []byte, reason string) []byte {
	return AppendBytes(b, reason[:min(len(reason), MaxText)])
}

// ReadBytes reads text or a blob of at most limit bytes. A longer one is a *LengthError.
func ReadBytes(r io.Reader, limit int) ([]byte, error) {
	var n [2]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(n[:]))
	if length > limit {
		return nil, &LengthError{length, limit}
	}
	b := make([]byte, length)
	_, err := io.ReadFull(r, b)
	return b, err
}

// LengthError is the error of a text that is too long.
type LengthError struct{ Length, Limit int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("%d bytes where at most %d are allowed", e.Length, e.Limit)
}

// ReadStatus returns the peer's reason, or "" if all is well. People read it, and it may come from
// a stranger, so unprintable characters are replaced.
func ReadStatus(r io.Reader) (string, error) {
	b, err := ReadBytes(r, MaxText)
	return Printable(b), err
}

// Printable returns a peer's text with unprintable characters replaced.
func Printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(text))
}

// ReadUint32 reads a big-endian number.
func ReadUint32(r io.Reader) (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

package mismatch

import (
	"encoding/binary"
	"fmt"
)

// Encode returns a message to another rank: this rank's call in words, cut to at most limit bytes,
// and the fingerprints of earlier operations (before), the last first. The form is the length of
// the words in two bytes, the words, and each fingerprint in four bytes; numbers are little-endian.
func Encode(words string, before []uint32, limit int) []byte {
	words = words[:min(len(words), limit)]
	b := append(binary.LittleEndian.AppendUint16(nil, uint16(len(words))), words...)
	for _, p := range before {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	return b
}

// Decode decodes a message of Encode. ok is false if body is invalid.
func Decode(body []byte) (words string, before []uint32, ok bool) {
	if len(body) < 2 {
		return "", nil, false
	}
	n, rest := int(binary.LittleEndian.Uint16(body)), body[2:]
	if n > len(rest) || (len(rest)-n)%4 != 0 {
		return "", nil, false
	}
	words, rest = string(rest[:n]), rest[n:]
	for ; len(rest) > 0; rest = rest[4:] {
		before = append(before, binary.LittleEndian.Uint32(rest))
	}
	return words, before, true
}

// Unsaid stands for the words of a rank that has not described its call.
const Unsaid = "something else, then or before, and has not said what"

// Sides describes the calls of two ranks, a and b, with the lower rank first. what names the
// subject, and verb the action.
func Sides(what, verb string, a int, ofA string, b int, ofB string) string {
	if a > b {
		a, ofA, b, ofB = b, ofB, a, ofA
	}
	return fmt.Sprintf("%s: rank %d %s %s, rank %d %s %s", what, a, verb, ofA, b, verb, ofB)
}

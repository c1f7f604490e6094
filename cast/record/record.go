// Package record is the form in which a tree of files, or a stream, is sent: one record after
// another. No record refers to one that came long before it.
//
//	stream  = "schedgen-cast" version u8, survey if it is one, entries, end
//	entries = any number of directory, file and link; or one stream and nothing else
//
//	'd' directory  mode u16, time i64, name; what follows is in it, up to
//	'u' up
//	'f' file       mode u16, time i64, size u64, holes u8, name; then data, holes and what is kept, of size bytes together; then sum
//	'l' link       name, target
//	's' stream     then data; then sum
//	'x' data       length u32, bytes
//	'o' hole       length u64: so many bytes that are zero
//	'k' keep       length u64: so many bytes that the receivers have already
//	'.' sum        SHA-256 of the file or the stream, holes included [32]
//	'e' end        how many directories, files, links and streams there were u64; their digest [32]
//	'v' survey     what follows says what there is, and sends none of it: of a file no data come, but
//	'b' print      of each of its blocks [16], see package block; then sum
//
// Integers are big-endian. Times are nanoseconds since 1970. A mode has the nine permission bits.
// Names and targets stand behind their length in a u16.
//
// A name is that of an entry in the directory that the reader is in, never a path, so no name leads
// anywhere else. The names of a directory ascend, byte by byte, so nothing comes twice. A link leads
// to something below the directory that everything is written to (CheckTarget). A Reader takes
// nothing else.
//
// The digest at the end is the same for a tree however it is sent: as a whole, without what the
// receivers have, or as a survey. See [Digest].
package record

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/schedgen/schedgen/cast/block"
)

const (
	magic   = "schedgen-cast"
	version = 3

	// MaxName is the longest name, in bytes.
	MaxName = 255
	// MaxTarget is the longest target of a link, in bytes.
	MaxTarget = 4095
	// MaxDepth is how many directories may be inside each other.
	MaxDepth = 256
	// MaxSpan is the most data in one record, in bytes.
	MaxSpan = 256 << 10
	// SumLen is the length of a sum, in bytes.
	SumLen = 32
)

// Kind says what a record is.
type Kind byte

// The kinds of records.
const (
	Directory Kind = 'd'
	Up        Kind = 'u'
	File      Kind = 'f'
	Link      Kind = 'l'
	Stream    Kind = 's'
	Data      Kind = 'x'
	Hole      Kind = 'o'
	Keep      Kind = 'k'
	Sum       Kind = '.'
	Survey    Kind = 'v'
	Print     Kind = 'b'
	End       Kind = 'e'
)

// Record is one record. Its Kind says which of the fields count.
type Record struct {
	Kind   Kind
	Name   string       // of a directory, a file, a link
	Target string       // of a link
	Mode   fs.FileMode  // of a directory, a file: permissions alone
	Time   int64        // of a directory, a file: of the last change, in nanoseconds since 1970
	Size   int64        // of a file, a hole, what is kept: bytes; of End: entries
	Holes  bool         // of a file: it may have holes
	Data   []byte       // of data: valid until the next record is read
	Sum    [SumLen]byte // SHA-256; of End: the Digest
	Print  block.Print
}

// Digest identifies a tree or a stream: it is the SHA-256 of the records of its entries, in order,
// which are directory, up, file, link, stream and sum. So it covers names, permissions, times, sizes,
// targets and, by the sums, contents. It does not cover where a file has holes, nor what the receivers
// have already.
type Digest [SumLen]byte

// ErrDigest is wrapped by the error for an end whose digest is not that of the records before it: they
// came in several rounds and are not of one tree.
var ErrDigest = errors.New("what has come is not what was sent: its digest is wrong")

// ErrFormat is what records that cannot be wrap.
var ErrFormat = errors.New("not what a cast is made of")

// CheckName returns an error that wraps ErrFormat unless name can be that of an entry.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%w: the name %q", ErrFormat, name)
	case len(name) > MaxName:
		return fmt.Errorf("%w: a name of %d bytes, at most %d are allowed", ErrFormat, len(name), MaxName)
	case strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%w: the name %q", ErrFormat, name)
	}
	return nil
}

// CheckTarget returns an error that wraps ErrFormat unless a link in a directory that is depth
// directories below the one that everything is written to leads to somewhere below that.
//
// A target may begin with "..", as often as there are directories above that may be entered, and
// has it nowhere else: what ".." is behind a name depends on whether that is a link. The
// directory of a link is none, so what its first ".." is is certain; and what a name leads to is below,
// since that holds of every link.
func CheckTarget(target string, depth int) error {
	switch {
	case target == "" || len(target) > MaxTarget:
		return fmt.Errorf("%w: a link's target has %d bytes, want 1 to %d", ErrFormat, len(target), MaxTarget)
	case strings.ContainsRune(target, 0):
		return fmt.Errorf("%w: the target %q of a link", ErrFormat, target)
	case target[0] == '/':
		return fmt.Errorf("%w: a link leads out of what is sent, to %q", ErrFormat, target)
	}
	ups, named := 0, false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if ups++; named || ups > depth {
				return fmt.Errorf("%w: a link leads out of what is sent, or may do so, to %q", ErrFormat, target)
			}
		default:
			named = true
		}
	}
	return nil
}

// Package record encodes a tree of files, or a stream, as a sequence of records. Records do not
// refer to records long before them, except that a hard link has the number of its file.
//
//	stream  = "schedgen-cast" version u8, kind of pass, deletion, entries, end
//	entries = any number of directory, file, link and omission; or one stream and nothing else
//
// A pass may begin with records that describe it:
//
//	'Q' quick      files may be "same", and the digest does not cover contents
//	'v' survey     files have the prints of their blocks in place of contents
//	'V' outline    files have neither contents nor prints; an outline is quick
//	'D' delete     all u8: receivers delete entries that the sender does not have; if all is 1,
//	               also in the top directory
//	'p' rule       include u8, pattern: a rule of package filter; excluded entries are not deleted
//
// Then the entries follow:
//
//	'a' attributes of the next entry; see below
//	'd' directory  mode u16, time i64, name; its entries follow, until
//	'u' up
//	'f' file       mode u16, time i64, size u64, holes u8, name; then data, hole and keep records of
//	               size bytes together; then sum. A file may end with void at any place. In a quick
//	               pass, same may stand in place of data and sum
//	'l' link       name, target; the target is below the top directory
//	'L' free link  name, target; the target leads anywhere
//	'h' hard link  number u32, name: another name of the file with this number in its attributes
//	'n' omission   name: an entry that the sender has but does not send; it is not deleted
//	's' stream     then data; then sum
//	'x' data       length u32, bytes
//	'o' hole       length u64: a number of zero bytes
//	'k' keep       length u64: a number of bytes that the receivers have
//	'b' print      [16]: the print of a block; see package block
//	'.' sum        [32]: SHA-256 of the file or the stream, including holes
//	'=' same       the receivers have a file with this size and time, and keep it
//	'w' void       the file changed, or could not be read to its end; it is not sent, or follows
//	               again
//	'e' end        u64: number of entries without omissions; [32]: their digest
//
// Attributes are
//
//	flags u8; if flag 1 is set: user id u32, group id u32, user, group (names, which may be empty);
//	if flag 8 is set: number u32, to which hard links refer; number of extended attributes u16, and
//	for each: name, length u32, value. If flag 2 is set, these include all access lists of the entry,
//	and if flag 4 is set, all its other extended attributes
//
// Integers are big-endian. Times are nanoseconds since 1970. A mode has the nine permission bits
// and setuid, setgid and sticky. Names, targets and patterns follow their length, a u16.
//
// A name is the name of an entry in the current directory, never a path, so no name leads out of
// it. The names in a directory ascend, byte by byte, so none comes twice. The target of a link is
// below the top directory (CheckTarget). Only a free link may lead elsewhere; a receiver must have
// asked for it. A Reader returns an error for anything else.
//
// The digest at the end is the same whether a tree is sent as a whole, without the blocks that the
// receivers have, or as a survey. A quick pass has the digest of an outline, which is another one.
// See [Digest].
package record

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/schedgen/schedgen/internal/cast/block"
)

const (
	magic   = "schedgen-cast"
	version = 4

	// MaxName is the greatest length of a name in bytes.
	MaxName = 255
	// MaxTarget is the greatest length of a link's target in bytes.
	MaxTarget = 4095
	// MaxDepth is the greatest number of nested directories.
	MaxDepth = 256
	// MaxSpan is the greatest number of bytes of data in a record.
	MaxSpan = 256 << 10
	// MaxLinks is the greatest number of files with further names.
	MaxLinks = 1 << 20
	// MaxExtended is the greatest number of extended attributes of an entry.
	MaxExtended = 256
	// MaxValue is the greatest length of the value of an extended attribute in bytes.
	MaxValue = 64 << 10
	// MaxValues is the greatest length of all values of an entry together, in bytes.
	MaxValues = 1 << 20
	// SumLen is the length of a sum in bytes.
	SumLen = 32
)

// Kind is the kind of a record.
type Kind byte

// The kinds of records.
const (
	Quick     Kind = 'Q'
	Survey    Kind = 'v'
	Outline   Kind = 'V'
	Delete    Kind = 'D'
	Rule      Kind = 'p'
	Attr      Kind = 'a'
	Directory Kind = 'd'
	Up        Kind = 'u'
	File      Kind = 'f'
	Link      Kind = 'l'
	FreeLink  Kind = 'L'
	HardLink  Kind = 'h'
	Omission  Kind = 'n'
	Stream    Kind = 's'
	Data      Kind = 'x'
	Hole      Kind = 'o'
	Keep      Kind = 'k'
	Print     Kind = 'b'
	Sum       Kind = '.'
	Same      Kind = '='
	Void      Kind = 'w'
	End       Kind = 'e'
)

// Record is one record. Its Kind determines which fields are used.
type Record struct {
	Kind       Kind
	Name       string       // of an entry
	Target     string       // of a link; of a rule: the pattern
	Mode       fs.FileMode  // of a directory or a file: only permissions, setuid, setgid and sticky
	Time       int64        // of a directory or a file: time of the last change, in nanoseconds since 1970
	Size       int64        // of a File, Hole or Keep: bytes; of End: entries; of HardLink: the number
	Holes      bool         // of a file: it may have holes
	All        bool         // of Delete: also in the top directory; of a rule: it includes
	Data       []byte       // valid until the next record is read
	Sum        [SumLen]byte // SHA-256; of End: the Digest
	Print      block.Print
	Attributes *Attributes // of Attr
}

// Attributes are the attributes of an entry beside its permissions and its time.
type Attributes struct {
	Owner    *Owner     // nil: not sent
	Link     uint32     // number to which hard links refer, from 1 on in order; 0: no hard links
	ACL      bool       // Extended has all access lists of the entry
	Xattr    bool       // Extended has all other extended attributes of the entry
	Extended []Extended // in the order of their names
}

// Owner is the user and the group of an entry. A host uses the names if it knows them, and
// otherwise the numbers.
type Owner struct {
	UID, GID    uint32
	User, Group string
}

// Extended is an extended attribute.
type Extended struct {
	Name  string
	Value []byte
}

// The extended attributes in which Linux keeps access lists.
const (
	AccessACL  = "system.posix_acl_access"
	DefaultACL = "system.posix_acl_default"
)

// IsACL reports whether an extended attribute is an access list.
func IsACL(name string) bool { return name == AccessACL || name == DefaultACL }

// KeepsXattr reports whether an extended attribute that is not an access list is kept. Attributes
// in the namespace user are always kept. Those in trusted and security are kept if root is true,
// except labels that a host sets by its own policy.
func KeepsXattr(name string, root bool) bool {
	switch name {
	case "security.selinux", "security.SMACK64", "security.apparmor", "security.ima", "security.evm":
		return false
	}
	return strings.HasPrefix(name, "user.") || root && (strings.HasPrefix(name, "trusted.") || strings.HasPrefix(name, "security."))
}

// Special holds the bits of a mode that may be sent and are not permissions.
const Special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Digest identifies a tree or a stream. It is the SHA-256 of these records of the entries, in
// order: attributes, directory, up, file, link, hard link, stream and sum. So it covers names,
// permissions, times, sizes, targets, attributes and, by the sums, contents. In a quick pass it
// does not cover the sums. It never covers the places of holes, the blocks that receivers have,
// omissions, or files that end with void.
type Digest [SumLen]byte

// ErrDigest is wrapped by the error for an end with a digest that does not match the records before
// it. They came in several rounds, and are not from the same tree.
var ErrDigest = errors.New("the received data are not those that were sent: wrong digest")

// ErrFormat is wrapped by the errors for invalid records.
var ErrFormat = errors.New("invalid cast data")

// CheckName returns an error that wraps ErrFormat unless name is valid for an entry.
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

// checkFree returns an error that wraps ErrFormat unless target is valid for a free link.
func checkFree(target string) error {
	switch {
	case target == "" || len(target) > MaxTarget:
		return fmt.Errorf("%w: a link's target has %d bytes, want 1 to %d", ErrFormat, len(target), MaxTarget)
	case strings.ContainsRune(target, 0):
		return fmt.Errorf("%w: the target %q of a link", ErrFormat, target)
	}
	return nil
}

// CheckTarget returns an error that wraps ErrFormat unless a link leads below the top directory.
// depth is the number of directories between the top and the link.
//
// A target may begin with "..", up to depth times. It may not have ".." after a name, because the
// result would depend on whether the name is a link. The directory of a link is never a link, so
// the leading ".." are certain. A name leads below the top, because every link does.
func CheckTarget(target string, depth int) error {
	if err := checkFree(target); err != nil {
		return err
	}
	if target[0] == '/' {
		return fmt.Errorf("%w: a link leads out of the top directory, to %q", ErrFormat, target)
	}
	ups, named := 0, false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if ups++; named || ups > depth {
				return fmt.Errorf("%w: a link leads, or may lead, out of the top directory, to %q", ErrFormat, target)
			}
		default:
			named = true
		}
	}
	return nil
}

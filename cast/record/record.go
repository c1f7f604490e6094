// Package record is the form in which a tree of files, or a stream, is sent: one record after
// another. No record refers to one that came long before it, except that a hard link has the number
// of its file.
//
//	stream  = "schedgen-cast" version u8, kind of pass, deletion, entries, end
//	entries = any number of directory, file, link and omission; or one stream and nothing else
//
// A pass may begin with records that say what it is:
//
//	'Q' quick      files may come as they are at the receivers, and the digest covers no contents
//	'v' survey     of each file come the prints of its blocks in place of its contents
//	'V' outline    of each file come neither contents nor prints; an outline is quick
//	'D' delete     all u8: what the sender does not have is to be deleted; if all is 1, also in the
//	               directory that everything is written to
//	'p' rule       include u8, pattern: a rule of package filter; entries that the rules exclude stay
//
// Then come the entries:
//
//	'a' attributes of the entry that follows; see below
//	'd' directory  mode u16, time i64, name; what follows is in it, up to
//	'u' up
//	'f' file       mode u16, time i64, size u64, holes u8, name; then data, holes and what is kept, of
//	               size bytes together; then sum. A file may end with void at any place, and a quick
//	               pass may have same in place of all that
//	'l' link       name, target; the target leads to something below the top
//	'L' free link  name, target; the target leads anywhere
//	'h' hard link  number u32, name: a further name of the file whose attributes had this number
//	'n' omission   name: an entry that the sender has and does not send; it is not deleted
//	's' stream     then data; then sum
//	'x' data       length u32, bytes
//	'o' hole       length u64: so many bytes that are zero
//	'k' keep       length u64: so many bytes that the receivers have already
//	'b' print      of a block [16], see package block
//	'.' sum        SHA-256 of the file or the stream, holes included [32]
//	'=' same       the receivers have a file of this size and time, and keep it
//	'w' void       the file has changed while it was read: it is not sent, or comes again next
//	'e' end        how many entries there were, without omissions u64; their digest [32]
//
// Attributes are
//
//	flags u8; if 1 is set: user id u32, group id u32, user, group (names, which may be empty); if 8 is
//	set: number u32, by which hard links name the file; number of extended attributes u16, and for
//	each: name, length u32, value. If 2 is set the access lists of the entry are those that come, if 4
//	is set the other extended attributes are
//
// Integers are big-endian. Times are nanoseconds since 1970. A mode has the nine permission bits
// and setuid, setgid and sticky. Names, targets and patterns stand behind their length in a u16.
//
// A name is that of an entry in the directory that the reader is in, never a path, so no name leads
// anywhere else. The names of a directory ascend, byte by byte, so nothing comes twice. A link
// leads to something below the directory that everything is written to (CheckTarget), unless it is
// a free link, which a receiver must have asked for. A Reader takes nothing else.
//
// The digest at the end is the same for a tree however it is sent: as a whole, without what the
// receivers have, or as a survey. A quick pass has another one, which is that of an outline. See
// [Digest].
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
	version = 4

	// MaxName is the longest name, in bytes.
	MaxName = 255
	// MaxTarget is the longest target of a link, in bytes.
	MaxTarget = 4095
	// MaxDepth is how many directories may be inside each other.
	MaxDepth = 256
	// MaxSpan is the most data in one record, in bytes.
	MaxSpan = 256 << 10
	// MaxLinks is how many files may have further names.
	MaxLinks = 1 << 20
	// MaxExtended is how many extended attributes an entry may have.
	MaxExtended = 256
	// MaxValue is the longest value of an extended attribute, in bytes.
	MaxValue = 64 << 10
	// MaxValues is the most bytes of all values of an entry together.
	MaxValues = 1 << 20
	// SumLen is the length of a sum, in bytes.
	SumLen = 32
)

// Kind says what a record is.
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

// Record is one record. Its Kind says which of the fields count.
type Record struct {
	Kind       Kind
	Name       string       // of an entry
	Target     string       // of a link; of a rule: the pattern
	Mode       fs.FileMode  // of a directory, a file: permissions, setuid, setgid and sticky alone
	Time       int64        // of a directory, a file: of the last change, in nanoseconds since 1970
	Size       int64        // of a file, a hole, what is kept: bytes; of End: entries; of HardLink: the number
	Holes      bool         // of a file: it may have holes
	All        bool         // of Delete: also at the top; of a rule: it includes
	Data       []byte       // of data: valid until the next record is read
	Sum        [SumLen]byte // SHA-256; of End: the Digest
	Print      block.Print
	Attributes *Attributes // of Attr
}

// Attributes are what is kept of an entry beside its permissions and its time.
type Attributes struct {
	Owner    *Owner     // nil: it is not kept
	Link     uint32     // by which hard links name this file, from 1 on in order; 0: there are none
	ACL      bool       // the access lists in Extended are all that the entry has
	Xattr    bool       // the other attributes in Extended are all that the entry has
	Extended []Extended // in the order of their names
}

// Owner is the user and the group that an entry belongs to. A host takes the names if it knows
// them, else the numbers.
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

// KeepsXattr reports whether an extended attribute that is no access list is kept by a process,
// which may be root's: in the namespace user by any, in trusted and security by root's, except
// labels that a host gives by its own policy.
func KeepsXattr(name string, root bool) bool {
	switch name {
	case "security.selinux", "security.SMACK64", "security.apparmor", "security.ima", "security.evm":
		return false
	}
	return strings.HasPrefix(name, "user.") || root && (strings.HasPrefix(name, "trusted.") || strings.HasPrefix(name, "security."))
}

// Special are the bits of a mode that are not permissions and that may be sent.
const Special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Digest identifies a tree or a stream: it is the SHA-256 of the records of its entries, in order,
// which are attributes, directory, up, file, link, hard link, stream and sum. So it covers names,
// permissions, times, sizes, targets, attributes and, by the sums, contents; in a quick pass it
// does not cover sums. It never covers where a file has holes, what the receivers have already,
// what is omitted, or files that end with void.
type Digest [SumLen]byte

// ErrDigest is wrapped by the error for an end whose digest is not that of the records before it:
// they came in several rounds and are not of one tree.
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

// checkFree returns an error that wraps ErrFormat unless a link may have the target.
func checkFree(target string) error {
	switch {
	case target == "" || len(target) > MaxTarget:
		return fmt.Errorf("%w: a link's target has %d bytes, want 1 to %d", ErrFormat, len(target), MaxTarget)
	case strings.ContainsRune(target, 0):
		return fmt.Errorf("%w: the target %q of a link", ErrFormat, target)
	}
	return nil
}

// CheckTarget returns an error that wraps ErrFormat unless a link in a directory that is depth
// directories below the one that everything is written to leads to somewhere below that.
//
// A target may begin with "..", as often as there are directories above that may be entered, and
// has it nowhere else: what ".." is behind a name depends on whether that is a link. The directory
// of a link is none, so what its first ".." is is certain; and what a name leads to is below, since
// that holds of every link.
func CheckTarget(target string, depth int) error {
	if err := checkFree(target); err != nil {
		return err
	}
	if target[0] == '/' {
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

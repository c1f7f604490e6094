package pack

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// Origin is a set of files and directories that is sent in one or several passes. The first pass
// records the names, permissions, times, sizes, targets and contents of all entries. A later pass
// must find the same. It ends with a *ChangedError at the first entry that differs, before a
// receiver accepts that entry. If a pass breaks off, the next pass records the remaining entries.
//
// Passes must not run at the same time.
type Origin struct {
	sources []source // in the order of their names
	options Options
	skipped map[uint64]struct{} // hashes of the paths that no pass sends
	counted int64               // number of entries that Measure counted; 0: not called
	voided  int                 // number of void records
	gone    int64               // number of entries that were counted, and then were gone
	owners  owners

	skippedThen int // number of entries that Measure skipped

	seen   sightings // by the number of the entry
	whole  bool      // seen is complete; digest and totals are valid
	digest record.Digest
	totals Totals
}

// sighting identifies an entry by the first bytes of hashes. content is 0 for a file that was not
// read completely.
type sighting struct{ path, head, content uint64 }

// sightings is a list that never copies its elements, so a million entries never take more than
// their 24 MB.
type sightings struct {
	chunks [][]sighting // all but the last have chunkLen elements
	n      int
}

const chunkLen = 1 << 12

func (l *sightings) add(s sighting) {
	if l.n%chunkLen == 0 {
		l.chunks = append(l.chunks, make([]sighting, 0, min(chunkLen, max(l.n, 1))))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, s)
	l.n++
}

func (l *sightings) at(i int) *sighting { return &l.chunks[i/chunkLen][i%chunkLen] }

// drop removes the last element.
func (l *sightings) drop() {
	l.n--
	last := len(l.chunks) - 1
	if l.chunks[last] = l.chunks[last][:l.n-last*chunkLen]; len(l.chunks[last]) == 0 {
		l.chunks = l.chunks[:last]
	}
}

// later reports whether an entry from number i on has the path.
func (l *sightings) later(i int, path uint64) bool {
	for ; i < l.n; i++ {
		if l.at(i).path == path {
			return true
		}
	}
	return false
}

// At returns the origin of one path, with the zero Options. It reads nothing.
func At(path string) *Origin {
	o, err := New([]string{path}, Options{})
	if err != nil { // cannot happen: one path has one name
		return &Origin{sources: []source{{path: path}}}
	}
	return o
}

// Path returns the path of the origin as it was given. If there are several, it returns the one
// whose name is first in order.
func (o *Origin) Path() string { return o.sources[0].path }

// Options returns the options of the origin.
func (o *Origin) Options() Options { return o.options }

// Quick reports whether files of the same size and time are not read. A nil origin is not quick.
func (o *Origin) Quick() bool { return o != nil && o.options.Quick }

// Skipped returns the number of entries that could not be sent.
func (o *Origin) Skipped() int { return len(o.skipped) }

// Voided returns how often, in all passes so far, a file was withdrawn after its head had been
// sent, because it changed or could not be read. A file may count twice. After a pass with such a
// file, the next pass writes other bytes. A nil origin has none.
func (o *Origin) Voided() int {
	if o == nil {
		return 0
	}
	return o.voided
}

// Gone returns the number of entries that Measure counted, and that no longer existed when they
// were to be sent.
func (o *Origin) Gone() int64 { return o.gone }

// Digest returns the digest and the totals of all entries. ok is false until a pass has been
// completed.
func (o *Origin) Digest() (d record.Digest, t Totals, ok bool) { return o.digest, o.totals, o.whole }

// ChangedError is the error for an entry that differs from the first pass, or that changed while it
// was read.
type ChangedError struct {
	Path string
	How  string
}

// Error implements [error].
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since the cast began (%s): cast it again", e.Path, e.How)
}

// see records the head of an entry. It returns an error if the head differs from that of the first
// pass.
func (o *Origin) see(number int, attr *record.Attributes, head *record.Record, path string) error {
	mine := sighting{path: hash64([]byte(path)), head: headOf(attr, head)}
	switch {
	case number < o.seen.n:
		return o.compare(number, mine, path)
	case o.whole:
		return &ChangedError{path, "it is new"}
	}
	o.seen.add(mine)
	return nil
}

func (o *Origin) compare(number int, mine sighting, path string) error {
	switch was := o.seen.at(number); {
	case was.path == mine.path && was.head == mine.head:
		return nil
	case was.path == mine.path:
		return &ChangedError{path, "its kind, size, time or permissions have changed"}
	}
	if !o.whole { // the entries after those seen are not known
		return &ChangedError{filepath.Dir(path), "its entries have changed"}
	}
	if o.seen.later(number, mine.path) {
		return &ChangedError{filepath.Dir(path), fmt.Sprintf("the entry before %s is gone", filepath.Base(path))}
	}
	return &ChangedError{path, "it is new"}
}

// check compares the sum of a file with that of the first pass.
func (o *Origin) check(number int, sum *record.Record, path string) error {
	content := binary.BigEndian.Uint64(sum.Sum[:])
	was := &o.seen.at(number).content
	if *was != 0 && *was != content {
		return &ChangedError{path, "its contents have changed"}
	}
	*was = content
	return nil
}

// close records that a pass is complete.
func (o *Origin) close(entries int, end *record.Record, bytes int64) error {
	switch {
	case entries < o.seen.n:
		return &ChangedError{o.Path(), fmt.Sprintf("%d of %d entries are gone", o.seen.n-entries, o.seen.n)}
	case o.whole && end.Sum != o.digest:
		return &ChangedError{o.Path(), "its digest has changed"}
	}
	if gone := o.counted - int64(entries) - int64(len(o.skipped)-o.skippedThen); !o.whole && o.options.Skip != nil && gone > 0 {
		o.options.Skip(o.Path(), fmt.Errorf("%s: %w: %d entries that were there when the cast began", o.Path(), ErrVanished, gone))
		o.gone = gone
	}
	o.whole, o.digest, o.totals = true, end.Sum, Totals{int64(entries), bytes}
	return nil
}

// missing returns the error for a path at which nothing exists.
func (o *Origin) missing(err error) error {
	if o.seen.n > 0 && errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{o.Path(), "it is gone"}
	}
	return err
}

// headOf returns the hash of the head of an entry. It does not cover holes, which may change in a
// file that does not change.
func headOf(attr *record.Attributes, r *record.Record) uint64 {
	b := binary.BigEndian.AppendUint32(append(make([]byte, 0, 64), byte(r.Kind)), uint32(r.Mode))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Size))
	b = append(b, r.Target...)
	if attr != nil {
		b = attr.Append(append(b, 0))
	}
	return hash64(b)
}

func hash64(b []byte) uint64 {
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}

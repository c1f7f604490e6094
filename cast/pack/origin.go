package pack

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/schedgen/schedgen/cast/record"
)

// Origin is what is sent, files and directories, to all receivers at once or in several passes. The
// first pass fixes what it is: its entries with their names, permissions, times, sizes, targets and
// contents. A later pass must read the same entries. It ends with a *ChangedError at the first one
// that differs, before a receiver accepts it. If a pass breaks off, the next pass fixes the entries
// behind that place.
//
// Passes must not run at the same time.
type Origin struct {
	sources []source // in the order of their names
	options Options
	skipped map[uint64]struct{} // hashes of the paths that no pass sends
	counted int64               // entries that Measure has counted; 0: it was not called
	voided  int                 // files that have ended with void
	gone    int64               // entries that were counted and are not there
	owners  owners

	skippedThen int // entries that Measure has skipped

	seen   sightings // by the numbers of the entries
	whole  bool      // there are no others; digest and totals are valid
	digest record.Digest
	totals Totals
}

// sighting identifies an entry by the first bytes of hashes. Of a file whose reading has broken off
// content is 0.
type sighting struct{ path, head, content uint64 }

// sightings is a list that never copies what is in it: a million entries are to take no more than
// their 24 MB at any time.
type sightings struct {
	chunks [][]sighting // of chunkLen each, but the last
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

// drop forgets the last.
func (l *sightings) drop() {
	l.n--
	last := len(l.chunks) - 1
	if l.chunks[last] = l.chunks[last][:l.n-last*chunkLen]; len(l.chunks[last]) == 0 {
		l.chunks = l.chunks[:last]
	}
}

// later reports whether an entry at number i or behind has a path.
func (l *sightings) later(i int, path uint64) bool {
	for ; i < l.n; i++ {
		if l.at(i).path == path {
			return true
		}
	}
	return false
}

// At returns the origin at a path, with the zero Options. Nothing is read yet.
func At(path string) *Origin {
	o, err := New([]string{path}, Options{})
	if err != nil { // one path has one name
		return &Origin{sources: []source{{path: path}}}
	}
	return o
}

// Path returns the path of the origin, as it was given; of several, the one whose name is first.
func (o *Origin) Path() string { return o.sources[0].path }

// Options returns the options of the origin.
func (o *Origin) Options() Options { return o.options }

// Quick reports whether files of the same size and time are not read. A nil origin is not quick.
func (o *Origin) Quick() bool { return o != nil && o.options.Quick }

// Skipped returns how many entries could not be sent.
func (o *Origin) Skipped() int { return len(o.skipped) }

// Voided returns how many files have changed while they were read, in all passes so far. After a
// pass in which there were some, the next pass does not write the same bytes. A nil origin has
// none.
func (o *Origin) Voided() int {
	if o == nil {
		return 0
	}
	return o.voided
}

// Gone returns how many entries that Measure has counted were gone, without a trace, when they were
// to be sent.
func (o *Origin) Gone() int64 { return o.gone }

// Digest returns the digest and the size of all that is sent, or ok = false before a pass has come
// to its end.
func (o *Origin) Digest() (d record.Digest, t Totals, ok bool) { return o.digest, o.totals, o.whole }

// ChangedError is the error for what is not the same as in the first pass, or has changed while it
// was read.
type ChangedError struct {
	Path string
	How  string
}

// Error implements [error].
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since the cast began (%s): cast it again", e.Path, e.How)
}

// see takes note of the head of an entry, and returns an error if it is not as it was in the first
// pass.
func (o *Origin) see(number int, attr *record.Attributes, head *record.Record, path string) error {
	mine := sighting{path: hash64([]byte(path)), head: headOf(attr, head)}
	switch {
	case number < o.seen.n:
		return o.compare(number, mine, path)
	case o.whole:
		return &ChangedError{path, "it was not there before"}
	}
	o.seen.add(mine)
	return nil
}

func (o *Origin) compare(number int, mine sighting, path string) error {
	switch was := o.seen.at(number); {
	case was.path == mine.path && was.head == mine.head:
		return nil
	case was.path == mine.path:
		return &ChangedError{path, "its kind, size, time or permissions are not those that it had"}
	}
	if !o.whole { // it is not known what came behind those that were seen
		return &ChangedError{filepath.Dir(path), "its entries are not those that it had"}
	}
	if o.seen.later(number, mine.path) {
		return &ChangedError{filepath.Dir(path), fmt.Sprintf("what came before %s is gone", filepath.Base(path))}
	}
	return &ChangedError{path, "it was not there before"}
}

// check compares the sum of a file with that of the first pass.
func (o *Origin) check(number int, sum *record.Record, path string) error {
	content := binary.BigEndian.Uint64(sum.Sum[:])
	was := &o.seen.at(number).content
	if *was != 0 && *was != content {
		return &ChangedError{path, "its contents are not those that it had"}
	}
	*was = content
	return nil
}

// close takes note that all has been read.
func (o *Origin) close(entries int, end *record.Record, bytes int64) error {
	switch {
	case entries < o.seen.n:
		return &ChangedError{o.Path(), fmt.Sprintf("%d of %d entries are gone", o.seen.n-entries, o.seen.n)}
	case o.whole && end.Sum != o.digest:
		return &ChangedError{o.Path(), "its digest is not what it was"}
	}
	if gone := o.counted - int64(entries) - int64(len(o.skipped)-o.skippedThen); !o.whole && o.options.Skip != nil && gone > 0 {
		o.options.Skip(o.Path(), fmt.Errorf("%s: %w: %d entries that were there when the cast began", o.Path(), ErrVanished, gone))
		o.gone = gone
	}
	o.whole, o.digest, o.totals = true, end.Sum, Totals{int64(entries), bytes}
	return nil
}

// missing returns what it means that nothing is at the path.
func (o *Origin) missing(err error) error {
	if o.seen.n > 0 && errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{o.Path(), "it is gone"}
	}
	return err
}

// headOf returns the hash of what is said of an entry. Where a file has holes may change while it
// lies there.
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

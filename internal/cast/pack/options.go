package pack

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/cast/filter"
)

// Options say which entries of a tree are sent, and which of their properties. The zero value sends
// names, contents, the nine permission bits, times, holes, and links that lead below the tree.
type Options struct {
	Filter *filter.Filter // which entries are sent; nil means all
	Links  Links          // how symbolic links are sent
	Modes  *Modes         // changes of permissions; nil means none

	Owner      bool // send the user and the group of each entry
	NumericIDs bool // with Owner: send numbers only, without names
	Special    bool // send setuid, setgid and sticky
	HardLinks  bool // send a file with several names only once
	ACL        bool // send access lists
	// Xattr sends the other extended attributes for which record.KeepsXattr returns true.
	Xattr bool

	// Delete makes receivers delete other entries in the directories that are sent. Entries that
	// Filter excludes, or that were skipped, stay.
	Delete bool
	// Quick neither reads nor sends the contents of a file that has the same size and time at the
	// receivers.
	Quick bool

	// Skip is called once for each entry that cannot be sent, with the reason, before or while a
	// tree is sent. The other entries are sent. If some that Measure counted are gone, Skip is
	// called once more at the end of the pass, with Origin.Path. If Skip is nil, an entry that
	// cannot be sent ends the pass with an error.
	Skip func(path string, why error)
}

// Links says how symbolic links are sent.
type Links int

const (
	// LinksBelow sends links that lead below the tree. Other links cannot be sent.
	LinksBelow Links = iota
	// LinksFree sends all links as they are. A receiver must have asked for them. It never follows
	// a link.
	LinksFree
	// LinksFollowed sends the targets of links in place of the links.
	LinksFollowed
)

// source is one of the paths of an origin.
type source struct {
	path string
	name string // "": the directory's entries are sent without the directory
}

// New returns the origin of some paths. It reads no entry. It returns an error if two paths would
// be sent under the same name.
func New(paths []string, o Options) (*Origin, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path to send")
	}
	origin := &Origin{options: o}
	for _, path := range paths {
		s := source{path: path}
		if !bare(path) {
			s.name = filepath.Base(path)
		}
		at := 0 // the sources are in the order of their names
		for i, other := range origin.sources {
			if s.name != "" && s.name == other.name {
				return nil, fmt.Errorf("%s and %s would both be sent as %s", other.path, s.path, s.name)
			}
			if other.name <= s.name {
				at = i + 1
			}
		}
		origin.sources = slices.Insert(origin.sources, at, s)
	}
	return origin, nil
}

// bare reports whether the entries of a directory at path are sent without the directory.
func bare(path string) bool {
	last := filepath.Base(path)
	return strings.HasSuffix(path, "/") || last == "." || last == ".." || last == "/"
}

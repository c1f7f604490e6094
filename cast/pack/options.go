package pack

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/cast/filter"
)

// Options say which entries of a tree are sent and what of them. The zero value sends names,
// contents, the nine permission bits, times, holes, and links that lead to something below what is
// sent.
type Options struct {
	Filter *filter.Filter // which entries are sent; nil means all
	Links  Links          // what becomes of symbolic links
	Modes  *Modes         // change the permissions that are sent; nil changes none

	Owner      bool // send the user and the group of each entry
	NumericIDs bool // with Owner: send their numbers alone, without names
	Special    bool // send setuid, setgid and sticky
	HardLinks  bool // send a file with several names once; without it, it is sent once for each name
	ACL        bool // send access lists
	// Xattr sends the other extended attributes of which record.KeepsXattr says so.
	Xattr bool

	// Delete has receivers delete what is not sent in the directories that are. Entries that Filter
	// excludes, or that were skipped, stay there.
	Delete bool
	// Quick sends a file whose size and time are those of the file at the receivers without its
	// contents, and does not read it.
	Quick bool

	// Skip is called once for each entry that cannot be sent, with the reason, before or while a
	// tree is sent. The others are sent. A nil Skip makes such an entry an error that ends a pass.
	Skip func(path string, why error)
}

// Links says what becomes of symbolic links.
type Links int

const (
	// LinksBelow sends links that lead to something below what is sent. Others cannot be sent.
	LinksBelow Links = iota
	// LinksFree sends all links as they are. A receiver must have asked for them, and never follows
	// one.
	LinksFree
	// LinksFollowed sends what links lead to in their place.
	LinksFollowed
)

// source is one of the paths that are sent.
type source struct {
	path string
	name string // "": what is in the directory comes without it
}

// New returns the origin that has all of some paths. No entry is read yet. The error is for two
// paths that would come under one name.
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
		for _, other := range origin.sources {
			if s.name != "" && s.name == other.name {
				return nil, fmt.Errorf("%s and %s would both come as %s", other.path, s.path, s.name)
			}
		}
		origin.sources = append(origin.sources, s)
	}
	slices.SortStableFunc(origin.sources, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return origin, nil
}

// bare reports whether a directory at path is sent without its name.
func bare(path string) bool {
	last := filepath.Base(path)
	return strings.HasSuffix(path, "/") || last == "." || last == ".." || last == "/"
}

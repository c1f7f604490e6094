package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/filter"
	"github.com/schedgen/schedgen/cast/pack"
	"github.com/schedgen/schedgen/cast/unpack"
)

// castFiles holds the flags that say which files are sent, and which of their properties.
type castFiles struct {
	Exclude    []string `sep:"none" placeholder:"PATTERN" help:"Leave out entries that match, as rsync does: *.o, /build, cache/. The first --exclude or --include that matches decides."`
	Include    []string `sep:"none" placeholder:"PATTERN" help:"Send entries that match, even if a later --exclude matches, too."`
	Links      bool     `help:"Also send symbolic links that lead out of the directory, which are skipped otherwise. Hosts do not follow links."`
	CopyLinks  bool     `help:"Send the targets of symbolic links in place of the links."`
	Owner      bool     `help:"Keep users and groups, by name, or by number if a host does not know the name. Needs root at the hosts."`
	NumericIDs bool     `name:"numeric-ids" help:"With --owner: keep numbers only."`
	Setuid     bool     `help:"Keep setuid, setgid and sticky."`
	Chmod      string   `placeholder:"MODES" help:"Change permissions, such as D755,F644 or u+rwX,go-w; D is for directories, F for files."`
	HardLinks  bool     `short:"H" help:"Keep hard links: send a file with several names only once."`
	ACLs       bool     `short:"A" name:"acls" help:"Keep access lists (Linux)."`
	Xattrs     bool     `short:"X" name:"xattrs" help:"Keep other extended attributes (Linux): those of users, and, with root at both sides, those of the system except labels."`
	Delete     int      `placeholder:"N" help:"When a host has everything, delete entries of the sent directories that do not exist here: at most N, and none if there are more. Excluded and skipped entries stay."`
	Update     bool     `help:"Neither read nor send files that have the same size and time at a host. Send other files as with --resume."`
	Compress   string   `default:"auto" enum:"auto,on,off" placeholder:"WHEN" help:"Compress by zstd: on, off or auto, the default, which compresses files if the network is slower than zstd."`

	rules []filter.Rule // of Exclude and Include, in their order
	modes *pack.Modes
}

// AfterApply records the order of --exclude and --include.
func (f *castFiles) AfterApply(k *kong.Context) error {
	exclude, include := f.Exclude, f.Include
	for _, p := range k.Path {
		switch {
		case p.Flag == nil:
		case p.Flag.Name == "exclude" && len(exclude) > 0:
			f.rules = append(f.rules, filter.Rule{Pattern: exclude[0]})
			exclude = exclude[1:]
		case p.Flag.Name == "include" && len(include) > 0:
			f.rules = append(f.rules, filter.Rule{Include: true, Pattern: include[0]})
			include = include[1:]
		}
	}
	return nil
}

// check checks the flags for a cast of files, or of a stream.
func (f *castFiles) check(stream bool) (err error) {
	if stream {
		if flag := f.ofFiles(); flag != "" {
			return fmt.Errorf("%s: is for files, but a stream is sent", flag)
		}
		return nil
	}
	switch {
	case f.Links && f.CopyLinks:
		return errors.New("--links and --copy-links: give only one of them")
	case f.NumericIDs && !f.Owner:
		return errors.New("--numeric-ids: needs --owner")
	case f.Delete < 0:
		return fmt.Errorf("--delete=%d: must not be negative", f.Delete)
	}
	if f.Chmod != "" {
		if f.modes, err = pack.ParseModes(f.Chmod); err != nil {
			return fmt.Errorf("--chmod=%s: %w", f.Chmod, err)
		}
	}
	if _, err := filter.New(f.rules); err != nil {
		return fmt.Errorf("--exclude, --include: %w", err)
	}
	return nil
}

// ofFiles returns the name of a flag about files that is set, or "" if there is none.
func (f *castFiles) ofFiles() string {
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--exclude", len(f.Exclude) > 0}, {"--include", len(f.Include) > 0}, {"--links", f.Links}, {"--copy-links", f.CopyLinks}, {"--owner", f.Owner},
		{"--numeric-ids", f.NumericIDs}, {"--setuid", f.Setuid}, {"--chmod", f.Chmod != ""}, {"--hard-links", f.HardLinks}, {"--acls", f.ACLs},
		{"--xattrs", f.Xattrs}, {"--delete", f.Delete != 0}, {"--update", f.Update},
	} {
		if flag.set {
			return flag.name
		}
	}
	return ""
}

// options returns the options of the files to send. skip is called for each skipped entry.
func (f *castFiles) options(skip func(path string, why error)) (o pack.Options, err error) {
	o = pack.Options{
		Modes: f.modes, Owner: f.Owner, NumericIDs: f.NumericIDs, Special: f.Setuid, HardLinks: f.HardLinks, ACL: f.ACLs, Xattr: f.Xattrs,
		Delete: f.Delete > 0, Quick: f.Update, Skip: skip,
	}
	switch {
	case f.Links:
		o.Links = pack.LinksFree
	case f.CopyLinks:
		o.Links = pack.LinksFollowed
	}
	o.Filter, err = filter.New(f.rules)
	return o, err
}

// compress returns when data are compressed.
func (f *castFiles) compress() cast.Compress {
	switch f.Compress {
	case "on":
		return cast.CompressAlways
	case "off":
		return cast.CompressNever
	}
	return cast.CompressSlow
}

// sources splits the arguments into files and hosts. An argument with a slash is a file. If flags
// name the hosts, an existing file is a file, too.
func (c *castCmd) sources() (files, hosts []string) {
	files = []string{c.What}
	elsewhere := len(c.Nodes) > 0 || c.Hosts != "" || c.Serve
	for _, word := range c.Host {
		_, err := os.Lstat(word)
		if c.What != "-" && !strings.Contains(word, "://") && (strings.Contains(word, "/") || elsewhere && err == nil) {
			files = append(files, word)
		} else {
			hosts = append(hosts, word)
		}
	}
	return files, hosts
}

// receiveAccept holds the flags that say what a receiver accepts from a sender.
type receiveAccept struct {
	Owner  bool `help:"Take users and groups, if the sender sends them; needs root."`
	Setuid bool `help:"Take setuid, setgid and sticky, if the sender sends them."`
	ACLs   bool `short:"A" name:"acls" help:"Take access lists, if the sender sends them."`
	Xattrs bool `short:"X" name:"xattrs" help:"Take other extended attributes, if the sender sends them."`
	Links  bool `help:"Take symbolic links that lead out of DIR, if the sender sends them."`
	Delete int  `placeholder:"N" help:"If the sender asks for it, delete what it does not have: at most N entries, and none if there are more."`
}

func (a *receiveAccept) accept() unpack.Accept {
	return unpack.Accept{Owner: a.Owner, Special: a.Setuid, ACL: a.ACLs, Xattr: a.Xattrs, FreeLinks: a.Links}
}

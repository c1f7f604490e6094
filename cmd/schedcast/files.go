package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/filter"
	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/command/syntax"
)

// fileFlags are the flags that say which files are sent, and which of their properties.
type fileFlags struct {
	Links, CopyLinks, Owner, NumericIDs, Setuid, HardLinks, ACLs, Xattrs, Update bool

	Chmod, Compress string
	Delete          int

	rules []filter.Rule // of --exclude and --include, in their order
	modes *pack.Modes   // Chmod
}

func (f *fileFlags) add(v *verb) {
	f.Compress = "auto"
	rule := func(include bool) func(string) error {
		return func(pattern string) error {
			f.rules = append(f.rules, filter.Rule{Include: include, Pattern: pattern})
			return nil
		}
	}
	v.add(rule(false), syntax.Value{Name: "exclude", Placeholder: "PATTERN", Help: "Leave out entries that match, as rsync does: *.o, /build, cache/. The first --exclude or --include that matches decides."})
	v.add(rule(true), syntax.Value{Name: "include", Placeholder: "PATTERN", Help: "Send entries that match, even if a later --exclude matches, too."})
	v.add(yes(&f.Update), syntax.Value{Name: "update", Bool: true, Help: "Neither read nor send files that have the same size and time at a host. Send other files as with --resume."})
	v.add(whole(&f.Delete), syntax.Value{Name: "delete", Placeholder: "N", Help: "When a host has everything, delete entries of the sent directories that do not exist here: at most N, and none if there are more. Excluded and skipped entries stay."})
	v.add(yes(&f.Links), syntax.Value{Name: "links", Bool: true, Help: "Also send symbolic links that lead out of the directory, which are skipped otherwise. Hosts do not follow links.", Expert: true})
	v.add(yes(&f.CopyLinks), syntax.Value{Name: "copy-links", Bool: true, Help: "Send the targets of symbolic links in place of the links.", Expert: true})
	v.add(yes(&f.Owner), syntax.Value{Name: "owner", Bool: true, Help: "Keep users and groups, by name, or by number if a host does not know the name. Needs root at the hosts.", Expert: true})
	v.add(yes(&f.NumericIDs), syntax.Value{Name: "numeric-ids", Bool: true, Help: "With --owner: keep numbers only.", Expert: true})
	v.add(yes(&f.Setuid), syntax.Value{Name: "setuid", Bool: true, Help: "Keep setuid, setgid and sticky.", Expert: true})
	v.add(text(&f.Chmod), syntax.Value{Name: "chmod", Placeholder: "MODES", Help: "Change permissions, such as D755,F644 or u+rwX,go-w; D is for directories, F for files.", Expert: true})
	v.add(yes(&f.HardLinks), syntax.Value{Name: "hard-links", Short: 'H', Bool: true, Help: "Keep hard links: send a file with several names only once.", Expert: true})
	v.add(yes(&f.ACLs), syntax.Value{Name: "acls", Short: 'A', Bool: true, Help: "Keep access lists (Linux).", Expert: true})
	v.add(yes(&f.Xattrs), syntax.Value{Name: "xattrs", Short: 'X', Bool: true, Help: "Keep other extended attributes (Linux): those of users, and, with root at both sides, those of the system except labels.", Expert: true})
	v.add(text(&f.Compress), syntax.Value{Name: "compress", Placeholder: "WHEN", Help: "Compress by zstd: on, off or auto, the default, which compresses files if the network is slower than zstd.", Enum: []string{"auto", "on", "off"}, Expert: true})
}

// check checks the flags for a cast of files, or of a stream.
func (f *fileFlags) check(stream bool) (err error) {
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
func (f *fileFlags) ofFiles() string {
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--exclude", f.excludes(false)}, {"--include", f.excludes(true)}, {"--links", f.Links}, {"--copy-links", f.CopyLinks}, {"--owner", f.Owner},
		{"--numeric-ids", f.NumericIDs}, {"--setuid", f.Setuid}, {"--chmod", f.Chmod != ""}, {"--hard-links", f.HardLinks}, {"--acls", f.ACLs},
		{"--xattrs", f.Xattrs}, {"--delete", f.Delete != 0}, {"--update", f.Update},
	} {
		if flag.set {
			return flag.name
		}
	}
	return ""
}

// excludes reports whether a flag --exclude was given, or --include if include is true.
func (f *fileFlags) excludes(include bool) bool {
	return slices.ContainsFunc(f.rules, func(r filter.Rule) bool { return r.Include == include })
}

// options returns the options of the files to send. skip is called for each skipped entry.
func (f *fileFlags) options(skip func(path string, why error)) (o pack.Options, err error) {
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
func (f *fileFlags) compress() cast.Compress {
	switch f.Compress {
	case "on":
		return cast.CompressAlways
	case "off":
		return cast.CompressNever
	}
	return cast.CompressSlow
}

// sources splits the arguments into files and hosts. An argument with a slash is a file. If flags
// name the hosts, an existing file is a file, too. If there is a single file, it may be FILE:DIR.
func (c *sendCmd) sources() (files, hosts []string, err error) {
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
	file, dir := parted(c.What)
	if dir == "" {
		return files, hosts, nil
	}
	switch {
	case len(files) > 1:
		return nil, nil, fmt.Errorf("%s: FILE:DIR is for a single file; name the directory by --to", c.What)
	case c.To != "":
		return nil, nil, fmt.Errorf("%s and --to: both name a directory", c.What)
	}
	c.What, c.To = file, dir
	return []string{file}, hosts, nil
}

// parted returns the parts of FILE:DIR. The name of an existing file has no parts, so dir is "".
func parted(name string) (file, dir string) {
	at := strings.LastIndexByte(name, ':')
	if at <= 0 || at == len(name)-1 {
		return name, ""
	}
	if _, err := os.Lstat(name); err == nil {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// acceptFlags are the flags that say what a receiver accepts from a sender.
type acceptFlags struct {
	Owner, Setuid, ACLs, Xattrs, Links bool

	Delete int
}

func (a *acceptFlags) add(v *verb) {
	v.add(yes(&a.Owner), syntax.Value{Name: "owner", Bool: true, Help: "Take users and groups, if the sender sends them; needs root.", Expert: true})
	v.add(yes(&a.Setuid), syntax.Value{Name: "setuid", Bool: true, Help: "Take setuid, setgid and sticky, if the sender sends them.", Expert: true})
	v.add(yes(&a.ACLs), syntax.Value{Name: "acls", Short: 'A', Bool: true, Help: "Take access lists, if the sender sends them.", Expert: true})
	v.add(yes(&a.Xattrs), syntax.Value{Name: "xattrs", Short: 'X', Bool: true, Help: "Take other extended attributes, if the sender sends them.", Expert: true})
	v.add(yes(&a.Links), syntax.Value{Name: "links", Bool: true, Help: "Take symbolic links that lead out of DIR, if the sender sends them.", Expert: true})
	v.add(whole(&a.Delete), syntax.Value{Name: "delete", Placeholder: "N", Help: "If the sender asks for it, delete what it does not have: at most N entries, and none if there are more.", Expert: true})
}

func (a *acceptFlags) accept() unpack.Accept {
	return unpack.Accept{Owner: a.Owner, Special: a.Setuid, ACL: a.ACLs, Xattr: a.Xattrs, FreeLinks: a.Links}
}

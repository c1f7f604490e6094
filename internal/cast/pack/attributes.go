package pack

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// extended reports whether access lists or other extended attributes are sent.
func (p *packer) extended() bool { return p.options.ACL || p.options.Xattr }

// attributes returns the attributes of a file that are sent beside its permissions and its time, or
// nil if there are none. It uses f only if extended attributes are sent.
func (p *packer) attributes(f *os.File, info fs.FileInfo, path string) (*record.Attributes, error) {
	a := &record.Attributes{ACL: p.options.ACL, Xattr: p.options.Xattr}
	if p.options.Owner {
		a.Owner = p.owner(info)
	}
	if p.options.HardLinks && info.Mode().IsRegular() {
		a.Link = p.inodes.next(info)
	}
	if p.extended() {
		var err error
		if a.Extended, err = readExtended(f, a.ACL, a.Xattr); err != nil {
			return nil, within(path, err)
		}
	}
	if !p.extended() && a.Owner == nil && a.Link == 0 {
		return nil, nil
	}
	return a, nil
}

// attributesOf returns the attributes of a directory.
func (p *packer) attributesOf(dir *os.Root, e *entry) (*record.Attributes, error) {
	if !p.extended() {
		return p.attributes(nil, e.info, e.path)
	}
	f, err := dir.Open(".")
	if err != nil {
		return nil, within(e.path, err)
	}
	defer f.Close()
	return p.attributes(f, e.info, e.path)
}

// owner returns the owner of an entry.
func (o *Origin) owner(info fs.FileInfo) *record.Owner {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	owner := &record.Owner{UID: st.Uid, GID: st.Gid}
	if !o.options.NumericIDs {
		owner.User = o.owners.name(&o.owners.users, st.Uid, func(id string) (string, error) {
			u, err := user.LookupId(id)
			if err != nil {
				return "", err
			}
			return u.Username, nil
		})
		owner.Group = o.owners.name(&o.owners.groups, st.Gid, func(id string) (string, error) {
			g, err := user.LookupGroupId(id)
			if err != nil {
				return "", err
			}
			return g.Name, nil
		})
	}
	return owner
}

// owners caches the names of users and groups.
type owners struct{ users, groups map[uint32]string }

// maxOwners is the greatest number of cached names.
const maxOwners = 1 << 16

// name returns the name of an id, or "" if no name can be sent.
func (*owners) name(known *map[uint32]string, id uint32, lookUp func(id string) (string, error)) string {
	if name, ok := (*known)[id]; ok {
		return name
	}
	name, err := lookUp(strconv.FormatUint(uint64(id), 10))
	if err != nil || len(name) > record.MaxName {
		name = "" // only the number is sent
	}
	if *known == nil || len(*known) == maxOwners {
		*known = map[uint32]string{}
	}
	(*known)[id] = name
	return name
}

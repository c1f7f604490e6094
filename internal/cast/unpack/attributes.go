package unpack

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path"
	"strconv"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// owners caches the numbers of users and groups on this host, by name.
type owners struct{ users, groups map[string]int }

// maxOwners is the greatest number of cached names.
const maxOwners = 1 << 16

// attributes sets the owner of an entry, and then its extended attributes, because a change of the
// owner may remove these. The caller sets permissions later, because a change of the owner also
// removes setuid. extend is nil for a link, which has no extended attributes.
func (u *unpacker) attributes(a *record.Attributes, chown func(uid, gid int) error, extend func(*record.Attributes) error) error {
	if a == nil {
		return nil
	}
	if o := a.Owner; o != nil {
		if err := chown(u.owners.user(o), u.owners.group(o)); err != nil {
			return fmt.Errorf("change its owner to %s: %w", spell(o), cause(err))
		}
	}
	if extend == nil || !a.ACL && !a.Xattr {
		return nil
	}
	return extend(a)
}

// spell names an owner.
func spell(o *record.Owner) string {
	name := func(text string, id uint32) string {
		if text == "" {
			return strconv.FormatUint(uint64(id), 10)
		}
		return text
	}
	return name(o.User, o.UID) + ":" + name(o.Group, o.GID)
}

// cause returns the error without its path, which may be a temporary name.
func cause(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (w *owners) user(o *record.Owner) int {
	return idOf(&w.users, o.User, o.UID, func(name string) (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
}

func (w *owners) group(o *record.Owner) int {
	return idOf(&w.groups, o.Group, o.GID, func(name string) (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
}

// idOf returns the number of a name on this host. It returns number if the name is unknown or
// empty.
func idOf(known *map[string]int, name string, number uint32, lookUp func(name string) (string, error)) int {
	if name == "" {
		return int(number)
	}
	if id, ok := (*known)[name]; ok {
		if id < 0 {
			return int(number)
		}
		return id
	}
	id := -1
	if text, err := lookUp(name); err == nil {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil {
			id = int(n)
		}
	}
	if *known == nil || len(*known) == maxOwners {
		*known = map[string]int{}
	}
	(*known)[name] = id
	if id < 0 {
		return int(number)
	}
	return id
}

// number records the path of a file that may get further names.
func (u *unpacker) number(a *record.Attributes, path string) {
	if a == nil || a.Link == 0 {
		return
	}
	if u.linked == nil {
		u.linked = map[uint32]string{}
	}
	u.linked[a.Link] = path
}

// hardLink gives a file a further name, once the file has its first name. It makes a temporary name
// first, and renames it, to replace an existing entry atomically.
func (u *unpacker) hardLink(rec *record.Record) error {
	old, ok := u.linked[uint32(rec.Size)]
	if !ok {
		return u.failed(rec.Name, fmt.Errorf("%w: another name of a file that has not come", record.ErrFormat))
	}
	if err := u.free(rec.Name); err != nil {
		return u.failed(rec.Name, err)
	}
	top, in, at, temp := u.target.Dir, u.current(), u.at(rec.Name), u.temps.next()
	return u.disk.give(nil, func(error) error {
		err := top.Link(old, path.Join(path.Dir(at), temp))
		if err == nil {
			err = in.Rename(temp, rec.Name)
			// If both were already names of one file, Rename has left both.
			if e := in.Remove(temp); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		if err != nil {
			return failedAt(at, err)
		}
		return nil
	})
}

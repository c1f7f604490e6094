package pack

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// readExtended returns the access lists of an open file, its other extended attributes, or both.
func readExtended(f *os.File, acl, xattr bool) (all []record.Extended, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { all, failed = extendedOf(int(fd), acl, xattr) })
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("read extended attributes: %w", err)
	}
	return all, nil
}

// maxNames is the greatest length of the names of all attributes of a file in Linux, in bytes.
const maxNames = 64 << 10

func extendedOf(fd int, acl, xattr bool) (all []record.Extended, err error) {
	n, err := unix.Flistxattr(fd, nil)
	if err == nil && n > 0 {
		list := make([]byte, maxNames)
		if n, err = unix.Flistxattr(fd, list); err == nil {
			return readNamed(fd, strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00"), acl, xattr)
		}
	}
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	return nil, err
}

// readNamed reads the named attributes that are sent.
func readNamed(fd int, names []string, acl, xattr bool) (all []record.Extended, err error) {
	slices.Sort(names)
	left := record.MaxValues
	for _, name := range names {
		if record.IsACL(name) && !acl || !record.IsACL(name) && !(xattr && record.KeepsXattr(name, os.Geteuid() == 0)) {
			continue
		}
		value := make([]byte, record.MaxValue)
		n, err := unix.Fgetxattr(fd, name, value)
		if errors.Is(err, unix.ENODATA) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if left -= n; left < 0 || len(all) == record.MaxExtended {
			return nil, fmt.Errorf("more than %d attributes, or more than %d bytes", record.MaxExtended, record.MaxValues)
		}
		all = append(all, record.Extended{Name: name, Value: slices.Clone(value[:n])})
	}
	return all, nil
}

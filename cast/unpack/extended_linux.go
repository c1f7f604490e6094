package unpack

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/cast/record"
)

// setExtended gives an open file or directory extended attributes, and removes others of their
// kinds.
func setExtended(f *os.File, a *record.Attributes) error {
	var failed error
	err := control(f, func(fd int) { failed = setExtendedOf(fd, a) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("set its extended attributes: %w", err)
	}
	return nil
}

// maxNames is the most that Linux returns for the names of all attributes of a file, in bytes.
const maxNames = 64 << 10

func setExtendedOf(fd int, a *record.Attributes) error {
	root := os.Geteuid() == 0
	list := make([]byte, maxNames)
	n, err := unix.Flistxattr(fd, list)
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:max(n, 0)]), "\x00"), "\x00") {
		kept := record.IsACL(name) && a.ACL || !record.IsACL(name) && a.Xattr && record.KeepsXattr(name, root)
		if !kept || slices.ContainsFunc(a.Extended, func(e record.Extended) bool { return e.Name == name }) {
			continue
		}
		if err := unix.Fremovexattr(fd, name); err != nil && !errors.Is(err, unix.ENODATA) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	for _, e := range a.Extended {
		if !record.IsACL(e.Name) && !record.KeepsXattr(e.Name, root) {
			continue // the sender may be root, and this process is not
		}
		if err := unix.Fsetxattr(fd, e.Name, e.Value, 0); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

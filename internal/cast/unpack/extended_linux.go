package unpack

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// setExtended sets extended attributes of an open file or directory, and removes others of their
// kinds.
func setExtended(f *os.File, a *record.Attributes) error {
	var failed error
	err := control(f, func(fd int) { failed = setExtendedOf(fd, a) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("set its extended attributes: %w", err)
	}
	return nil
}

// maxNames is the greatest length of the names of all attributes of a file in Linux, in bytes.
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
			continue // only root may set it
		}
		if err := unix.Fsetxattr(fd, e.Name, e.Value, 0); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

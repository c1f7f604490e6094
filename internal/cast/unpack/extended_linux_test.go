package unpack_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/record"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// list is an access list: the owner may read and write, user 1 may read, others may not.
var list = "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\x01\x00\x00\x00" +
	"\x04\x00\x00\x00\xff\xff\xff\xff" + "\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"

// value returns an extended attribute, or "" if there is none.
func value(t *testing.T, path, name string) string {
	t.Helper()
	b := make([]byte, record.MaxValue)
	n, err := unix.Getxattr(path, name, b)
	if errors.Is(err, unix.ENODATA) {
		return ""
	}
	require.NoError(t, err)
	return string(b[:n])
}

// If both sides ask for them, access lists and other extended attributes replace the existing ones.
func TestExtended(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	plant(t, from, map[string]string{"f": "x", "d/g": "y", "l": "-> f"})
	plant(t, to, map[string]string{"d/g": "old", "f": "old"})
	set := func(path, name, value string) {
		err := unix.Setxattr(path, name, []byte(value), 0)
		if errors.Is(err, unix.ENOTSUP) {
			t.Skipf("this file system keeps no %s", name)
		}
		require.NoError(t, err, name)
	}
	at := func(dir, name string) string { return filepath.Join(dir, name) }
	set(at(from, "f"), "user.word", "value")
	set(at(from, "d"), "user.empty", "")
	set(at(from, "d"), record.DefaultACL, list)
	set(at(from, "d/g"), record.AccessACL, list)
	set(at(to, "d"), "user.old", "old")
	set(at(to, "d"), record.DefaultACL, list)

	names := []string{"user.word", "user.empty", "user.old", record.AccessACL, record.DefaultACL}
	for _, c := range []struct {
		acl, xattr bool
		want       map[string]string
	}{
		{false, false, map[string]string{"d user.old": "old", "d " + record.DefaultACL: list}},
		{false, true, map[string]string{"f user.word": "value", "d " + record.DefaultACL: list}},
		{true, true, map[string]string{"f user.word": "value", "d " + record.DefaultACL: list, "d/g " + record.AccessACL: list}},
		{true, false, map[string]string{"d " + record.DefaultACL: list, "d/g " + record.AccessACL: list}},
	} {
		o := origin(t, pack.Options{ACL: c.acl, Xattr: c.xattr}, from+"/")
		_, err := across(t, o, to, unpack.Target{Accept: everything})
		require.NoError(t, err)
		got := map[string]string{}
		for _, name := range []string{"f", "d", "d/g"} {
			for _, attr := range names {
				if v := value(t, at(to, name), attr); v != "" {
					if !(attr == record.AccessACL && !c.acl) { // inherited from the directory
						got[name+" "+attr] = v
					}
				}
			}
		}
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, look(t, from)["d/g"].mode, look(t, to)["d/g"].mode)
		if c.acl || c.xattr {
			_, err = across(t, o, t.TempDir(), unpack.Target{})
			require.ErrorIs(t, err, unpack.ErrUnasked)
		}
	}
}

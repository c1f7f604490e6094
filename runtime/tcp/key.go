package tcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadKey reads a Key from a file: all its bytes, without one line end at their end. Like ssh,
// ReadKey refuses a file of this user that others may read or write.
func ReadKey(path string) (key []byte, err error) {
	if key, err = readKey(path); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			return nil, p.Err // the PathError names the path already
		}
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if own := !ok || int(owner.Uid) == os.Getuid(); own && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("its mode is %#o: others must not be able to read or write it (chmod 600)", info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxKey+2))
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if len(b) < MinKey || len(b) > MaxKey {
		return nil, fmt.Errorf("a key must have %d to %d bytes", MinKey, MaxKey)
	}
	return b, nil
}

//go:build linux

package cast

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The places where hosts may write.
const (
	inMemory = "memory" // a tmpfs
	onDisk   = "disk"   // the directory for temporary files
)

// storeFor returns the place where the hosts of a cell write. It is the memory if they need at most
// three quarters of the free memory. On a disk, which all hosts share, the disk would be measured
// in place of the links.
func storeFor(c cell) string {
	if free, err := freeMemory(); err == nil && int64(c.Hosts)*int64(c.Bytes) <= free/4*3 {
		return inMemory
	}
	return onDisk
}

// freeMemory returns the number of bytes of memory that are available.
func freeMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); err == nil && n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc/meminfo has no line MemAvailable")
}

// isolate gives this process and its children their own mounts: a /proc of their processes, a /run
// with sshd's directory, and memory to write to.
func (j *job) isolate() error {
	type mount struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}
	mounts := []mount{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"tmpfs", "/run", "tmpfs", 0, "mode=755"},
	}
	if j.Store == inMemory {
		room := int64(j.Trial.Hosts)*int64(j.Trial.Bytes)*9/8 + 64*mib // plus the temporary files of tools
		mounts = append(mounts, mount{"tmpfs", filepath.Join(j.Dir, "hosts"), "tmpfs", 0, fmt.Sprintf("mode=755,size=%d", room)})
	}
	for _, m := range mounts {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	return os.Mkdir("/run/sshd", 0o755)
}

// warm uses as much memory as the hosts will, and frees it. In a virtual machine, memory that is
// used for the first time may come from the host machine, which takes longer than writing it. That
// time would be measured in place of the links.
func (j *job) warm() (err error) {
	if j.Store != inMemory {
		return nil
	}
	f, err := os.Create(filepath.Join(j.Dir, "hosts", "warm"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	zeros := make([]byte, mib)
	for left := int64(j.Trial.Hosts) * int64(j.Trial.Bytes); left > 0; left -= int64(len(zeros)) {
		if _, err := f.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the file does not have the SHA-256 sum.
func check(name, sum string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("has %d bytes that are not those of the sender", n)
	}
	return nil
}

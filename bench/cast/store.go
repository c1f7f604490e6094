//go:build linux

package main

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

// Where hosts write.
const (
	inMemory = "memory" // a tmpfs
	onDisk   = "disk"   // the directory for temporary files
)

// storeFor says where the hosts of a cell write: in memory if what they write takes no
// more than three quarters of what is free, since a disk that all of them share would be measured
// in place of links.
func storeFor(c cell) string {
	if free, err := freeMemory(); err == nil && int64(c.Hosts)*int64(c.Bytes) <= free/4*3 {
		return inMemory
	}
	return onDisk
}

// freeMemory returns how many bytes of memory the system can give.
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

// isolate gives this process and what it starts mounts that nobody else sees: its own
// processes below /proc, a /run in which sshd finds its directory, and memory to write to.
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
		room := int64(j.Trial.Hosts)*int64(j.Trial.Bytes)*9/8 + 64*mib // and what tools keep beside
		mounts = append(mounts, mount{"tmpfs", filepath.Join(j.Dir, "hosts"), "tmpfs", 0, fmt.Sprintf("mode=755,size=%d", room)})
	}
	for _, m := range mounts {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	return os.Mkdir("/run/sshd", 0o755)
}

// warm has the system use as much memory as the hosts will, and give it back. Of a machine that is simulated memory may come
// from the one below, which takes longer than to write it, and would be measured in place of links.
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

// check returns what is wrong with a file that should have the SHA-256 sum.
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

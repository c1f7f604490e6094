package remote

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
)

// Program is what is started on hosts.
type Program struct {
	Name string   // its file's name there
	Args []string // its arguments, followed by the directory of the copy, "" if it is no copy
	// Version is what the program answers to --version. A host of another kind may have the same version of it installed. "": no version is the same.
	Version string

	path           string
	size           int64
	sum            string
	system, kind   string // as GOOS and GOARCH
	pack           sync.Once
	packed         *os.File // has no name any more
	packedSize     int64
	packingFailure error
}

// Self is the program that runs here. It is to be closed.
func Self(name string, args []string, version string) (*Program, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that runs here: %w", err)
	}
	p := &Program{Name: name, Args: args, Version: version, path: path, system: goruntime.GOOS, kind: goruntime.GOARCH}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the program that runs here: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if p.size, err = io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("read the program that runs here: %w", err)
	}
	p.sum = hex.EncodeToString(h.Sum(nil))
	return p, nil
}

// Close gives up what was kept for copies.
func (p *Program) Close() error {
	if p.packed == nil {
		return nil
	}
	return p.packed.Close()
}

// suits reports whether the host need not get a copy, or says why it cannot run one.
func (p *Program) suits(f *Facts) (installed bool, err error) {
	system, kind := systems[f.System], machines[f.Machine]
	switch {
	case f.Sum == p.sum:
		return true, nil
	case system == p.system && kind == p.kind:
		return false, nil
	case p.Version != "" && f.Version == p.Version:
		return true, nil
	}
	err = fmt.Errorf("it is a host of %s %s, and this %s is for %s/%s", f.System, f.Machine, p.Name, p.system, p.kind)
	switch {
	case p.Version == "":
		return false, fmt.Errorf("%w: a %s of a release, the same here and there, must be installed", err, p.Name)
	case f.Version != "":
		return false, fmt.Errorf("%w: install %q there in place of %q", err, p.Version, f.Version)
	}
	return false, fmt.Errorf("%w: install %q there", err, p.Version)
}

// systems and machines are the words of uname for what Go calls otherwise.
var (
	systems  = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "OpenBSD": "openbsd", "NetBSD": "netbsd"}
	machines = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i386": "386", "i686": "386",
		"riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x", "loongarch64": "loong64",
	}
)

// source is what a host gets: the bytes, how many they are, and who is to unpack them, if anybody.
func (p *Program) source(packer string) (io.ReadCloser, int64, error) {
	if packer != "gzip" {
		f, err := os.Open(p.path)
		return f, p.size, err
	}
	p.pack.Do(func() { p.packed, p.packedSize, p.packingFailure = packFile(p.path) })
	return io.NopCloser(io.NewSectionReader(p.packed, 0, p.packedSize)), p.packedSize, p.packingFailure
}

// packFile compresses a file into one that has no name, so that many hosts get it from there at little memory.
func packFile(path string) (packed *os.File, size int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	out, err := os.CreateTemp("", ".schedgen-*")
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()
	if err := os.Remove(out.Name()); err != nil {
		return nil, 0, err
	}
	z, err := gzip.NewWriterLevel(out, gzip.BestSpeed) // it is done once while hosts wait
	if err != nil {
		return nil, 0, err
	}
	if _, err := io.Copy(z, in); err != nil {
		return nil, 0, err
	}
	if err := z.Close(); err != nil {
		return nil, 0, err
	}
	size, err = out.Seek(0, io.SeekCurrent)
	return out, size, err
}

// cleanLine makes what a host says fit for a terminal.
func cleanLine(line string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, line))
}

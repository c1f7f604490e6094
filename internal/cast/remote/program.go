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

// Program is a file that can run on hosts.
type Program struct {
	Name string // name of its file on hosts
	// Version is the output of the program's --version. A host of another architecture may have the
	// same version installed. "" is the same as no version.
	Version string

	path         string
	size         int64
	sum          string
	system, kind string // GOOS and GOARCH

	pack           sync.Once
	packed         *os.File // has no name
	packedSize     int64
	packedSum      string
	packingFailure error
}

// Self returns the running program. The caller must Close it.
func Self(name, version string) (*Program, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	return newProgram(path, name, version, goruntime.GOOS, goruntime.GOARCH)
}

// Other returns the program in a file that is for the given GOOS and GOARCH. The caller must Close
// it.
func Other(path, name, version, system, kind string) (*Program, error) {
	return newProgram(path, name, version, system, kind)
}

func newProgram(path, name, version, system, kind string) (*Program, error) {
	p := &Program{Name: name, Version: version, path: path, system: system, kind: kind}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if p.size, err = io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("read a program: %w", err)
	}
	p.sum = hex.EncodeToString(h.Sum(nil))
	return p, nil
}

// Close frees the compressed copy of the program.
func (p *Program) Close() error {
	if p.packed == nil {
		return nil
	}
	return p.packed.Close()
}

// CopyBytes returns the length of the compressed program in bytes. The first call compresses it.
func (p *Program) CopyBytes() (int64, error) {
	p.pack.Do(func() { p.packed, p.packedSize, p.packedSum, p.packingFailure = packFile(p.path) })
	return p.packedSize, p.packingFailure
}

// room returns the space in KiB that a host needs for a copy, packed and unpacked.
func (p *Program) room() int64 { return (p.size + p.packedSize + 1<<20) >> 10 }

// Programs are builds of one program for hosts, of which the first is for hosts like this one. A host
// that has one of them installed runs it. Another host gets a copy of the first that fits its
// architecture.
type Programs struct {
	Args []string   // arguments of the program, followed by the directory of the copy, or "" if it is installed
	All  []*Program // not empty; all have the same Name
}

// Close closes all programs.
func (p *Programs) Close() error {
	var err error
	for _, each := range p.All {
		err = errors.Join(err, each.Close())
	}
	return err
}

// choose returns the program that the host has installed, or that it gets as a copy (copies is
// true). The error says why there is none.
func (p *Programs) choose(f *Facts) (program *Program, copies bool, err error) {
	system, kind := systems[f.System], machines[f.Machine]
	for _, each := range p.All {
		for _, i := range f.Installed {
			if i.Name == each.Name && i.Sum == each.sum {
				return each, false, nil
			}
		}
	}
	for _, each := range p.All {
		if system == each.system && kind == each.kind {
			return each, true, nil
		}
	}
	for _, each := range p.All {
		for _, i := range f.Installed {
			if i.Name == each.Name && each.Version != "" && i.Version == each.Version {
				return each, false, nil
			}
		}
	}
	return nil, false, p.unfit(f)
}

// unfit returns the error for a host that no program fits.
func (p *Programs) unfit(f *Facts) error {
	own := p.All[0]
	err := fmt.Errorf("the host is %s %s, but this %s is for %s/%s", f.System, f.Machine, own.Name, own.system, own.kind)
	if own.Version == "" {
		return fmt.Errorf("%w: install the same release of %s here and there", err, own.Name)
	}
	for _, i := range f.Installed {
		if i.Name == own.Name && i.Version != "" {
			return fmt.Errorf("%w: install %q there in place of %q", err, own.Version, i.Version)
		}
	}
	return fmt.Errorf("%w: install %q there", err, own.Version)
}

// systems and machines map the words of uname to those of Go where they differ.
var (
	systems  = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "OpenBSD": "openbsd", "NetBSD": "netbsd"}
	machines = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i386": "386", "i686": "386",
		"riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x", "loongarch64": "loong64",
	}
)

// source returns a reader of the bytes that a host gets, and their number.
func (p *Program) source(packer string) (io.ReadCloser, int64, error) {
	if packer != "gzip" {
		f, err := os.Open(p.path)
		return f, p.size, err
	}
	n, err := p.CopyBytes()
	return io.NopCloser(io.NewSectionReader(p.packed, 0, n)), n, err
}

// packFile compresses a file into an unnamed file, from which many hosts are served with little
// memory.
func packFile(path string) (packed *os.File, size int64, sum string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, 0, "", err
	}
	defer in.Close()
	out, err := os.CreateTemp("", ".schedgen-*")
	if err != nil {
		return nil, 0, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()
	if err := os.Remove(out.Name()); err != nil {
		return nil, 0, "", err
	}
	h := sha256.New()
	z, err := gzip.NewWriterLevel(io.MultiWriter(out, h), gzip.BestCompression)
	if err != nil {
		return nil, 0, "", err
	}
	if _, err := io.Copy(z, in); err != nil {
		return nil, 0, "", err
	}
	if err := z.Close(); err != nil {
		return nil, 0, "", err
	}
	size, err = out.Seek(0, io.SeekCurrent)
	return out, size, hex.EncodeToString(h.Sum(nil)), err
}

// cleanLine removes characters that are not fit for a terminal.
func cleanLine(line string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, line))
}

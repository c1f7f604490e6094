// Package pace measures what it costs to move bytes between ranks of this host ([wire.Pace]). It
// does so once a day: the result is in a file of the user's cache directory. A process that takes
// the numbers from there first measures how fast a core reads what another one has written, which
// takes some 100 µs, and measures all if that has changed: a virtual machine may have been
// moved.
//
// One thread measures, so that neither the number of threads that the Go scheduler runs at a time
// nor other goroutines matter. It copies into a ring on one core, moves to another core, and copies
// out of the ring there, as two ranks do. Only the least of several times counts, since other
// activity only makes a copy slower.
//
// SCHEDGEN_PACE=off stands for [wire.TypicalPace], without a measurement and without a file, so that
// choices are the same on all machines.
package pace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/outfile"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Origin says where costs come from.
type Origin struct {
	Typical bool      // from TypicalPace, by SCHEDGEN_PACE or because this system has no measurement
	At      time.Time // of the measurement
	Cached  bool      // an earlier process has measured
	File    string    // the file that has them; "": none
	Fault   error     // why the file could not be used or written, or why the machine could not be measured
}

// String describes the origin in a few words, such as "measured just now".
func (o Origin) String() string {
	switch {
	case o.Typical && o.Fault != nil:
		return fmt.Sprintf("of a typical machine, not of this one: %v", o.Fault)
	case o.Typical:
		return "of a typical machine"
	case o.Cached && o.Fault != nil:
		return fmt.Sprintf("measured at %s (%s); not today: %v", o.At.Format(minute), o.File, o.Fault)
	case o.Cached:
		return fmt.Sprintf("measured at %s (%s)", o.At.Format(minute), o.File)
	case o.Fault != nil:
		return fmt.Sprintf("measured just now: %v", o.Fault)
	}
	return fmt.Sprintf("measured just now (%s)", o.File)
}

const minute = "2006-01-02 15:04"

// Here returns the costs on this host and their origin. The first call of a process reads the file
// or measures, for at most about 5 ms. The costs must not change. The error names SCHEDGEN_PACE.
func Here() (*wire.Pace, Origin, error) {
	here.once.Do(here.know)
	return &here.pace, here.origin, here.err
}

// here is not the result of a sync.OnceValue, whose initialization would put a measurement into every
// program.
var here known

type known struct {
	once   sync.Once
	pace   wire.Pace
	origin Origin
	err    error
}

func (k *known) know() {
	dir, err := os.UserCacheDir()
	s := source{
		dir: filepath.Join(dir, "schedgen"), noDir: err, cores: goruntime.NumCPU(),
		machine: machine(), now: clock.System{}.Now, measure: measure, line: line,
	}
	if s.off, k.err = off(os.Getenv); k.err == nil {
		k.pace, k.origin = s.pace()
	}
}

// off reports whether the environment turns measurements off.
func off(getenv func(string) string) (bool, error) {
	const name = "SCHEDGEN_PACE"
	switch v := getenv(name); v {
	case "", "off":
		return v == "off", nil
	default:
		return false, fmt.Errorf("%s is %q, want off or nothing", name, v)
	}
}

// source gets costs from a file or by a measurement.
type source struct {
	off     bool
	dir     string // directory of the file
	noDir   error  // why there is none
	cores   int
	machine string // identifies the machine since its start
	now     func() time.Time
	measure func() (wire.Pace, error) // all costs but Cores
	line    func() uint32             // the cost Line alone
}

// file is the form of the file.
type file struct {
	Format  string    `json:"format"`
	Machine string    `json:"machine"`
	At      time.Time `json:"measured"`
	Ring    uint32    `json:"ring_ps"`
	Pull    uint32    `json:"pull_ps"`
	Call    uint32    `json:"call_ns"`
	Line    uint32    `json:"line_ns"`
	Fold    uint32    `json:"fold_ps"`
	Yield   uint32    `json:"yield_ns"`
}

const (
	format = "schedgen-pace/2"
	keep   = 24 * time.Hour // costs may change with what else the machine does
	// strays is how much Line may differ from a kept one. A virtual machine that moves from cores with
	// a common cache to cores without one reads lines four times slower, and copies two to four times.
	strays  = 2
	maxFile = 4 << 10
)

// pace returns the costs and their origin. A file that cannot be used is no error.
func (s *source) pace() (p wire.Pace, o Origin) {
	if s.off {
		return wire.TypicalPace(), Origin{Typical: true}
	}
	if s.noDir == nil {
		o.File = s.name()
	}
	p, o.At, o.Fault = s.read(o.File)
	if o.Cached = o.Fault == nil; o.Cached {
		return p, o
	}
	measured, err := s.measure()
	switch {
	case err != nil && errors.Is(o.Fault, errOld): // better than what another machine takes
		o.Cached, o.Fault = true, err
		return p, o
	case err != nil:
		return wire.TypicalPace(), Origin{Typical: true, Fault: err}
	}
	p = measured
	o.At, p.Cores = s.now(), s.bounded()
	if errors.Is(o.Fault, errOutdated) || errors.Is(o.Fault, errOld) {
		o.Fault = nil
	}
	if err := s.write(o.File, &p, o.At); err != nil {
		o.File, o.Fault = "", errors.Join(o.Fault, err)
	}
	return p, o
}

func (s *source) bounded() uint32 { return uint32(min(max(s.cores, 1), wire.MaxPace)) }

// name returns the name of the file. Hosts may share the directory, and a process on one core
// measures something else.
func (s *source) name() string {
	h := fnv.New32a()
	host, _ := os.Hostname() // hosts without a name share a file, which has its machine in it
	fmt.Fprintf(h, "%s %v", host, s.cores > 1)
	return filepath.Join(s.dir, fmt.Sprintf("pace-%08x.json", h.Sum32()))
}

// errOutdated and errOld need not be mentioned if the machine can be measured anew.
var (
	errOutdated = errors.New("no measurement of this machine")
	errOld      = errors.New("no measurement of today that still holds")
)

// read returns the costs in the file and when they were measured.
func (s *source) read(name string) (p wire.Pace, at time.Time, err error) {
	if s.noDir != nil {
		return p, at, s.noDir
	}
	data, err := readOwn(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, at, errOutdated
	}
	if err != nil {
		return p, at, err
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return p, at, fmt.Errorf("%s is damaged: %w", name, err)
	}
	p = wire.Pace{Ring: f.Ring, Pull: f.Pull, Call: f.Call, Line: f.Line, Fold: f.Fold, Yield: f.Yield, Cores: s.bounded()}
	switch age := s.now().Sub(f.At); {
	case f.Format != format || !p.Valid():
		return p, at, fmt.Errorf("%s is damaged: format %q, costs %+v", name, f.Format, p)
	case f.Machine != s.machine || age < 0:
		return p, at, errOutdated
	case age > keep:
		return p, f.At, errOld
	}
	if now := s.line(); now > strays*p.Line || p.Line > strays*now {
		return p, f.At, errOld
	}
	return p, f.At, nil
}

// readOwn reads a file that only this user may write.
func readOwn(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe, too
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	info, err := f.Stat()
	if err == nil {
		err = ownOnly(info)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// write writes the file so that only this user may change it.
func (s *source) write(name string, p *wire.Pace, at time.Time) error {
	if s.noDir != nil {
		return nil // read has said it
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(s.dir)
	if err == nil {
		err = ownOnly(info)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	return outfile.WritePrivate(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(file{format, s.machine, at.UTC().Truncate(time.Second), p.Ring, p.Pull, p.Call, p.Line, p.Fold, p.Yield})
	})
}

// machine returns what changes with the processor, and when the machine starts.
func machine() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // elsewhere only the processor counts
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	model := ""
	for line := range strings.Lines(string(cpu)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return strings.TrimSpace(goruntime.GOARCH + " " + model + " " + strings.TrimSpace(string(boot)))
}

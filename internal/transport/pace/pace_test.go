//go:build linux

package pace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

// sourceAt returns a source with a directory of its own that counts its measurements.
func sourceAt(t *testing.T, measured *int) *source {
	t.Helper()
	return &source{
		dir: filepath.Join(t.TempDir(), "cache", "schedgen"), cores: 4, machine: "m", now: func() time.Time { return noon },
		measure: func() (wire.Pace, error) {
			*measured++
			return wire.Pace{Ring: 10 + uint32(*measured), Pull: 20, Call: 30, Line: 50, Fold: 60, Yield: 40}, nil
		},
		line: func() uint32 { return 50 },
	}
}

// A machine is measured once a day, whatever process asks.
func TestOncePerMachineAndDay(t *testing.T) {
	measured := 0
	s := sourceAt(t, &measured)
	p, o := s.pace()
	require.Equal(t, wire.Pace{Ring: 11, Pull: 20, Call: 30, Line: 50, Fold: 60, Yield: 40, Cores: 4}, p)
	require.Equal(t, Origin{At: noon, File: s.name()}, o)
	require.Equal(t, "measured just now ("+s.name()+")", o.String())
	for path, mode := range map[string]os.FileMode{s.name(): 0o600, s.dir: 0o700 | os.ModeDir} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}

	s.now = func() time.Time { return noon.Add(keep) }
	s.cores = 2 // how many there are is not kept
	again, o := s.pace()
	p.Cores = 2
	require.Equal(t, p, again)
	require.Equal(t, Origin{At: noon, Cached: true, File: s.name()}, o)
	require.Equal(t, "measured at 2024-05-06 12:00 ("+s.name()+")", o.String())

	s.now = func() time.Time { return noon.Add(keep + time.Second) }
	p, o = s.pace()
	require.Equal(t, uint32(12), p.Ring)
	require.NoError(t, o.Fault)
	require.False(t, o.Cached)

	s.now = func() time.Time { return noon.Add(3 * keep) }
	measure := s.measure
	s.measure = func() (wire.Pace, error) { return wire.Pace{}, errBusy }
	old, o := s.pace()
	require.Equal(t, p, old, "a busy machine keeps what it has")
	require.ErrorIs(t, o.Fault, errBusy)
	require.Regexp(t, `^measured at 2024-05-07 12:00 \(.*\); not today: it is too busy to be measured$`, o.String())
	s.measure = measure

	s.line = func() uint32 { return 100 }
	s.now = func() time.Time { return noon.Add(2 * keep) }
	_, o = s.pace()
	require.True(t, o.Cached, "a line takes twice as long")
	for i, moved := range []uint32{101, 24} {
		s.line = func() uint32 { return moved }
		p, o = s.pace()
		require.False(t, o.Cached, "the machine has been moved")
		require.Equal(t, uint32(13+i), p.Ring)
		require.NoError(t, o.Fault)
	}
	s.line = func() uint32 { return 50 }

	s.machine = "another one, or the same started anew"
	p, o = s.pace()
	require.Equal(t, uint32(15), p.Ring)
	require.NoError(t, o.Fault)

	s.cores = 1
	p, _ = s.pace()
	require.Equal(t, uint32(16), p.Ring, "on one core a ring is something else")
	require.Equal(t, 6, measured)
}

// A file that cannot be used is measured anew. It never makes a program fail.
func TestUnusableFiles(t *testing.T) {
	whole := func(edit func(f *file)) func(t *testing.T, s *source) {
		return func(t *testing.T, s *source) {
			f := file{format, s.machine, noon, 1, 2, 3, 50, 6, 4}
			edit(&f)
			text, err := json.Marshal(f)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(s.name(), text, 0o600))
		}
	}
	text := func(text string) func(t *testing.T, s *source) {
		return func(t *testing.T, s *source) { require.NoError(t, os.WriteFile(s.name(), []byte(text), 0o600)) }
	}
	for name, c := range map[string]struct {
		make  func(t *testing.T, s *source)
		fault string // "": none
		kept  bool   // the measurement is in the file afterwards
	}{
		"good":            {whole(func(*file) {}), "", true},
		"none":            {func(*testing.T, *source) {}, "", true},
		"empty":           {text(""), "damaged", true},
		"text":            {text("ring"), "damaged", true},
		"unknown field":   {text(`{"format":"schedgen-pace/2","rings":1}`), "damaged", true},
		"zero":            {whole(func(f *file) { f.Ring = 0 }), "damaged", true},
		"too large":       {whole(func(f *file) { f.Yield = wire.MaxPace + 1 }), "damaged", true},
		"another format":  {whole(func(f *file) { f.Format = "schedgen-pace/1" }), "damaged", true},
		"from the future": {whole(func(f *file) { f.At = noon.Add(time.Minute) }), "", true},
		"another machine": {whole(func(f *file) { f.Machine = "n" }), "", true},
		"others may write": {func(t *testing.T, s *source) {
			whole(func(*file) {})(t, s)
			require.NoError(t, os.Chmod(s.name(), 0o666))
		}, "others may write", true},
		"a directory":         {func(t *testing.T, s *source) { require.NoError(t, os.MkdirAll(filepath.Join(s.name(), "x"), 0o700)) }, "directory", false},
		"a directory for all": {func(t *testing.T, s *source) { require.NoError(t, os.Chmod(s.dir, 0o777)) }, "others may write", false},
	} {
		t.Run(name, func(t *testing.T) {
			measured := 0
			s := sourceAt(t, &measured)
			require.NoError(t, os.MkdirAll(s.dir, 0o700))
			c.make(t, s)
			p, o := s.pace()
			if name == "good" {
				require.Equal(t, wire.Pace{Ring: 1, Pull: 2, Call: 3, Line: 50, Fold: 6, Yield: 4, Cores: 4}, p)
				require.Zero(t, measured)
				return
			}
			require.Equal(t, wire.Pace{Ring: 11, Pull: 20, Call: 30, Line: 50, Fold: 60, Yield: 40, Cores: 4}, p)
			require.False(t, o.Cached)
			if c.fault == "" {
				require.NoError(t, o.Fault)
			} else {
				require.ErrorContains(t, o.Fault, c.fault)
				require.Contains(t, o.String(), "measured just now: ")
			}
			_, o = s.pace()
			require.Equal(t, c.kept, o.Cached)
		})
	}
}

// A directory that this user may not write, or another user's, is no error either.
func TestDirectoriesOfOthers(t *testing.T) {
	measured := 0
	s := sourceAt(t, &measured)
	s.noDir = errors.New("neither $XDG_CACHE_HOME nor $HOME are defined")
	p, o := s.pace()
	require.Equal(t, uint32(11), p.Ring)
	require.ErrorIs(t, o.Fault, s.noDir)
	require.Empty(t, o.File)

	s = sourceAt(t, &measured)
	require.NoError(t, os.WriteFile(filepath.Dir(filepath.Dir(s.dir))+"/cache", nil, 0o600))
	_, o = s.pace()
	require.ErrorContains(t, o.Fault, "not a directory")

	if os.Geteuid() != 0 {
		s = sourceAt(t, &measured)
		require.NoError(t, os.MkdirAll(s.dir, 0o500))
		_, o = s.pace()
		require.ErrorContains(t, o.Fault, "permission denied")
		return
	}
	s = sourceAt(t, &measured)
	_, o = s.pace()
	require.NoError(t, o.Fault)
	require.NoError(t, os.Chown(s.name(), 1, 1))
	_, o = s.pace()
	require.ErrorIs(t, o.Fault, errOthers, "the file is another user's")
	require.NoError(t, os.Remove(s.name()))
	require.NoError(t, os.Chown(s.dir, 1, 1))
	_, o = s.pace()
	require.ErrorIs(t, o.Fault, errOthers, "the directory is another user's")
}

func TestOff(t *testing.T) {
	for v, want := range map[string]bool{"": false, "off": true} {
		got, err := off(func(string) string { return v })
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := off(func(string) string { return "on" })
	require.ErrorContains(t, err, `SCHEDGEN_PACE is "on"`)

	measured := 0
	s := sourceAt(t, &measured)
	s.off = true
	p, o := s.pace()
	want := wire.TypicalPace()
	require.Equal(t, want, p)
	require.Equal(t, Origin{Typical: true}, o)
	require.Equal(t, "of a typical machine", o.String())
	require.NoFileExists(t, s.name())

	s.off = false
	s.measure = func() (p wire.Pace, err error) { return p, errors.ErrUnsupported }
	p, o = s.pace()
	require.Equal(t, want, p)
	require.True(t, o.Typical)
	require.ErrorIs(t, o.Fault, errors.ErrUnsupported)
}

// virtual is a machine on which each reading of the clock takes a step.
type virtual struct {
	time, step time.Duration
	cores      []int // that the thread was moved to
}

func (v *virtual) now() time.Duration { v.time += v.step; return v.time }

func (v *virtual) visit(core int) { v.cores = append(v.cores, core) }

// A measurement ends after some tries, or when no further one fits its time.
func TestMeasurementIsBounded(t *testing.T) {
	for _, c := range []struct {
		step  time.Duration
		tries int
	}{{time.Nanosecond, tries}, {time.Microsecond, tries}, {enough / 50, 4}, {enough / 25, 2}, {time.Second, 1}} {
		v := virtual{step: c.step}
		p, err := measureBy(v.now, v.visit)
		if c.tries < least {
			require.ErrorIs(t, err, errBusy)
			require.Len(t, v.cores, 6*c.tries)
			continue
		}
		require.NoError(t, err)
		require.Len(t, v.cores, 6*c.tries, "%v", c.step)
		require.Equal(t, []int{0, 1, 0, 1, 0, 1}, v.cores[:6], "what one rank writes another one reads")
		p.Cores = 1
		require.True(t, p.Valid(), "%+v", p)
		require.Equal(t, bounded(float64(c.step)*2000/length), p.Ring)
	}
}

func TestMeasure(t *testing.T) {
	if p, err := measure(); err == nil {
		p.Cores = 1
		require.True(t, p.Valid(), "%+v", p)
	} else {
		require.ErrorIs(t, err, errBusy)
	}
	src, dst := []byte("as it was"), make([]byte, 9)
	require.NoError(t, pull(dst, src))
	require.Equal(t, src, dst)
	require.NotEmpty(t, machine())
}

// BenchmarkLine shows how long it takes to check that a kept measurement holds.
func BenchmarkLine(b *testing.B) {
	for b.Loop() {
		line()
	}
}

// BenchmarkMeasure shows how long a measurement takes, and its results.
func BenchmarkMeasure(b *testing.B) {
	for b.Loop() {
		p, err := measure()
		if err != nil {
			b.Skip(err)
		}
		b.ReportMetric(float64(p.Ring), "ring-ps/B")
		b.ReportMetric(float64(p.Pull), "pull-ps/B")
		b.ReportMetric(float64(p.Call), "call-ns")
		b.ReportMetric(float64(p.Line), "line-ns")
		b.ReportMetric(float64(p.Fold), "fold-ps/B")
		b.ReportMetric(float64(p.Yield), "yield-ns")
	}
}

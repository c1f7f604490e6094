// Package options has the flags that several verbs have. Each has one meaning. Verbs give the
// defaults by the tag set of the embedded field.
package options

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/host"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Files say where results are written. The variable name is the default of --name.
type Files struct {
	Out  *string `placeholder:"DIR" complete:"directory" help:"Directory for the results, which is created if it does not exist; empty: none; default docs/results."`
	Name string  `placeholder:"NAME" help:"Name of the files in the directory, without extension; default ${name}."`
}

// Results is the default directory for results, below the root of the module.
const Results = "docs/results"

// dir returns the directory for the results, or "" for none.
func (f *Files) dir() string {
	if f.Out == nil {
		return Results
	}
	return *f.Out
}

// Path returns the name of a file of the results. The extension has no dot.
func (f *Files) Path(extension string) string {
	return filepath.Join(f.dir(), f.Name+"."+extension)
}

// Write replaces files of the results in one step each. The keys of fill are their extensions.
func (f *Files) Write(fill map[string]func(io.Writer) error) error {
	if f.dir() == "" {
		return nil
	}
	if err := os.MkdirAll(f.dir(), 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for extension, to := range fill {
		if err := terminal.WriteFile("out", f.Path(extension), to); err != nil {
			return err
		}
	}
	return nil
}

// Kept returns an error if there is no directory, for verbs that add to the results of earlier runs.
func (f *Files) Kept() error {
	if f.dir() == "" {
		return errors.New("--out: a directory is needed, because the results are written one by one")
	}
	return nil
}

// Named sets the default name, and returns an error if the name is not a file's.
func (f *Files) Named(name string) error {
	if f.Name == "" {
		f.Name = name
	}
	if f.Name != filepath.Base(f.Name) {
		return fmt.Errorf("--name=%s: must be a file's name", f.Name)
	}
	return nil
}

// AgainFlag is the flag of verbs that add to the results of earlier runs.
type AgainFlag struct {
	Again bool `help:"Measure again what is in the files already."`
}

// RoundsFlag is the number of rounds. The variable rounds is the default.
type RoundsFlag struct {
	Rounds int `default:"${rounds}" help:"Number of rounds, in each of which everything is measured once."`
}

// maxRounds bounds the number of rounds.
const maxRounds = 10_000

// CheckRounds returns an error if there are fewer rounds than least, or too many.
func (r *RoundsFlag) CheckRounds(least int) error {
	if r.Rounds < least || r.Rounds > maxRounds {
		return fmt.Errorf("--rounds=%d: must be in %d..%d", r.Rounds, least, maxRounds)
	}
	return nil
}

// LimitFlag is the longest time of one measurement. The variable limit is the default.
type LimitFlag struct {
	Limit time.Duration `default:"${limit}" help:"Longest time of one measurement."`
}

// BudgetFlag is the time of the whole. The variable budget is the default.
type BudgetFlag struct {
	Budget time.Duration `default:"${budget}" help:"Begin nothing further after this time; 0: no limit."`
}

// Measuring says how measurements are made.
type Measuring struct {
	LimitFlag
	Prefix   string        `placeholder:"WORDS" help:"Words before each command that measures, such as 'nice -n -10'."`
	Quiet    float64       `default:"1" placeholder:"SHARE" help:"Wait before each measurement until other work uses at most this share of the cores; 1: do not wait."`
	Patience time.Duration `default:"1m" help:"Longest time to wait for --quiet."`
}

// Check returns an error if the limit is less than a second.
func (l *LimitFlag) Check() error {
	if l.Limit < time.Second {
		return fmt.Errorf("--limit=%v: must be a second at least", l.Limit)
	}
	return nil
}

// Check returns an error for values that make no sense. A limit of 0 is good if open is set: it
// leaves the time to the verb.
func (m *Measuring) Check(open bool) error {
	err := m.LimitFlag.Check()
	switch {
	case err != nil && !(open && m.Limit == 0):
		return err
	case m.Patience < 0:
		return fmt.Errorf("--patience=%v: must not be negative", m.Patience)
	case !(m.Quiet >= 0 && m.Quiet <= 1):
		return fmt.Errorf("--quiet=%v: must be a share, 0 to 1", m.Quiet)
	}
	return nil
}

// Prefixed returns a command behind the words of --prefix.
func (m *Measuring) Prefixed(words ...string) []string {
	return slices.Concat(strings.Fields(m.Prefix), words)
}

// Wait waits for --quiet, but no longer than --patience. It returns the share of the cores that
// other work uses, or a negative number if it is unknown.
func (m *Measuring) Wait(ctx context.Context) (share float64) {
	for end := time.Now().Add(m.Patience); ; {
		share = host.Busy(ctx)
		if share <= m.Quiet || ctx.Err() != nil || time.Now().After(end) {
			return share
		}
	}
}

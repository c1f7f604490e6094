package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/schedule/selection"
)

// rulesFlag is the flag that names the rules for choosing algorithms.
type rulesFlag struct {
	Rules string `placeholder:"FILE" complete:"file" help:"File of rules that choose the algorithm if no flag names one, or built-in; default SCHEDGEN_RULES, else built-in."`
}

// rulesFile returns the file that the flag or the environment names, or built-in, and the name of
// the flag or variable.
func (f *rulesFlag) rulesFile(getenv func(string) string) (name, from string) {
	if f.Rules != "" {
		return f.Rules, "--rules"
	}
	return cmp.Or(getenv("SCHEDGEN_RULES"), selection.BuiltIn), "SCHEDGEN_RULES"
}

// rules returns the rules that the flag or the environment names.
func (f *rulesFlag) rules(getenv func(string) string) (*selection.Rules, error) {
	name, from := f.rulesFile(getenv)
	if name == selection.BuiltIn {
		return selection.Builtin(), nil
	}
	data, err := readBounded(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	rules, err := selection.Parse(data)
	if err == nil {
		return rules, nil
	}
	return nil, fmt.Errorf("%s: %w", from, inFile(name, err))
}

// inFile adds the name of the file, and the line if known, to an error.
func inFile(name string, err error) error {
	var at *selection.FileError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d: %s", name, at.Line, at.Msg)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// readBounded reads at most one byte more of a file than rules may have, so that the parser rejects
// longer files.
func readBounded(name string) (data []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, selection.MaxFile+1))
}

// hostsOf returns the number of hosts that --hosts gives, or 0 if no algorithm between masters is
// possible: one host, or one rank on each host.
func hostsOf(flag *int, ranks *source.Ranks) (int, error) {
	if flag == nil {
		return 0, nil
	}
	p, err := ranks.One()
	switch {
	case err != nil:
		return 0, err
	case *flag < 1 || *flag > p:
		return 0, fmt.Errorf("--hosts=%d: must be in 1..%d", *flag, p)
	case *flag > 1 && *flag < p:
		return *flag, nil
	}
	return 0, nil
}

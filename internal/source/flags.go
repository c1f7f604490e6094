package source

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/schedule"
)

// Flags are the parameters of algorithms, except the number of ranks. A nil field is a flag
// that was not given.
type Flags struct {
	Root   *int `placeholder:"R" help:"Root of a collective that has one; default 0."`
	Origin *int `placeholder:"R" help:"Origin of an anycast, the same as --root; default 0, or with verify every rank."`
	Chunks *int `placeholder:"F" help:"Chunks of each block, or of the message of a broadcast; default 1; algorithms that cut a message or a vector into parts have up to P."`
	TreeFlags
	HostsFlag
}

// TreeFlags are the parameters of algorithms that build trees of a given degree.
type TreeFlags struct {
	DegreeFlag
	FanFlags
}

// DegreeFlag is the degree of n-ary exchanges.
type DegreeFlag struct {
	Degree *int `expert:"" placeholder:"N" help:"Degree n of an n-ary exchange; default of barriers P up to 16 ranks, 6 above; of allreduce/multiplying 3."`
}

// FanFlags are the degrees of the trees of a barrier.
type FanFlags struct {
	FanIn  *int `expert:"" placeholder:"N" help:"Fan-in of the gather tree of barrier/hsb and barrier/hsb-mcast; default P-1 up to 16 ranks, 6 above."`
	FanOut *int `expert:"" placeholder:"N" help:"Fan-out of the release tree of barrier/hsb and barrier/hsb-mcast; default as for --fan-in."`
}

// HostsFlag is the flag for ranks on several hosts.
type HostsFlag struct {
	Hosts *int `placeholder:"H" help:"Number of hosts that the ranks are on, in blocks: one master per host runs the algorithm, and the other ranks follow it."`
}

// Given is a flag that was given.
type Given struct {
	Name  string // without hyphens
	Value int
}

// List returns the flags that were given.
func (f *Flags) List() []Given {
	var out []Given
	for _, flag := range []struct {
		name  string
		value *int
	}{
		{"root", f.Root}, {"origin", f.Origin}, {"chunks", f.Chunks}, {"degree", f.Degree},
		{"fan-in", f.FanIn}, {"fan-out", f.FanOut}, {"hosts", f.Hosts},
	} {
		if flag.value != nil {
			out = append(out, Given{flag.name, *flag.value})
		}
	}
	return out
}

// Params returns the parameters for the algorithm of that name, without the number of ranks. A flag
// that the algorithm does not take is an error.
func (f *Flags) Params(name string) (schedule.Params, error) {
	alg, err := Named(name)
	if err != nil {
		return schedule.Params{}, err
	}
	if f.Root != nil && f.Origin != nil {
		return schedule.Params{}, errors.New("--root and --origin: give only one of them")
	}
	var p schedule.Params
	for _, g := range f.List() {
		if err := set(&p, &alg, g); err != nil {
			return p, err
		}
	}
	return p, nil
}

// set sets the parameter that a flag stands for.
func set(p *schedule.Params, alg *schedule.Algorithm, g Given) error {
	field := map[string]*int{
		"root": &p.Root, "origin": &p.Root, "chunks": &p.Chunks, "degree": &p.Degree,
		"fan-in": &p.FanIn, "fan-out": &p.FanOut, "hosts": &p.Hosts,
	}[g.Name]
	if !Takes(alg, g.Name) {
		return fmt.Errorf("--%s: %s does not take it (it takes %s)", g.Name, alg.Name, spellFlags(alg))
	}
	if g.Value == 0 && field != &p.Root {
		return fmt.Errorf("--%s=0: must be at least 1", g.Name)
	}
	*field = g.Value
	return nil
}

// Takes reports whether the algorithm has the parameter. The origin of an anycast may be called its
// root.
func Takes(alg *schedule.Algorithm, name string) bool {
	return slices.Contains(alg.Params, name) || name == "root" && slices.Contains(alg.Params, "origin")
}

func spellFlags(alg *schedule.Algorithm) string {
	flags := []string{"--ranks"}
	for _, p := range alg.Params {
		flags = append(flags, "--"+p)
	}
	return strings.Join(flags, ", ")
}

// Named returns the algorithm of that name. The error suggests similar names.
func Named(name string) (schedule.Algorithm, error) {
	if a, ok := schedule.Named(name); ok {
		return a, nil
	}
	_, err := schedule.New(name, schedule.Params{Ranks: 1})
	return schedule.Algorithm{}, FlagError(err)
}

// FlagError rewrites an error of package schedule in words of the command line.
func FlagError(err error) error {
	var param *schedule.ParamError
	var name *schedule.NameError
	var built *schedule.BuildError
	switch {
	case errors.As(err, &built):
		return &flaglessError{built}
	case errors.As(err, &param):
		return fmt.Errorf("--%s=%d: %s", param.Param, param.Value, param.Reason)
	case errors.As(err, &name) && len(name.Near) > 0:
		return fmt.Errorf("no algorithm %q; %s", name.Name, name.Suggestion())
	case errors.As(err, &name):
		return fmt.Errorf("%q is neither an algorithm (see schedgen list) nor a file", name.Name)
	}
	return err
}

// flaglessError is an error of an algorithm of the program's own, without the name of the package.
type flaglessError struct{ *schedule.BuildError }

// Error names the schedule and the error.
func (e *flaglessError) Error() string { return fmt.Sprintf("%s: %v", e.Schedule, e.Err) }

// Unwrap returns the error that it words.
func (e *flaglessError) Unwrap() error { return e.BuildError }

// Ranks is a number of ranks, or a range LO..HI of such numbers.
type Ranks struct{ Lo, Hi int }

// UnmarshalText reads "8" or "1..64".
func (r *Ranks) UnmarshalText(text []byte) error {
	first, last, isRange := strings.Cut(string(text), "..")
	if !isRange {
		last = first
	}
	var err error
	if r.Lo, err = atLeastOne(first); err != nil {
		return err
	}
	if r.Hi, err = atLeastOne(last); err != nil {
		return err
	}
	if r.Lo > r.Hi {
		return fmt.Errorf("%s: the range is empty", text)
	}
	return nil
}

func atLeastOne(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number of ranks: write one such as 8, or for verify a range such as 1..64", text)
	case n < 1:
		return 0, fmt.Errorf("must be at least 1, not %d", n)
	}
	return n, nil
}

// One returns the number of ranks. A range is an error.
func (r *Ranks) One() (int, error) {
	if r.Lo != r.Hi {
		return 0, fmt.Errorf("--ranks=%d..%d: only verify takes a range", r.Lo, r.Hi)
	}
	return r.Lo, nil
}

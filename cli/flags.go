package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/schedule"
)

// paramFlags are the parameters of algorithms, except the number of ranks. A nil field is a flag
// that was not given.
type paramFlags struct {
	Root   *int `placeholder:"R" help:"Root of a collective that has one; default 0."`
	Origin *int `placeholder:"R" help:"Origin of an anycast, the same as --root; default 0, or with verify every rank."`
	Chunks *int `placeholder:"F" help:"Chunks of each block, or of the message of a broadcast; default 1; algorithms that cut a message or a vector into parts have up to P."`
	treeFlags
	hostsFlag
}

// treeFlags are the parameters of algorithms that build trees of a given degree.
type treeFlags struct {
	degreeFlag
	fanFlags
}

// degreeFlag is the degree of n-ary exchanges.
type degreeFlag struct {
	Degree *int `expert:"" placeholder:"N" help:"Degree n of an n-ary exchange; default of barriers P up to 16 ranks, 6 above; of allreduce/multiplying 3."`
}

// fanFlags are the degrees of the trees of a barrier.
type fanFlags struct {
	FanIn  *int `expert:"" placeholder:"N" help:"Fan-in of the gather tree of barrier/hsb and barrier/hsb-mcast; default P-1 up to 16 ranks, 6 above."`
	FanOut *int `expert:"" placeholder:"N" help:"Fan-out of the release tree of barrier/hsb and barrier/hsb-mcast; default as for --fan-in."`
}

// hostsFlag is the flag for ranks on several hosts.
type hostsFlag struct {
	Hosts *int `placeholder:"H" help:"Number of hosts that the ranks are on, in blocks: one master per host runs the algorithm, and the other ranks follow it."`
}

// given is a flag that was given.
type given struct {
	name  string // without hyphens
	value int
}

// list returns the flags that were given.
func (f *paramFlags) list() []given {
	var out []given
	for _, flag := range []struct {
		name  string
		value *int
	}{
		{"root", f.Root}, {"origin", f.Origin}, {"chunks", f.Chunks}, {"degree", f.Degree},
		{"fan-in", f.FanIn}, {"fan-out", f.FanOut}, {"hosts", f.Hosts},
	} {
		if flag.value != nil {
			out = append(out, given{flag.name, *flag.value})
		}
	}
	return out
}

// params returns the parameters for the algorithm of that name, without the number of ranks. A flag
// that the algorithm does not take is an error.
func (f *paramFlags) params(name string) (schedule.Params, error) {
	alg, err := algorithm(name)
	if err != nil {
		return schedule.Params{}, err
	}
	if f.Root != nil && f.Origin != nil {
		return schedule.Params{}, errors.New("--root and --origin: give only one of them")
	}
	var p schedule.Params
	for _, g := range f.list() {
		if err := set(&p, &alg, g); err != nil {
			return p, err
		}
	}
	return p, nil
}

// set sets the parameter that a flag stands for.
func set(p *schedule.Params, alg *schedule.Algorithm, g given) error {
	field := map[string]*int{
		"root": &p.Root, "origin": &p.Root, "chunks": &p.Chunks, "degree": &p.Degree,
		"fan-in": &p.FanIn, "fan-out": &p.FanOut, "hosts": &p.Hosts,
	}[g.name]
	if !takes(alg, g.name) {
		return fmt.Errorf("--%s: %s does not take it (it takes %s)", g.name, alg.Name, spellFlags(alg))
	}
	if g.value == 0 && field != &p.Root {
		return fmt.Errorf("--%s=0: must be at least 1", g.name)
	}
	*field = g.value
	return nil
}

// takes reports whether the algorithm has the parameter. The origin of an anycast may be called its
// root.
func takes(alg *schedule.Algorithm, name string) bool {
	return slices.Contains(alg.Params, name) || name == "root" && slices.Contains(alg.Params, "origin")
}

func spellFlags(alg *schedule.Algorithm) string {
	flags := []string{"--ranks"}
	for _, p := range alg.Params {
		flags = append(flags, "--"+p)
	}
	return strings.Join(flags, ", ")
}

// algorithm returns the algorithm of that name. The error suggests similar names.
func algorithm(name string) (schedule.Algorithm, error) {
	if a, ok := schedule.Named(name); ok {
		return a, nil
	}
	_, err := schedule.New(name, schedule.Params{Ranks: 1})
	return schedule.Algorithm{}, flagError(err)
}

// qualified returns the full name of an algorithm of the collective: bcast/mcast-chain for
// mcast-chain. It returns any other name as it is.
func qualified(collective, name string) string {
	if full := collective + "/" + name; slices.Contains(candidates(collective, true), full) {
		return full
	}
	return name
}

// flagError rewrites an error of package schedule in words of the command line.
func flagError(err error) error {
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

// rankRange is a number of ranks, or a range LO..HI of such numbers.
type rankRange struct{ lo, hi int }

// UnmarshalText reads "8" or "1..64".
func (r *rankRange) UnmarshalText(text []byte) error {
	first, last, isRange := strings.Cut(string(text), "..")
	if !isRange {
		last = first
	}
	var err error
	if r.lo, err = atLeastOne(first); err != nil {
		return err
	}
	if r.hi, err = atLeastOne(last); err != nil {
		return err
	}
	if r.lo > r.hi {
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

// one returns the number of ranks. A range is an error.
func (r *rankRange) one() (int, error) {
	if r.lo != r.hi {
		return 0, fmt.Errorf("--ranks=%d..%d: only verify takes a range", r.lo, r.hi)
	}
	return r.lo, nil
}

// oneOf returns an error unless the flag's value is one of the options.
func oneOf(flag, value string, options []string) error {
	if slices.Contains(options, value) {
		return nil
	}
	return fmt.Errorf("--%s=%s: must be one of %s", flag, value, strings.Join(options, ", "))
}

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/schedule"
)

// paramFlags are the parameters of algorithms beside the number of ranks; nil
// is a flag that was not given.
type paramFlags struct {
	Root   *int `placeholder:"R" help:"Root of a broadcast, scatter or gather, default 0."`
	Origin *int `placeholder:"R" help:"Origin of an anycast, the same as --root; default 0, for verify all."`
	Chunks *int `placeholder:"F" help:"Chunks of a block, or of the message of a broadcast, default 1; bcast/symmetric: P-1, bcast/scatter-allgather: P."`
	Degree *int `placeholder:"N" help:"n of the n-ary barriers, default P up to 16 ranks, 6 above."`
	FanIn  *int `placeholder:"N" help:"Fan of the gather tree of barrier/hsb and hsb-mcast, default P-1 up to 16 ranks, 6 above."`
	FanOut *int `placeholder:"N" help:"Fan of its release tree, likewise."`
	Hosts  *int `placeholder:"H" help:"Blocks of ranks that share a host: masters run the algorithm, the others follow."`
}

// given is one flag that was given.
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

// params returns the parameters for the algorithm of that name, with the
// number of ranks left open. A flag that the algorithm does not take is an
// error.
func (f *paramFlags) params(name string) (schedule.Params, error) {
	alg, err := algorithm(name)
	if err != nil {
		return schedule.Params{}, err
	}
	if f.Root != nil && f.Origin != nil {
		return schedule.Params{}, errors.New("--root and --origin: give one of them")
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

// takes reports whether the algorithm has the parameter; the origin of an
// anycast may be called its root.
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

// algorithm returns the algorithm of that name; the error suggests others.
func algorithm(name string) (schedule.Algorithm, error) {
	all := schedule.Algorithms()
	if i := slices.IndexFunc(all, func(a schedule.Algorithm) bool { return a.Name == name }); i >= 0 {
		return all[i], nil
	}
	_, err := schedule.New(name, schedule.Params{Ranks: 1})
	return schedule.Algorithm{}, flagError(err)
}

// qualified returns the name of an algorithm that may leave the collective out, since the verb
// says it: mcast-chain for bcast/mcast-chain.
func qualified(collective, name string) string {
	if full := collective + "/" + name; slices.Contains(candidates(collective, true), full) {
		return full
	}
	return name
}

// flagError spells an error of package schedule in words of the command line.
func flagError(err error) error {
	var param *schedule.ParamError
	var name *schedule.NameError
	switch {
	case errors.As(err, &param):
		return fmt.Errorf("--%s=%d: %s", param.Param, param.Value, param.Reason)
	case errors.As(err, &name) && len(name.Near) > 0:
		return fmt.Errorf("no algorithm %q; %s", name.Name, name.Suggestion())
	case errors.As(err, &name):
		return fmt.Errorf("%q is neither an algorithm (see schedgen list) nor a file", name.Name)
	}
	return err
}

// rankRange is one number of ranks or a range of them, LO..HI.
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
		return 0, fmt.Errorf("%q is no number of ranks: write one such as 8, or for verify a range such as 1..64", text)
	case n < 1:
		return 0, fmt.Errorf("must be at least 1, not %d", n)
	}
	return n, nil
}

// one returns the number of ranks if it is a single one.
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

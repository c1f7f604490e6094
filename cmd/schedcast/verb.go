package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
)

// verb is a verb, or the command itself.
type verb struct {
	syntax.Verb

	brief    string // the part of Detail that --help shows
	examples string
	groups   []group // of the flags, in the order in which the help shows them
	set      *pflag.FlagSet
	verbs    []*verb

	do     func(ctx context.Context, std terminal.Stdio, args []string) error
	advice func(flag string) string // what a user meant who gave an unknown flag; "": not known
}

// group is a group of flags.
type group struct {
	title string
	flags []*syntax.Value
}

// asked is the error of a flag in whose place the command does something else.
type asked struct {
	do func(std terminal.Stdio) error
}

func (asked) Error() string { return "" }

// newVerb returns a verb with the flags that are about the command.
func newVerb(v syntax.Verb) *verb {
	n := &verb{Verb: v, set: pflag.NewFlagSet(v.Name, pflag.ContinueOnError)}
	n.group("About " + program)
	n.add(func(string) error { return asked{n.help} }, syntax.Value{Name: "help", Short: 'h', Bool: true, Help: "Show this help and exit."})
	n.add(func(string) error { return asked{n.helpAll} }, syntax.Value{Name: "help-all", Bool: true, Help: "Show help with all flags and exit."})
	n.add(func(string) error { return asked{printVersion} }, syntax.Value{Name: "version", Bool: true, Help: "Print the version and exit."})
	return n
}

// group begins a group of flags.
func (v *verb) group(title string) { v.groups = append(v.groups, group{title: title}) }

// add adds a flag to the last group. set is called with its value, and checks it.
func (v *verb) add(set func(string) error, flag syntax.Value) {
	f := &flag
	last := &v.groups[len(v.groups)-1]
	last.flags = append(last.flags, f)
	v.Flags = append(v.Flags, f)
	short := ""
	if f.Short != 0 {
		short = string(f.Short)
	}
	p := v.set.VarPF(value{set, f}, f.Name, short, f.Help)
	if f.Bool {
		p.NoOptDefVal = "true"
	}
}

// below adds a verb below v.
func (v *verb) below(n *verb) {
	n.Parent = &v.Verb
	v.Verbs = append(v.Verbs, &n.Verb)
	v.verbs = append(v.verbs, n)
}

// named returns the verb of that name below v, or nil.
func (v *verb) named(name string) *verb {
	i := slices.IndexFunc(v.verbs, func(n *verb) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return v.verbs[i]
}

// run runs a command line.
func (v *verb) run(ctx context.Context, std terminal.Stdio, args []string) error {
	if len(args) == 0 && v.Parent == nil {
		return v.help(std)
	}
	if len(args) > 0 {
		if n := v.named(args[0]); n != nil {
			return n.run(ctx, std, args[1:])
		}
	}
	if v.Name == completeName {
		return v.do(ctx, std, args) // flags belong to the line that is completed
	}
	args, err := v.parse(args)
	var instead asked
	switch {
	case errors.As(err, &instead):
		return instead.do(std)
	case err != nil:
		return fmt.Errorf("%w (see %s --help)", err, v.Path())
	}
	return v.do(ctx, std, args)
}

// parse sets the flags, and returns the arguments.
func (v *verb) parse(args []string) ([]string, error) {
	if err := v.valuesLikeFlags(args); err != nil {
		return nil, err
	}
	if err := v.set.Parse(args); err != nil {
		return nil, v.flagError(err)
	}
	args = v.set.Args()
	most := len(v.Args)
	if most > 0 && v.Args[most-1].Many {
		most = len(args)
	}
	if len(args) > most {
		return nil, fmt.Errorf("unexpected argument %s", args[most])
	}
	for i, arg := range args {
		if a := v.Args[min(i, len(v.Args)-1)]; a.Enum != nil && !slices.Contains(a.Enum, arg) {
			return nil, fmt.Errorf("%q is not a known %s; it must be one of %s", arg, a.Name, strings.Join(a.Enum, ", "))
		}
	}
	return args, nil
}

// valuesLikeFlags returns an error if the word after a flag that needs a value looks like a flag: the
// value was probably forgotten.
func (v *verb) valuesLikeFlags(args []string) error {
	for i := 0; i < len(args)-1 && args[i] != "--"; i++ {
		var f *pflag.Flag
		if name, long := strings.CutPrefix(args[i], "--"); long {
			f = v.set.Lookup(name)
		} else if len(args[i]) == 2 && args[i][0] == '-' {
			f = v.set.ShorthandLookup(args[i][1:])
		}
		if f == nil || f.NoOptDefVal != "" {
			continue
		}
		i++
		if _, err := strconv.Atoi(args[i]); err != nil && len(args[i]) > 1 && args[i][0] == '-' {
			return fmt.Errorf("--%s: %q looks like a flag; if it is the value, write --%s=%s", f.Name, args[i], f.Name, words.Shell(args[i]))
		}
	}
	return nil
}

// flagError rewrites an error of package pflag so that it begins with the flag.
func (v *verb) flagError(err error) error {
	var unknown *pflag.NotExistError
	var needed *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var instead asked
	switch {
	case errors.As(err, &instead):
		return instead
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	case errors.As(err, &needed):
		return fmt.Errorf("--%s: a value is missing", needed.GetFlag().Name)
	case errors.As(err, &unknown):
		return v.unknownFlag(unknown)
	}
	return err
}

// unknownFlag returns the error for a flag that the verb does not have.
func (v *verb) unknownFlag(err *pflag.NotExistError) error {
	flag := "--" + err.GetSpecifiedName()
	if err.GetSpecifiedShortnames() != "" {
		flag = "-" + err.GetSpecifiedName()
	}
	if v.advice != nil {
		if advice := v.advice(flag); advice != "" {
			return fmt.Errorf("%s: %s", flag, advice)
		}
	}
	top := &v.Verb
	if top.Parent != nil {
		top = top.Parent
	}
	for _, other := range top.Leaves() {
		if other != &v.Verb && slices.ContainsFunc(other.Flags, func(f *syntax.Value) bool { return flag == "--"+f.Name || flag == "-"+string(f.Short) }) {
			return fmt.Errorf("%s: is a flag of %s", flag, other.Path())
		}
	}
	var near []string
	for _, f := range v.Flags {
		if strings.HasPrefix("--"+f.Name, flag) || strings.HasPrefix(flag, "--"+f.Name) {
			near = append(near, "--"+f.Name)
		}
	}
	if len(near) > 0 {
		return fmt.Errorf("unknown flag %s; did you mean %s?", flag, strings.Join(near, ", "))
	}
	return fmt.Errorf("unknown flag %s", flag)
}

// value is the value of a flag, for package pflag.
type value struct {
	set  func(string) error
	flag *syntax.Value
}

func (v value) String() string { return "" }

func (v value) Type() string { return v.flag.Placeholder }

func (v value) Set(text string) error {
	if v.flag.Enum != nil && !slices.Contains(v.flag.Enum, text) {
		return fmt.Errorf("must be one of %s, not %q", strings.Join(v.flag.Enum, ", "), text)
	}
	return v.set(text)
}

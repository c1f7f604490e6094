// Package command is what the commands of this module share: it parses command lines with kong, and
// has the verbs and flags about the command itself.
package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Program is a command.
type Program struct {
	Name        string
	Summary     string // what it does, in a line without a full stop
	Description string // its long help text
	Example     string // a verb that has much help, such as "run bcast"
	Groups      []kong.Group

	// Verbs returns a pointer to a struct with a field for each verb, and with an embedded [About].
	// args is the command line, which may need only some of them. Most of the time in which a
	// process starts goes into setting up verbs, so only the needed one is set up.
	//
	// These tags of a verb have a meaning: computes: it starts nothing that it must end, so an
	// interrupt abandons it at once; whole: it reads the whole command line.
	Verbs func(args []string) any

	Moved     map[string]string            // verbs that are commands of their own now, and how to call them
	Rewrite   func(args []string) []string // changes a command line before it is parsed; nil: it does not
	Variables func(name string) string     // the value of ${name} in tags; "" if there is no such variable
	Sources   map[string]complete.Source   // the possible values of flags and arguments, by the value of their tag complete
	Spellings func() []Spelling            // texts that replace those of the parser's errors, besides the ones of all commands
	Sections  func() []manpage.Section     // sections of the manual page that follow the verbs
}

// Main runs the command line of this process, without the program's name, as [terminal.Main] does.
func (p *Program) Main(args []string) int {
	return terminal.Main(p.Name, func(ctx context.Context, std terminal.Stdio) error { return p.parseAndRun(ctx, args, std) })
}

// Run runs a command line and returns the exit code. It reads and writes through std alone.
func (p *Program) Run(ctx context.Context, args []string, std terminal.Stdio) int {
	std.Program = p.Name
	return terminal.Run(ctx, std, func(ctx context.Context, std terminal.Stdio) error { return p.parseAndRun(ctx, args, std) })
}

// About has the flags of every verb, and the verbs, that are about the command itself.
type About struct {
	Flags

	Help       helpCmd       `cmd:"" whole:"" group:"about" help:"Show the help of a verb."`
	Completion completionCmd `cmd:"" group:"about" help:"Print a script that makes a shell complete command lines."`
	Man        manCmd        `cmd:"" whole:"" group:"about" help:"Print the manual page."`
	Complete   completeCmd   `cmd:"" whole:"" hidden:"" passthrough:""`
}

// Flags are the flags of every verb that are about the command itself.
type Flags struct {
	HelpAll helpAllFlag `help:"Show help with the flags for experts and exit."`
	Version versionFlag `help:"Print the version and exit."`
}

// Grammar returns the part of the command line that args need: the verb that they name, or all
// verbs.
func (p *Program) Grammar(args []string) any {
	if len(args) == 0 {
		return p.Verbs(nil)
	}
	words := args
	completes := args[0] == "complete" && len(args) > 3 // complete -- VERB … WORD
	if completes {
		words = args[2 : len(args)-1] // the last word may be the beginning of several
	}
	all := reflect.ValueOf(p.Verbs(words)).Elem()
	for _, f := range reflect.VisibleFields(all.Type()) {
		_, verb := f.Tag.Lookup("cmd")
		_, whole := f.Tag.Lookup("whole")
		if !verb || whole || words[0] != cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)) {
			continue
		}
		fields := []reflect.StructField{
			{Name: "About", Type: reflect.TypeFor[Flags](), Tag: `embed:""`},
			{Name: f.Name, Type: f.Type, Tag: f.Tag},
		}
		if completes {
			fields = append(fields, reflect.StructField{Name: "Complete", Type: reflect.TypeFor[completeCmd](), Tag: `cmd:"" hidden:"" passthrough:""`})
		}
		part := reflect.New(reflect.StructOf(fields))
		part.Elem().Field(1).Set(all.FieldByIndex(f.Index))
		return part.Interface()
	}
	return p.Verbs(nil)
}

// Parser returns the parser of a command line with the given grammar. It calls exit after a flag
// such as --help, which does the whole work of the command.
func (p *Program) Parser(grammar any, std terminal.Stdio, exit func(int)) (*kong.Kong, error) {
	style := new(helpStyle)
	parser, err := kong.New(grammar,
		kong.Help(style.print),
		kong.Bind(style, p),
		kong.Name(p.Name),
		kong.Description(p.Description+"\n\n"+terminal.ExitCodes),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ExplicitGroups(append(slices.Clone(p.Groups), kong.Group{Key: "about", Title: "About " + p.Name + ":"})),
		kong.Writers(std.Out, std.Err),
		kong.Exit(exit),
		kong.PostBuild(func(k *kong.Kong) error {
			fillIn(k.Model.Node, p.variable)
			hideRefused(k.Model.Node)
			return nil
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}
	return parser, nil
}

// variable returns the value of a variable in the tags of verbs.
func (p *Program) variable(name string) string {
	switch name {
	case "shells":
		return strings.Join(complete.Shells(), ",")
	case "program":
		return p.Name
	case "example":
		return p.Example
	}
	if p.Variables != nil {
		if value := p.Variables(name); value != "" {
			return value
		}
	}
	return "${" + name + "}" // kong's, or its error
}

func (p *Program) parseAndRun(ctx context.Context, args []string, std terminal.Stdio) error {
	if p.Rewrite != nil {
		args = p.Rewrite(args)
	}
	if slices.Equal(args, []string{"--version"}) { // a parser takes longer to set up than all else
		return p.printVersion(std.Out)
	}
	served := false
	parser, err := p.Parser(p.Grammar(args), std, func(int) { served = true })
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	switch {
	case served:
		return nil
	case err != nil:
		return p.usageError(p.inWhole(args, err))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if at := parsed.Selected(); at == nil || !at.Tag.Has("computes") {
		return parsed.Run(std)
	}
	std, stop := std.WithWork()
	defer stop()
	_, err = terminal.Await(ctx, func() (any, error) { return nil, parsed.Run(std) })
	return err
}

// inWhole returns the parsing error of args on the whole command line, given the error err of a
// part of it. Only the whole knows which flags belong to other verbs.
func (p *Program) inWhole(args []string, err error) error {
	if !strings.HasPrefix(err.Error(), "unknown flag") {
		return err
	}
	parser, failed := p.Parser(p.Verbs(nil), terminal.Stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	if failed != nil {
		return err
	}
	if _, whole := parser.Parse(args); whole != nil {
		return whole
	}
	return err
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/complete"
	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// The exit codes.
const (
	exitGood        = 0
	exitNo          = 1 // the answer is no: not verified, data wrong; or a run has failed
	exitBad         = 2 // bad input: flags, names, files
	exitInterrupted = 130
)

// cli is the command line: one verb a line, each in a file of its own. A verb with the tag computes
// starts nothing that it must end, so an interrupt abandons it at once.
type cli struct {
	aboutFlags

	List    listCmd    `cmd:"" computes:"" group:"schedules" help:"List the algorithms, their parameters and message counts."`
	Show    showCmd    `cmd:"" computes:"" group:"schedules" help:"Draw the rounds of a schedule in the terminal."`
	Emit    emitCmd    `cmd:"" computes:"" group:"schedules" help:"Print a schedule as one of ${formats}."`
	Verify  verifyCmd  `cmd:"" computes:"" group:"schedules" help:"Prove that a schedule does what its collective says."`
	Explain explainCmd `cmd:"" computes:"" group:"schedules" help:"Tell which algorithm is chosen, by which rule, and what each one would cost."`
	Cost    costCmd    `cmd:"" computes:"" group:"schedules" help:"Count rounds, messages, bytes and time of a schedule."`
	Sim     simCmd     `cmd:"" computes:"" group:"schedules" help:"Run a schedule on a modelled machine and print how long it takes."`
	Compare compareCmd `cmd:"" computes:"" group:"schedules" help:"Compare the times of several schedules on a modelled machine."`

	Synth   synthCmd   `cmd:"" computes:"" group:"schedules" help:"Make a schedule that is as fast as a given network allows."`
	Network networkCmd `cmd:"" computes:"" group:"schedules" help:"Print a network: a kind such as torus, or a file."`

	Run   runCmd     `cmd:"" group:"run" help:"Start local ranks and run a collective operation for real."`
	Rank  oneRankCmd `cmd:"" group:"run" help:"Run one rank of a collective operation; start one on every host."`
	Group groupCmd   `cmd:"" group:"run" help:"Join a group whose members come and go."`
	Bench benchCmd   `cmd:"" group:"run" help:"Time an operation among local ranks with each algorithm."`
	Mpi   mpiCmd     `cmd:"" name:"mpi" group:"run" help:"Run the collective operations of an unchanged MPI program."`

	MpiTables mpiTablesCmd `cmd:"" name:"mpi-tables" hidden:""`

	Cast    castCmd    `cmd:"" group:"files" help:"Send a file, a directory or a stream to many hosts at once."`
	Receive receiveCmd `cmd:"" group:"files" help:"Receive a cast from another host."`
	Guest   guestCmd   `cmd:"" hidden:"" help:"Receive for a sender that has started this process by ssh."`

	Rules   rulesCmd   `cmd:"" group:"experts" help:"Check a file of rules, schedgen's own or Open MPI's, and print it."`
	Tune    tuneCmd    `cmd:"" group:"experts" help:"Measure how long messages take on this machine, and write rules for it."`
	Explore exploreCmd `cmd:"" group:"experts" help:"Try every order of events on a few ranks: deliveries, losses, timers, a death."`
	Soak    soakCmd    `cmd:"" group:"experts" help:"Run communicators on a simulated network with failures drawn from seeds."`
	Papers  papersCmd  `cmd:"" group:"experts" help:"Make the figures of the papers: as stated, from models, simulation and runs."`

	// The verbs about the command itself. A verb with the tag whole reads the whole command line.
	Help       helpCmd       `cmd:"" whole:"" group:"about" help:"Show the help of a verb."`
	Completion completionCmd `cmd:"" group:"about" help:"Print a script that makes a shell complete schedgen's command lines."`
	Man        manCmd        `cmd:"" whole:"" group:"about" help:"Print the manual page."`
	Complete   completeCmd   `cmd:"" whole:"" hidden:"" passthrough:""`
}

// aboutFlags are the flags of every verb that are about the command itself.
type aboutFlags struct {
	HelpAll helpAllFlag `help:"Show help with the flags for experts and exit."`
	Version versionFlag `help:"Print the version and exit."`
}

// groups are the titles under which the help lists the verbs, in this order.
var groups = []kong.Group{
	{Key: "schedules", Title: "Schedules:"},
	{Key: "run", Title: "Run:"},
	{Key: "files", Title: "Files:"},
	{Key: "experts", Title: "For experts:"},
	{Key: "about", Title: "About schedgen:"},
}

// grammar returns the part of the command line that args need: the verb that they name, or all
// verbs. Most of the time in which a process starts goes into setting up verbs, and casts and runs
// start many processes on one host.
func grammar(args []string) any {
	if len(args) == 0 {
		return newCLI("")
	}
	if args[0] == "--version" {
		return new(aboutFlags)
	}
	name, behind := args[0], args[1:]
	completes := name == "complete" && len(args) > 3 // complete -- VERB … WORD
	if completes {
		name, behind = args[2], args[3:len(args)-1] // the last word may be the beginning of several
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cli]()) {
		_, verb := f.Tag.Lookup("cmd")
		_, whole := f.Tag.Lookup("whole")
		if !verb || whole || name != cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)) {
			continue
		}
		c := new(cli)
		if f.Name == "Run" || f.Name == "Rank" {
			c = newCLI(verbBelow(behind))
		}
		fields := []reflect.StructField{
			{Name: "About", Type: reflect.TypeFor[aboutFlags](), Tag: `embed:""`},
			{Name: f.Name, Type: f.Type, Tag: f.Tag},
		}
		if completes {
			fields = append(fields, reflect.StructField{Name: "Complete", Type: reflect.TypeFor[completeCmd](), Tag: `cmd:"" hidden:"" passthrough:""`})
		}
		part := reflect.New(reflect.StructOf(fields))
		part.Elem().Field(1).Set(reflect.ValueOf(c).Elem().FieldByIndex(f.Index))
		return part.Interface()
	}
	return newCLI("")
}

// verbBelow returns the verb of run or rank with which args begin, or "" if the verb needs the
// others.
func verbBelow(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if _, ok := ir.CollectiveNamed(args[0]); ok || args[0] == "rank" { // run rank is a process started by run
		return args[0]
	}
	return ""
}

// newCLI returns the command line with the verbs of all collectives. If only is set, it has only
// the verbs of that collective.
func newCLI(only string) *cli {
	c := new(cli)
	c.Run.Plugins, c.Rank.Plugins = runVerbs(only), rankVerbs(only)
	return c
}

// description is the long help text of the command, without the exit codes.
const description = `Schedules of collective operations: generate them, look at them, prove them, run them.

ALGORITHM is a name from "schedgen list", such as bcast/binomial. FILE is a schedule as text or
json, written by "schedgen emit" or by hand, or - for standard input. verify, sim and emit also
read GOAL, MSCCL XML and Chakra traces.`

const exitCodes = "Exit codes: 0 good, 1 the answer is no or a run has failed, 2 bad input, 130 interrupted."

// run runs the command line args and returns the exit code. It reads and writes through std alone.
func run(ctx context.Context, args []string, std stdio) int {
	err := parseAndRun(ctx, withCollective(args), std)
	switch {
	case err == nil:
		return exitGood
	case ctx.Err() != nil:
		fmt.Fprintln(std.Err, "schedgen: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(std.Err, "schedgen:", err)
	var no *noError
	if errors.As(err, &no) {
		return exitNo
	}
	return exitBad
}

// variable returns the value of a variable in the tags of verbs.
func variable(name string) string {
	switch name {
	case "formats":
		return strings.Join(formatNames(), ", ")
	case "extracts":
		return strings.Join(emit.ExtractNames(), ", ")
	case "checks":
		return strings.Join(checkNames(), ", ")
	case "claims":
		return strings.Join(verify.Claims(), ", ")
	case "operations":
		return strings.Join(heads(operationRows()), ",")
	case "explained":
		return strings.Join(explainable(), ", ")
	case "networks":
		return networkKinds()
	case "shells":
		return strings.Join(complete.Shells(), ",")
	case "counts":
		return countsHelp(nil)
	case "foldops":
		return strings.Join(crew.FoldOps(), ", ")
	case "foldtypes":
		return strings.Join(crew.FoldTypes(), ", ")
	}
	return "${" + name + "}" // kong's, or its error
}

// fillIn replaces variables in the texts of a verb and of those below it, which may set others. Kong
// can do so, but interpolates the values of all variables again for every flag. That would take most
// of the time in which a process starts.
func fillIn(n *kong.Node, variable func(string) string) {
	if n.Tag != nil && n.Tag.Vars != nil {
		outer, own := variable, n.Tag.Vars
		variable = func(name string) string {
			if value, ok := own[name]; ok {
				return value
			}
			return outer(name)
		}
		n.Tag.Vars = nil // nothing is left for kong
	}
	fill := func(text *string) {
		if strings.Contains(*text, "${") {
			*text = os.Expand(*text, variable)
		}
	}
	fill(&n.Help)
	for _, f := range n.Flags {
		fill(&f.Help)
		fill(&f.Enum)
	}
	for _, arg := range n.Positional {
		fill(&arg.Help)
		fill(&arg.Enum)
	}
	for _, child := range n.Children {
		fillIn(child, variable)
	}
}

// hideRefused hides the flags that a verb refuses whatever their values are. The verb's error still
// tells the reason.
func hideRefused(n *kong.Node) {
	if n.Target.CanAddr() {
		if verb, ok := n.Target.Addr().Interface().(interface{ refused() []string }); ok {
			for _, f := range n.Flags {
				f.Hidden = f.Hidden || slices.Contains(verb.refused(), f.Name)
			}
		}
	}
	for _, child := range n.Children {
		hideRefused(child)
	}
}

// newParser returns the parser of the command line. It calls exit after a flag such as --help,
// which does the whole work of the command.
func newParser(grammar any, std stdio, exit func(int)) (*kong.Kong, error) {
	style := new(helpStyle)
	parser, err := kong.New(grammar,
		kong.Help(style.print),
		kong.Bind(style),
		kong.Name("schedgen"),
		kong.Description(description+"\n\n"+exitCodes),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ExplicitGroups(groups),
		kong.Writers(std.Out, std.Err),
		kong.Exit(exit),
		kong.PostBuild(func(k *kong.Kong) error {
			fillIn(k.Model.Node, variable)
			hideRefused(k.Model.Node)
			return nil
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}
	return parser, nil
}

func parseAndRun(ctx context.Context, args []string, std stdio) error {
	served := false
	parser, err := newParser(grammar(args), std, func(int) { served = true })
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
		return usageError(inWhole(args, err))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if at := parsed.Selected(); at == nil || !at.Tag.Has("computes") {
		return parsed.Run(std)
	}
	std, stop := std.withWork()
	defer stop()
	_, err = await(ctx, func() (any, error) { return nil, parsed.Run(std) })
	return err
}

// inWhole returns the parsing error of args on the whole command line, given the error err of a
// part of it. Only the whole knows which flags belong to other verbs.
func inWhole(args []string, err error) error {
	if !strings.HasPrefix(err.Error(), "unknown flag") {
		return err
	}
	parser, failed := newParser(newCLI(""), stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	if failed != nil {
		return err
	}
	if _, whole := parser.Parse(args); whole != nil {
		return whole
	}
	return err
}

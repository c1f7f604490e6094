package cli

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// cli is the command line: one verb a line, each in a file of its own. A verb with the tag computes
// starts nothing that it must end, so an interrupt abandons it at once.
type cli struct {
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

	Rules rulesCmd `cmd:"" group:"experts" help:"Check a file of rules, schedgen's own or Open MPI's, and print it."`
	Tune  tuneCmd  `cmd:"" group:"experts" help:"Measure how long messages take on this machine, and write rules for it."`

	command.About
}

// groups are the titles under which the help lists the verbs, in this order.
var groups = []kong.Group{
	{Key: "schedules", Title: "Schedules:"},
	{Key: "run", Title: "Run:"},
	{Key: "experts", Title: "For experts:"},
}

// schedgen is the command.
var schedgen = command.Program{
	Name:        "schedgen",
	Summary:     "compute, prove, print and run schedules of collective communication",
	Description: description,
	Example:     "run bcast",
	Groups:      groups,
	Verbs: func(args []string) any {
		if len(args) > 0 && (args[0] == "run" || args[0] == "rank") {
			return newCLI(verbBelow(args[1:]))
		}
		if len(args) > 0 {
			return new(cli)
		}
		return newCLI("")
	},
	Moved: map[string]string{
		"cast": "schedcast", "receive": "schedcast receive",
		"explore": "schedlab explore", "soak": "schedlab soak", "papers": "schedlab papers",
	},
	Rewrite:   withCollective,
	Variables: variable,
	Sources:   completions,
	Spellings: spellings,
	Sections:  sections,
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
		return strings.Join(command.Heads(operationRows()), ",")
	case "explained":
		return strings.Join(explainable(), ", ")
	case "networks":
		return networkKinds()
	case "counts":
		return countsHelp(nil)
	case "foldops":
		return strings.Join(crew.FoldOps(), ", ")
	case "foldtypes":
		return strings.Join(crew.FoldTypes(), ", ")
	}
	return ""
}

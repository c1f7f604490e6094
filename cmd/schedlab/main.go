// Command schedlab explores, simulates and measures what schedgen claims.
//
// Results go to standard output and to files, progress and errors to standard error. The exit code
// is 0 if all is well, 1 if the answer is no (a check has failed, or a ratio got worse) or a run has
// failed, 2 on bad input (flags, names, files) and 130 if the command is interrupted.
package main

import (
	"os"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/internal/lab/ask"
	"github.com/schedgen/schedgen/internal/lab/compare"
	"github.com/schedgen/schedgen/internal/lab/explore"
	"github.com/schedgen/schedgen/internal/lab/papers"
	"github.com/schedgen/schedgen/internal/lab/soak"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/transport"
)

func main() { os.Exit(schedlab.Main(os.Args[1:])) }

// verbs is the command line. A hidden verb is a process that another verb starts.
type verbs struct {
	Explore explore.Verb `cmd:"" group:"models" help:"Try every order of events on a few ranks: deliveries, losses, timers, a death."`
	Soak    soak.Verb    `cmd:"" group:"models" help:"Run communicators on a simulated network with failures drawn from seeds."`
	Papers  papers.Verb  `cmd:"" group:"models" help:"Make the figures of the papers: as stated, from models, simulation and runs."`

	Compare compare.Verb `cmd:"" group:"host" help:"Compare schedgen with Open MPI and MPICH."`
	Ask     ask.Verb     `cmd:"" group:"host" help:"Measure questions that one rank asks and all ranks answer."`

	CompareLimit compare.LimitRank `cmd:"" hidden:"" name:"compare-limit"`

	linuxVerbs
	command.About
}

// schedlab is the command.
var schedlab = command.Program{
	Name:        "schedlab",
	Summary:     "explore, simulate and measure what schedgen claims",
	Description: `Explores, simulates and measures what schedgen claims. Verbs that build programs must be called within schedgen's module.`,
	Example:     "soak",
	Groups: []kong.Group{
		{Key: "models", Title: "In every order, in virtual time, and from models:"},
		{Key: "host", Title: "On this host:"},
		{Key: "networks", Title: "On simulated hosts:"},
	},
	Verbs: func([]string) any { return new(verbs) },
	Sources: map[string]complete.Source{
		"algorithm": func(complete.Place) []complete.Word { return source.Words("") },
		"figure":    papers.Words,
		"interface": complete.Interfaces,
		"transport": func(complete.Place) []complete.Word { return complete.Words(transport.Names()...) },
	},
	Sections: func() []manpage.Section { return []manpage.Section{command.ExitStatus} },
}

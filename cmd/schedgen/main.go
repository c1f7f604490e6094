// Command schedgen generates, draws, proves and runs schedules of collective
// operations.
//
// Results go to standard output, progress and errors to standard error. The exit code is 0 if all
// is well, 1 if the answer is no (a schedule does not verify) or a run has failed, 2 on bad input
// (flags, names, files) and 130 if the command is interrupted.
package main

import (
	"os"

	"github.com/schedgen/schedgen/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

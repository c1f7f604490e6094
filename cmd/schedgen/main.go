// Command schedgen generates, draws, proves and runs schedules of collective
// operations.
//
// Results go to standard output, progress and errors to standard error. The exit code is 0 if all
// is well, 1 if the answer is no (a schedule does not verify) or a run has failed, 2 on bad input
// (flags, names, files) and 130 if the command is interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}))
}

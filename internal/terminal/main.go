package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command with the streams of this process, and returns the exit code. The first
// interrupt ends the context of the command, and the second one the process.
func Main(program string, run func(ctx context.Context, std Stdio) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return Run(ctx, Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Program: program}, run)
}

// Run runs a command, prints its error, and returns the exit code: [No] for a [NoError], the code of
// an [ExitError], [Bad] for other errors, and [Interrupted] if ctx has ended.
func Run(ctx context.Context, std Stdio, run func(ctx context.Context, std Stdio) error) int {
	err := run(ctx, std)
	switch {
	case err == nil:
		return Good
	case ctx.Err() != nil:
		fmt.Fprintf(std.Err, "%s: interrupted\n", std.Program)
		return Interrupted
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	fmt.Fprintf(std.Err, "%s: %v\n", std.Program, err)
	var no *NoError
	if errors.As(err, &no) {
		return No
	}
	return Bad
}

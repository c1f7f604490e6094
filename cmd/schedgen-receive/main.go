// Command schedgen-receive is the part of schedgen that receives a cast. "schedgen cast" copies it
// to hosts that do not have it, because it is much smaller than schedgen. Users need not start it:
//
//	schedgen-receive --version
//	schedgen-receive guest DIR     receive what the sender orders on the standard input
//
// To build it for copying, leave out what a debugger needs:
//
//	go build -trimpath -ldflags='-s -w' ./cmd/schedgen-receive
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/internal/version"
)

// The exit codes are those of schedgen.
const (
	exitNo          = 1
	exitBad         = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	switch {
	case len(args) == 1 && args[0] == "--version":
		info, ok := debug.ReadBuildInfo()
		if !ok {
			info = new(debug.BuildInfo)
		}
		fmt.Println(version.Line(info))
		return 0
	case len(args) == 2 && args[0] == "guest":
	default:
		fmt.Fprintln(os.Stderr, "schedgen-receive: is started by \"schedgen cast\"; to start a receiver yourself, use \"schedgen receive\"")
		return exitBad
	}
	err := cast.Guest(ctx, args[1], os.Stdin, os.Stdout, os.Stderr, tell)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "schedgen: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(os.Stderr, "schedgen:", err)
	return exitNo
}

// tell prints notices for the sender's user. The sender shows the progress itself.
func tell(e cast.Event) {
	if e.Kind == cast.Notice {
		fmt.Fprintln(os.Stderr, e.Text)
	}
}

// Command schedcast sends files or a stream from this host to many others over one network, in about
// the time of one copy:
//
//	schedcast model.bin n01 n02 --to /data
//	schedcast -w 'n[1-20]' model.bin:/data
//	schedcast receive --from HOST:PORT --to DIR     a receiver that is started by hand
//	schedcast guest DIR                             a receiver that the sender starts by ssh
//
// The sender copies itself to hosts that do not have it. To build a program that is small enough,
// leave out what a debugger needs:
//
//	go install -trimpath -ldflags='-s -w' ./cmd/schedcast
//
// Results go to the standard output, progress and errors to the standard error. The exit code is 0 if
// all is well, 1 if the cast has failed at some host, 2 on bad input (flags, names, files) and 130 if
// the command is interrupted.
package main

import (
	"context"
	"os"

	"github.com/schedgen/schedgen/internal/terminal"
)

const program = "schedcast"

func main() {
	os.Exit(terminal.Main(program, func(ctx context.Context, std terminal.Stdio) error {
		return commandLine().run(ctx, std, os.Args[1:])
	}))
}

// commandLine returns the command.
func commandLine() *verb {
	root := sendVerb()
	root.below(receiveVerb())
	root.below(guestVerb())
	root.below(helpVerb(root))
	root.below(completionVerb())
	root.below(manVerb(root))
	root.below(completeVerb(root))
	return root
}

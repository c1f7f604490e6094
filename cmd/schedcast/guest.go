package main

import (
	"context"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/terminal"
)

// guestName is the verb that the sender starts on hosts.
const guestName = "guest"

// guestVerb returns the hidden verb of receivers that are started by ssh. Its argument is the
// directory of the copy that runs, or empty if it is none. It receives what the sender orders it to,
// and ends when its standard input does.
func guestVerb() *verb {
	v := newVerb(syntax.Verb{Name: guestName, Hidden: true, Args: []*syntax.Value{{Name: "dir"}}})
	v.do = func(ctx context.Context, std terminal.Stdio, args []string) error {
		lines, err := newPrinter(std, false, newsFlags{})
		if err != nil {
			return err
		}
		if err := cast.Guest(ctx, append(args, "")[0], std.In, std.Out, std.Err, lines.printEvent); err != nil {
			return terminal.Failed(err)
		}
		return nil
	}
	return v
}

package cli

import (
	"context"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/internal/command"
)

// guestCmd is the hidden verb of receivers that are started by ssh.
type guestCmd struct {
	Copy string `arg:"" optional:"" help:"Directory of the copy that runs, empty if it is none."`
}

// Run receives what the sender orders it to, and ends when its standard input does.
func (c *guestCmd) Run(ctx context.Context, std command.Stdio) error {
	lines, err := newCastLines(std, false, castNews{})
	if err != nil {
		return err
	}
	if err := cast.Guest(ctx, c.Copy, std.In, std.Out, std.Err, lines.printEvent); err != nil {
		return command.Failed(err)
	}
	return nil
}

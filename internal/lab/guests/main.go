//go:build linux

// Package guests is the verb guests of schedlab.
package guests

import (
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/terminal"
)

// Help is the long help text.
func (Verb) Help() string {
	return `Runs a command in virtual machines with RDMA in software (Soft-RoCE), for programs that need verbs on a
machine without RDMA. It needs qemu (Debian: qemu-system-x86) and, at its first start, apt-get. It
installs nothing.

Guest i, from 0, is called guesti. It has the address 10.78.0.i+1 on eth0, and the RDMA device rxe0 on
eth0. The command finds i in GUEST and SCHEDGEN_RANK, and the number of guests in GUESTS and
SCHEDGEN_SIZE. OUT is a directory whose files --out keeps. {guest} and {guests} in the arguments are
replaced by these numbers. A command that is a path is a file of the host, which is copied with its
libraries. Other commands are commands of busybox or files of --add.

All guests are up before any command starts. Frames between guests go through a switch in this
program, which can lose some. All guests end with this program. The exit code is that of the first
command that fails, or 2.

Examples:

  schedlab guests -- rdma link show
  schedlab guests --loss 1% -- /tmp/schedgen rank bcast \
    --coordinator 10.78.0.1:7777 --transport mcast --interface eth0
  schedlab guests --guests 1 --memory 1024 -- \
    /tmp/schedlab kills --transports verbs --kills 20 --ranks 4`
}

// insideVerb is the name of the hidden verb of the first process of a guest.
const insideVerb = "guests-inside"

// Inside is the hidden verb.
type Inside struct{}

// Run sets the guest up and serves the host. It returns only an error.
func (Inside) Run() error { return inside() }

// Run runs the command in all guests.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.check(); err != nil {
		return err
	}
	err := run(ctx, v, std.Out, std.Err)
	if failed, ok := errors.AsType[*commandError](err); ok {
		fmt.Fprintf(std.Err, "schedlab: %v\n", err)
		return &terminal.ExitError{Code: failed.code}
	}
	return err
}

//go:build linux

// Command guests runs a command in virtual machines with RDMA in software (Soft-RoCE), for programs
// that need verbs on a machine without RDMA. It needs qemu and, at its first start, apt-get. It
// installs nothing.
//
//	apt-get install --no-install-recommends qemu-system-x86
//	go run ./bench/guests -- rdma link show
//	go build -o /tmp/schedgen ./cmd/schedgen
//	go run ./bench/guests --loss 0.01 -- /tmp/schedgen rank bcast \
//	    --coordinator 10.78.0.1:7777 --transport mcast --interface eth0 --size 512KiB
//
// Guest i, from 0, is called guesti. It has the address 10.78.0.i+1 on eth0, and the RDMA device
// rxe0 on eth0. The command finds i in GUEST and SCHEDGEN_RANK, and the number of guests in GUESTS
// and SCHEDGEN_SIZE. OUT is a directory whose files --out keeps. {guest} and {guests} in the
// arguments are replaced by these numbers. A command that is a path is a file of the host, which is
// copied with its libraries. Other commands are commands of busybox or files of --add.
//
// All guests are up before any command starts. Frames between guests go through a switch in this
// program, which can lose some. All guests end with this program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// The program runs on the host and, as the first process, in every guest. The kernel passes the
// variable to it.
const (
	stageVar   = "SCHEDGEN_GUESTS_STAGE"
	guestStage = "guest"
)

func main() {
	if os.Getenv(stageVar) == guestStage {
		inside()
	}
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o, os.Stdout, os.Stderr)
		stop()
	}
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "guests:", err)
	var c *commandError
	if errors.As(err, &c) {
		os.Exit(c.code)
	}
	os.Exit(2)
}

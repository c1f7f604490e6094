package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/pack"
	"github.com/schedgen/schedgen/runtime/lobby"
)

// castCmd is the verb cast: what this host has is sent to others.
type castCmd struct {
	What string `arg:"" complete:"file" help:"File or directory to send, or - for the standard input."`

	Serve     bool          `help:"Wait for receivers, which are started on their hosts."`
	Expect    int           `placeholder:"N" help:"Receivers to wait for."`
	Wait      time.Duration `placeholder:"TIME" help:"Begin after so long with those that have come; others may come until then. Default: wait for all."`
	Listen    string        `default:":7717" placeholder:"HOST:PORT" help:"Address where receivers find this host, default :7717, port 7717 of all its addresses."`
	Limit     castRate      `placeholder:"N/s" help:"Bytes a second to send at most, such as 200MiB/s; default no limit."`
	Resume    bool          `help:"Send to each receiver only what it lacks of what it has already, or has kept of a cast that has broken off; start receivers with it, too."`
	KeepGoing bool          `help:"A receiver that fails does not stop the others; this is the default."`
	Strict    bool          `help:"The first receiver that fails ends the cast for all."`
	DryRun    bool          `help:"Say what would be sent, and send nothing."`
	JSON      bool          `name:"json" help:"Print an object."`
	castLink
	castKey
}

// Help is the long help text.
func (castCmd) Help() string {
	return `Sends a file or a directory to many hosts at once, over one network, at about the time that one copy
takes: by multicast, or along a chain of the receivers. On each of these "schedgen receive" is
started, before or after; when as many have come as --expect says it begins.

Of a directory everything below it is sent, under its name; with a slash at the end of DIR/, without the
name. Permissions, times, symbolic links and holes are kept. Each file appears when it
is whole, its SHA-256 is right and the disk has it. A receiver that dies or whose disk is full
does not stop the others: it is named in the end, and the exit code is 1.

Receivers that come while it casts are served behind. With --resume, at receivers as well, each gets only
what it lacks of what it has already, or has kept of a cast that has broken off.

Hosts need to let through TCP of one port, that of --listen, no more.

With a key nobody else can join, and all is encrypted. Without one anybody can who reaches
the address.

Transports:

` + table([][2]string{
		{overAuto, "mcast where it works at all, unless --listen is a loopback address; else tcp"},
		{overMcast, "UDP multicast; what is lost comes by TCP"},
		{overTCP, "TCP, along a chain"},
	}) + `
Examples:

  schedgen cast --serve model.bin --expect 40 --key-file key
  tar c . | schedgen cast --serve - --expect 3 --listen 10.77.0.1:7717 \
    --limit 200MiB/s`
}

// check checks the flags.
func (c *castCmd) check() error {
	switch {
	case c.Strict && c.KeepGoing:
		return errors.New("--strict and --keep-going: give one of them")
	case !c.Serve && !c.DryRun:
		return errors.New("--serve: needed: receivers are started on their hosts")
	case c.Expect < 1 || c.Expect > maxReceivers:
		return fmt.Errorf("--expect=%d: must be in 1..%d", c.Expect, maxReceivers)
	}
	if c.Resume && c.What == "-" {
		return errors.New("--resume: a stream comes once, and cannot be compared")
	}
	if c.Wait < 0 {
		return fmt.Errorf("--wait=%v: must not be negative", c.Wait)
	}
	return c.castLink.check()
}

// maxReceivers is how many receivers a cast may have.
const maxReceivers = 4096

// Run sends.
func (c *castCmd) Run(ctx context.Context, std stdio) error {
	if err := c.check(); err != nil {
		return err
	}
	p, err := c.plan(ctx)
	if err != nil {
		return err
	}
	if c.DryRun {
		return p.tell(std, c.JSON)
	}
	l, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	key, err := c.secret(std.Getenv)
	if err != nil {
		return err
	}
	out, err := c.serve(ctx, l, key, lobby.NewCount(p.Receivers), p, std)
	if out == nil {
		return failed(err)
	}
	return out.finish(ctx, std, c.JSON, err)
}

// source is what is sent to those that lack some blocks, nil for all.
func (c *castCmd) source(ctx context.Context, std stdio, lacked *block.Set) cast.Source {
	if c.What == "-" {
		return cast.Stream(&patientReader{ctx: ctx, r: std.In})
	}
	return cast.Tree(c.What, lacked)
}

// castPlan is what is sent.
type castPlan struct {
	What      string       `json:"what"`
	Totals    *pack.Totals `json:"totals,omitempty"` // nil: of a stream
	Receivers int          `json:"receivers"`
}

func (c *castCmd) plan(ctx context.Context) (*castPlan, error) {
	p := &castPlan{What: c.What, Receivers: c.Expect}
	if c.What != "-" {
		t, err := await(ctx, func() (pack.Totals, error) { return pack.Measure(ctx, c.What) })
		if err != nil {
			return nil, err
		}
		p.Totals = &t
	}
	return p, nil
}

// bytes returns how much there is, -1 if nobody knows.
func (p *castPlan) bytes() int64 {
	if p.Totals == nil {
		return -1
	}
	return p.Totals.Bytes
}

// tell prints the plan.
func (p *castPlan) tell(std stdio, asJSON bool) error {
	if asJSON {
		return writeJSON(std.Out, p, "")
	}
	what := "a stream"
	if p.Totals != nil {
		what = fmt.Sprintf("%s, %v", plural(p.Totals.Entries, "entry", "entries"), byteSize(p.Totals.Bytes))
	}
	_, err := fmt.Fprintf(std.Out, "would send %s to %s: %s\n", p.What, plural(int64(p.Receivers), "receiver", "receivers"), what)
	return err
}

// patientReader reads from what may not answer for long, such as a terminal. When ctx ends a read that
// is under way is left behind: the process is about to end.
type patientReader struct {
	ctx context.Context
	r   io.Reader
	buf []byte
}

func (p *patientReader) Read(b []byte) (int, error) {
	if len(p.buf) < len(b) {
		p.buf = make([]byte, len(b))
	}
	n, err := await(p.ctx, func() (int, error) { return p.r.Read(p.buf[:len(b)]) })
	copy(b, p.buf[:n])
	return n, err
}

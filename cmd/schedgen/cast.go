package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schedgen/schedgen/cast/pack"
)

// castCmd is the verb cast: what this host has is sent to others.
type castCmd struct {
	What string   `arg:"" complete:"file" help:"File or directory to send, or - for the standard input."`
	Host []string `arg:"" optional:"" help:"Hosts to send it to, as ssh calls them: names, aliases, user@host."`

	castHosts
	Serve     bool          `help:"Wait for receivers, which are started on their hosts, without ssh."`
	Expect    int           `placeholder:"N" help:"With --serve: receivers to wait for. Without it --wait says how long."`
	Wait      time.Duration `placeholder:"TIME" help:"Begin after so long with those that have come. Default: wait for all hosts, or for as many receivers as --expect says."`
	Listen    string        `placeholder:"HOST:PORT" help:"Address where receivers find this host; default, with --serve, :7717, port 7717 of all its addresses, else any port of these."`
	Limit     castRate      `placeholder:"N/s" help:"Bytes a second to send at most, such as 200MiB/s; default no limit."`
	Resume    bool          `help:"Send to each receiver only what it lacks of what it has already, or has kept of a cast that has broken off; start receivers with it, too."`
	KeepGoing bool          `help:"A receiver that fails does not stop the others; this is the default."`
	Strict    bool          `help:"The first receiver that fails ends the cast for all."`
	Silence   time.Duration `default:"10s" placeholder:"TIME" help:"A host that gives no sign of life for so long is lost, as if its network were cut; default 10s; 0: never. The others wait for it for 0.5s, or up to 3s on slow networks; if it comes again it gets the rest behind them."`
	DryRun    bool          `help:"Say what would be sent, and send nothing."`
	JSON      bool          `name:"json" help:"Print an object."`
	castLink
	castKey
}

// Help is the long help text.
func (castCmd) Help() string {
	return `Sends a file, a directory or a stream to many hosts at once, over one network, at about the time that
one copy takes: by multicast, or along a chain of the receivers.

Receivers are started on the hosts by ssh, with the keys, aliases and jump hosts that are set up for it.
Nothing need be installed there: a host that has not this very schedgen gets a copy for as long
as it runs. The key of the cast goes through the connection, so that nobody else can join or read. When the
sender ends, also by Ctrl-C, all that was started ends, and no part of a file is left. A host that
cannot be reached, dies or has a full disk does not stop the others: it is named in the end, and the
exit code is 1. One that is much slower than the others is served behind them.

With --serve "schedgen receive" is started on the hosts in some other way, before or after. The cast begins
when as many have come as --expect says, or after --wait with those that have come. Give a key then:
without one anybody can join who reaches the address.

Of a directory everything below it is sent, under its name; with a slash at the end of DIR/, without the
name. Permissions, times, symbolic links and holes are kept. Each file appears when it
is whole, its SHA-256 is right and the disk has it. A stream goes to the command of --exec, whose output
comes back behind the host's name.

Hosts that come while it casts are served behind, with what the first ones got: if that has changed since
they fail. With --resume each gets only what it lacks of what it has already, or has kept of a cast that
has broken off; without ssh receivers are started with it, too.

Hosts need to let through TCP of one port, that of --listen, no more.

Transports:

` + table([][2]string{
		{overAuto, "mcast where it works at all and there are several; else tcp"},
		{overMcast, "UDP multicast; what is lost comes by TCP"},
		{overTCP, "TCP, along a chain"},
	}) + `
Examples:

  schedgen cast model.bin node01 node02 node03 --to /data/models
  schedgen cast DIR/ --hosts hosts.txt --to /data --limit 200MiB/s
  tar c . | schedgen cast - node01 node02 --exec 'tar x -C /data'
  schedgen cast --serve model.bin --expect 40 --key-file key`
}

// check checks the flags, and returns the hosts.
func (c *castCmd) check() ([]string, error) {
	hosts, err := c.names(c.Host)
	switch {
	case err != nil:
		return nil, err
	case c.Strict && c.KeepGoing:
		return nil, errors.New("--strict and --keep-going: give one of them")
	case len(hosts) > 0 && c.Serve:
		return nil, errors.New("--serve: receivers are started on their hosts: name no hosts, or leave it out")
	case len(hosts) > 0 && c.Expect != 0:
		return nil, errors.New("--expect: the hosts are counted")
	case len(hosts) > maxReceivers:
		return nil, fmt.Errorf("%d hosts, at most %d are allowed", len(hosts), maxReceivers)
	case len(hosts) > 0:
		err = c.castHosts.check(c.What == "-")
	case c.idle() != "":
		err = fmt.Errorf("%s: for hosts that are named, or --hosts", c.idle())
	case !c.Serve && !c.DryRun:
		err = errors.New("hosts, --hosts or --serve: needed")
	case c.Expect == 0 && c.Wait == 0:
		err = errors.New("--serve: give --expect N, for how many receivers to wait, or --wait TIME, for how long")
	case c.Expect < 0 || c.Expect > maxReceivers:
		err = fmt.Errorf("--expect=%d: must be in 1..%d", c.Expect, maxReceivers)
	}
	switch {
	case err != nil:
	case c.Resume && c.What == "-":
		err = errors.New("--resume: a stream comes once, and cannot be compared")
	case c.Wait < 0:
		err = fmt.Errorf("--wait=%v: must not be negative", c.Wait)
	case c.Silence != 0 && c.Silence < time.Second:
		err = fmt.Errorf("--silence=%v: must be 0 or at least 1s", c.Silence)
	}
	if err != nil {
		return nil, err
	}
	return hosts, c.castLink.check()
}

// expected says for which receivers a sender without ssh waits.
func (c *castCmd) expected() string {
	if c.Expect == 0 {
		return fmt.Sprintf("receivers that come within %v", c.Wait)
	}
	return plural(int64(c.Expect), "receiver", "receivers")
}

// maxReceivers is how many receivers a cast may have.
const maxReceivers = 4096

// Run sends.
func (c *castCmd) Run(ctx context.Context, std stdio) error {
	hosts, err := c.check()
	if err != nil {
		return err
	}
	p, err := c.plan(ctx, max(c.Expect, len(hosts)))
	if err != nil {
		return err
	}
	switch {
	case len(hosts) > 0:
		return c.overSSH(ctx, hosts, p, std)
	case c.DryRun:
		return p.tell(std, c.JSON)
	}
	key, err := c.secret(std.Getenv)
	if err != nil {
		return err
	}
	l, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintf(std.Err, "waiting at %v for %s\n", l.Addr(), c.expected())
	out, err := c.serve(ctx, l, key, c.served(l, std), p, std)
	if out == nil {
		return failed(err)
	}
	return out.finish(ctx, std, c.JSON, err)
}

// castPlan is what is sent.
type castPlan struct {
	What      string       `json:"what"`
	Totals    *pack.Totals `json:"totals,omitempty"` // nil: of a stream
	Receivers int          `json:"receivers"`
	Hosts     []castVisit  `json:"hosts,omitempty"` // of a rehearsal
}

func (c *castCmd) plan(ctx context.Context, receivers int) (*castPlan, error) {
	p := &castPlan{What: c.What, Receivers: receivers}
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
	var b strings.Builder
	to := plural(int64(p.Receivers), "receiver", "receivers")
	if p.Receivers == 0 {
		to = "all receivers that come in time"
	}
	fmt.Fprintf(&b, "would send %s to %s: %s\n", p.What, to, what)
	for i := range p.Hosts {
		fmt.Fprintf(&b, "  %s: %s\n", p.Hosts[i].Name, p.Hosts[i].words())
	}
	_, err := io.WriteString(std.Out, b.String())
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

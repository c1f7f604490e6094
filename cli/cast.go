package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/words"
)

// castCmd is the verb cast, which sends files or a stream of this host to others.
type castCmd struct {
	What string   `arg:"" complete:"file" help:"File or directory to send, or - for the standard input."`
	Host []string `arg:"" optional:"" help:"Further files, with a slash in their names, and hosts, as ssh calls them: names, aliases, user@host."`

	castHosts
	castFiles
	Serve     bool          `help:"Wait for receivers that are started by hand; do not use ssh."`
	Expect    int           `placeholder:"N" help:"With --serve: number of receivers to wait for. Without it, give --wait."`
	Wait      time.Duration `placeholder:"TIME" help:"Begin after this time with the receivers that have come. Default: wait for all hosts, or for --expect receivers."`
	Listen    string        `placeholder:"HOST:PORT" help:"Address at which receivers reach this host. Default: all its addresses, at port 7717 with --serve, else at any free port."`
	Limit     castRate      `placeholder:"N/s" help:"Greatest rate in bytes a second, such as 200MiB/s; default no limit."`
	Resume    bool          `help:"Send to each receiver only the data that it lacks, compared with its files and with those of a cast that broke off. Receivers need --resume, too."`
	KeepGoing bool          `help:"A receiver that fails does not stop the others; this is the default."`
	Strict    bool          `help:"The first receiver that fails ends the cast for all."`
	Silence   time.Duration `default:"10s" placeholder:"TIME" help:"A host that gives no sign of life for this time is lost; default 10s; 0: never. The others wait for it for 0.5s to 3s, and below 1 MB/s for the whole time. If it comes back in time, it gets the rest after them."`
	DryRun    bool          `help:"Say what would be sent, and send nothing."`
	Checksum  bool          `help:"With --dry-run: compare files at each host, and say which data it lacks. With --update, compare only sizes and times."`
	JSON      bool          `name:"json" help:"Print an object."`
	castLink
	castKey
	castNews

	files []string   // files to send
	lines *castLines // nil: the cast has not begun
}

// Help is the long help text.
func (castCmd) Help() string {
	return `Sends a file, a directory or a stream to many hosts at once, over one network. It uses multicast, or a
chain of the receivers, so it takes about the time of one copy.

It starts receivers on the hosts by ssh, with your keys, aliases and jump hosts. Nothing need be installed
there: the first host that does not have the program gets a copy from here, and passes it on to the others.
A host removes its copy when the program ends, unless --install is given. Each cast has a random key,
which goes through ssh, so nobody else can join the cast or read the data. When the sender ends, also by
Ctrl-C, all receivers end, and no part of a file is left. A host that cannot be reached, dies or has a
full disk does not stop the others. The result names it, and the exit code is 1. A host that is much
slower than the others is served after them.

With --serve, the cast waits for receivers that you start by "schedgen receive". It begins when --expect
receivers have come, or after --wait with those that have come. Use --key-file: without a key, anybody who
reaches the address can join.

A directory is sent under its name, with everything below it. If its name ends with a slash, as in DIR/,
its entries are sent without the directory. To send several files and directories, put a slash into all
names after the first, such as ./b, or name the hosts by -w or --hosts. Permissions, times, symbolic links
and holes are kept. An entry that cannot be sent is skipped, such as a socket, an unreadable file, or a
link that leads out of DIR. So is a file that vanishes, or changes twice while it is read. A line names
each skipped entry, and the exit code is 1. A file appears at a host when it is complete, its SHA-256 is
right and the disk has it. A stream goes to the command of --exec. The output of the command comes back,
with the name of the host in front.

Hosts that come during the cast are served after the others. They must get the same files, and fail if
these have changed since. With --resume, a host gets only the data that it lacks: not those of existing
files, or of a cast that broke off. Start receivers that come by themselves with --resume, too.

Hosts must let through TCP connections to one port, that of --listen.

Transports:

` + command.Table([][2]string{
		{cast.Auto, "mcast if it works at all of several hosts, else tcp"},
		{cast.Multicast, "UDP multicast; lost parts come by TCP"},
		{cast.Chain, "TCP, along a chain of the hosts"},
	}) + `
Examples:

  schedgen cast model.bin node01 node02 node03 --to /data/models
  schedgen cast DIR/ -w 'node[01-40],@gpu' -x node07 --to /data
  schedgen cast app.tar --hosts hosts.txt --to /opt --then 'tar xf app.tar'
  schedgen cast ./app ./conf -w 'web[1-9]' --to /srv --update \
    --delete 100 --exclude '*.log'
  tar c . | schedgen cast - node01 node02 --exec 'tar x -C /data'
  schedgen cast --serve model.bin --expect 40 --key-file key
  schedgen cast model.bin -w 'node[01-40]' --call --key-file key`
}

// UnknownFlag explains options of ssh, which people give to a program that calls ssh.
func (*castCmd) UnknownFlag(flag string) string {
	if len(flag) == 2 && strings.Contains("pilFJo", flag[1:]) {
		return fmt.Sprintf("if it is an option of ssh, write --ssh 'ssh %s …'", flag)
	}
	return ""
}

// check checks the flags, and returns the hosts.
func (c *castCmd) check(in io.Reader) ([]string, error) {
	if c.What == "-" && c.Hosts == "-" {
		return nil, errors.New("--hosts=-: the standard input is already sent as the stream")
	}
	files, named := c.sources()
	c.files = files
	hosts, err := c.names(named, in)
	switch {
	case err != nil:
		return nil, err
	case c.Strict && c.KeepGoing:
		return nil, errors.New("--strict and --keep-going: give only one of them")
	case len(hosts) > 0 && c.Serve:
		return nil, errors.New("--serve: waits for receivers that are started by hand: name no hosts, or omit --serve")
	case len(hosts) > 0 && c.Expect != 0:
		return nil, errors.New("--expect: is only for --serve; named hosts are counted")
	case len(hosts) > cast.MaxReceivers:
		return nil, fmt.Errorf("%d hosts, at most %d are allowed", len(hosts), cast.MaxReceivers)
	case len(hosts) > 0:
		err = c.castHosts.check(c.What == "-")
	case c.idle() != "":
		err = fmt.Errorf("%s: needs hosts", c.idle())
	case !c.Serve && !c.DryRun:
		err = errors.New("hosts, -w, --hosts or --serve: needed")
	case c.Expect == 0 && c.Wait == 0:
		err = errors.New("--serve: give --expect N, for how many receivers to wait, or --wait TIME, for how long")
	case c.Expect < 0 || c.Expect > cast.MaxReceivers:
		err = fmt.Errorf("--expect=%d: must be in 1..%d", c.Expect, cast.MaxReceivers)
	}
	if err == nil {
		err = c.castFiles.check(c.What == "-")
	}
	switch {
	case err != nil:
	case c.Checksum && (!c.DryRun || len(hosts) == 0 || c.Call || c.What == "-"):
		err = errors.New("--checksum: needs --dry-run, files, and hosts that ssh reaches")
	case c.Resume && c.What == "-":
		err = errors.New("--resume: a stream is sent only once and cannot be compared")
	case c.Wait < 0:
		err = fmt.Errorf("--wait=%v: must not be negative", c.Wait)
	case c.Silence != 0 && c.Silence < time.Second:
		err = fmt.Errorf("--silence=%v: must be 0 or at least 1s", c.Silence)
	}
	if err != nil {
		return nil, err
	}
	return hosts, errors.Join(c.castLink.check(), c.castNews.check())
}

// expected describes the receivers for which a sender without ssh waits.
func (c *castCmd) expected() string {
	if c.Expect == 0 {
		return fmt.Sprintf("receivers that come within %v", c.Wait)
	}
	return words.Count(int64(c.Expect), "receiver", "receivers")
}

// Run sends, and prints the result.
func (c *castCmd) Run(ctx context.Context, std command.Stdio) error {
	hosts, err := c.check(std.In)
	if err != nil {
		return err
	}
	p, err := c.payload(ctx, std)
	switch {
	case err != nil:
		return err
	case c.DryRun && !c.Checksum:
		return c.rehearse(ctx, hosts, p, std)
	}
	key, err := c.key(std.Getenv)
	if err != nil {
		return err
	}
	lines, err := newCastLines(std, c.JSON, c.castNews)
	if err != nil {
		return err
	}
	c.lines = lines
	o := cast.Options{
		Link: c.link(key), Limit: float64(c.Limit), Resume: c.Resume || c.Update || c.Checksum, Compare: c.Checksum, Compress: c.compress(), Strict: c.Strict, Silence: cmp.Or(c.Silence, -1), Wait: c.Wait,
		Alone: true, Events: lines.printEvent,
	}
	result, err := c.send(ctx, hosts, p, o, std)
	if closed := lines.close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("--log-dir: %w", closed))
	}
	if result == nil {
		return err
	}
	return c.finish(ctx, result, std, err)
}

// send sends to the named hosts, or to the receivers that come.
func (c *castCmd) send(ctx context.Context, hosts []string, p *cast.Payload, o cast.Options, std command.Stdio) (result *cast.Result, err error) {
	var programs *remote.Programs
	if len(hosts) > 0 && !c.Call {
		if programs, err = c.programs(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, programs.Close()) }()
	}
	l, err := c.listen(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if len(hosts) > 0 {
		result, err = cast.To(ctx, l, hosts, p, c.hostOptions(o, programs))
	} else {
		fmt.Fprintf(std.Err, "waiting at %v for %s\n", l.Addr(), c.expected())
		result, err = cast.Serve(ctx, l, c.Expect, p, o)
	}
	if result == nil && err != nil {
		return nil, command.Failed(err)
	}
	return result, err
}

// hostOptions returns the options of receivers on hosts.
func (c *castCmd) hostOptions(o cast.Options, programs *remote.Programs) cast.HostOptions {
	h := cast.HostOptions{Options: o, Programs: programs, SSH: c.ssh(), To: c.To, Exec: c.Exec, Then: c.Then, Delete: c.Delete}
	if c.Call {
		h.Call = cast.StandPort
	}
	return h
}

// ssh returns the configuration of ssh.
func (c *castCmd) ssh() remote.Config {
	return remote.Config{SSH: c.SSH, Connect: c.ConnectTimeout, Keep: c.Install}
}

// payload returns the files or the stream to send.
func (c *castCmd) payload(ctx context.Context, std command.Stdio) (*cast.Payload, error) {
	if c.What == "-" {
		return cast.FromReader(c.What, &patientReader{ctx: ctx, r: std.In}), nil
	}
	o, err := c.options(func(_ string, why error) { c.skipped(std, why) })
	if err != nil {
		return nil, err
	}
	return command.Await(ctx, func() (*cast.Payload, error) { return cast.FilesOf(ctx, c.files, o) })
}

// skipped prints that an entry is not sent.
func (c *castCmd) skipped(std command.Stdio, why error) {
	line := fmt.Sprintf("skipped: %v", why)
	if c.lines == nil { // nothing else prints at the same time
		fmt.Fprintln(std.Err, line)
		return
	}
	c.lines.warn(line)
}

// rehearse prints what would be sent, and to which hosts.
func (c *castCmd) rehearse(ctx context.Context, hosts []string, p *cast.Payload, std command.Stdio) (err error) {
	plan := &castPlan{What: p.Name, Totals: p.Totals, Receivers: max(c.Expect, len(hosts))}
	if len(hosts) > 0 && !c.Call {
		programs, err := c.programs()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, programs.Close()) }()
		began := time.Now()
		if plan.Hosts, err = cast.Rehearse(ctx, hosts, programs, c.ssh()); err != nil {
			return err
		}
		plan.Seconds = time.Since(began).Seconds()
	}
	if p.Origin != nil {
		plan.Skipped = int64(p.Origin.Skipped())
	}
	return plan.print(std, c.JSON)
}

// patientReader reads from a file that may block for long, such as a terminal. When ctx ends, Read
// returns, although the read of the file is still under way. The process is about to end.
type patientReader struct {
	ctx context.Context
	r   io.Reader
	buf []byte
}

func (p *patientReader) Read(b []byte) (int, error) {
	if len(p.buf) < len(b) {
		p.buf = make([]byte, len(b))
	}
	n, err := command.Await(p.ctx, func() (int, error) { return p.r.Read(p.buf[:len(b)]) })
	copy(b, p.buf[:n])
	return n, err
}

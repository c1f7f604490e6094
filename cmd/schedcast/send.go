package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
)

// sendCmd is the command itself, which sends files or a stream of this host to others.
type sendCmd struct {
	What string   // file or directory to send, or - for the standard input
	Host []string // further files, and hosts

	hostFlags
	fileFlags
	Serve, Resume, KeepGoing, Strict, DryRun, Checksum, JSON bool

	Expect        int
	Wait, Silence time.Duration
	Listen        string
	Limit         int64 // bytes a second; 0: no limit
	linkFlags
	keyFlag
	newsFlags

	files []string // files to send
	lines *printer // nil: the cast has not begun
}

// sendVerb returns the command itself.
func sendVerb() *verb {
	v := newVerb(syntax.Verb{
		Name: program, Arguments: " <what> [<host> ...] [flags]",
		Help: "Sends a file, a directory or a stream to many hosts at once, over one network.",
		Args: []*syntax.Value{
			{Name: "what", Help: "File or directory to send, or - for the standard input. FILE:DIR is short for FILE --to DIR.", Complete: "file"},
			{Name: "host", Many: true, Help: "Hosts, as ssh calls them: names, aliases, user@host; and further files, with a slash in their names.", Complete: "file"},
		},
	})
	v.brief, v.examples = sendBrief, "Examples:\n\n"+sendExamples
	v.Detail = sendBrief + "\n\n" + sendDetail + "\n\nTransports:\n\n" + terminal.Table(transports) + "\nExamples:\n\n" + sendExamples
	c := new(sendCmd)
	c.Silence = 10 * time.Second
	v.group("Hosts, and what they do")
	c.hostFlags.add(v)
	v.group("Files")
	c.fileFlags.add(v)
	v.add(yes(&c.Resume), syntax.Value{Name: "resume", Bool: true, Help: "Send to each receiver only the data that it lacks, compared with its files and with those of a cast that broke off. Receivers need --resume, too."})
	v.add(yes(&c.DryRun), syntax.Value{Name: "dry-run", Bool: true, Help: "Say what would be sent, and send nothing."})
	v.add(yes(&c.Checksum), syntax.Value{Name: "checksum", Bool: true, Help: "With --dry-run: compare files at each host, and say which data it lacks. With --update, compare only sizes and times.", Expert: true})
	v.group("Network")
	c.linkFlags.add(v)
	v.add(rate(&c.Limit), syntax.Value{Name: "limit", Placeholder: "N/s", Help: "Greatest rate in bytes a second, such as 200MiB/s; default no limit."})
	c.keyFlag.add(v)
	v.add(text(&c.Listen), syntax.Value{Name: "listen", Placeholder: "HOST:PORT", Help: "Address at which receivers reach this host. Default: all its addresses, at port 7717 with --serve, else at any free port.", Expert: true})
	v.group("Receivers that fail, or are started by hand")
	v.add(yes(&c.Strict), syntax.Value{Name: "strict", Bool: true, Help: "The first receiver that fails ends the cast for all."})
	v.add(yes(&c.KeepGoing), syntax.Value{Name: "keep-going", Bool: true, Help: "A receiver that fails does not stop the others; this is the default.", Expert: true})
	v.add(duration(&c.Silence), syntax.Value{Name: "silence", Placeholder: "TIME", Help: "A host that gives no sign of life for this time is lost; default 10s; 0: never. The others wait for it for 0.5s to 3s, and below 1 MB/s for the whole time. If it comes back in time, it gets the rest after them.", Expert: true})
	v.add(yes(&c.Serve), syntax.Value{Name: "serve", Bool: true, Help: "Wait for receivers that are started by hand; do not use ssh."})
	v.add(whole(&c.Expect), syntax.Value{Name: "expect", Placeholder: "N", Help: "With --serve: number of receivers to wait for. Without it, give --wait."})
	v.add(duration(&c.Wait), syntax.Value{Name: "wait", Placeholder: "TIME", Help: "Begin after this time with the receivers that have come. Default: wait for all hosts, or for --expect receivers.", Expert: true})
	v.group("Output")
	c.newsFlags.add(v)
	v.add(yes(&c.JSON), syntax.Value{Name: "json", Bool: true, Help: "Print an object."})
	v.advice = ofSSH
	v.do = func(ctx context.Context, std terminal.Stdio, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("a file, a directory or - is missing (see %s --help)", program)
		}
		c.What, c.Host = args[0], args[1:]
		return c.run(ctx, std)
	}
	return v
}

const sendBrief = `It uses multicast, or a chain of the receivers, so it takes about the time of one copy. It starts
receivers on the hosts by ssh, with your keys, aliases and jump hosts. Nothing need be installed there.`

const sendDetail = `The first host that does not have the program gets a copy from here, and passes it on to the others.
A host removes its copy when the program ends, unless --install is given. Each cast has a random key,
which goes through ssh, so nobody else can join the cast or read the data. When the sender ends, also by
Ctrl-C, all receivers end, and no part of a file is left. A host that cannot be reached, dies or has a
full disk does not stop the others. The result names it, and the exit code is 1. A host that is much
slower than the others is served after them.

With --serve, the cast waits for receivers that you start by "schedcast receive". It begins when --expect
receivers have come, or after --wait with those that have come. Use --key-file: without a key, anybody who
reaches the address can join.

A directory is sent under its name, with everything below it. If its name ends with a slash, as in DIR/,
its entries are sent without the directory. To send several files and directories, put a slash into all
names after the first, such as ./b, or name the hosts by -w or --hosts. Also put one into the name of a
file that is called as a verb, such as ./receive. Permissions, times, symbolic links
and holes are kept. An entry that cannot be sent is skipped, such as a socket, an unreadable file, or a
link that leads out of DIR. So is a file that vanishes, or changes twice while it is read. A line names
each skipped entry, and the exit code is 1. A file appears at a host when it is complete, its SHA-256 is
right and the disk has it. A stream goes to the command of --exec. The output of the command comes back,
with the name of the host in front.

Hosts that come during the cast are served after the others. They must get the same files, and fail if
these have changed since. With --resume, a host gets only the data that it lacks: not those of existing
files, or of a cast that broke off. Start receivers that come by themselves with --resume, too.

Hosts must let through TCP connections to one port, that of --listen.`

const sendExamples = `  schedcast model.bin node01 node02 node03 --to /data/models
  schedcast -w 'node[01-40]' model.bin:/data/models
  schedcast DIR/ -w 'node[01-40],@gpu' -x node07 --to /data
  schedcast app.tar --hosts hosts.txt --to /opt --then 'tar xf app.tar'
  schedcast ./app ./conf -w 'web[1-9]' --to /srv --update \
    --delete 100 --exclude '*.log'
  tar c . | schedcast - node01 node02 --exec 'tar x -C /data'
  schedcast --serve model.bin --expect 40 --key-file key
  schedcast model.bin -w 'node[01-40]' --call --key-file key`

// ofSSH explains options of ssh, which people give to a program that calls ssh.
func ofSSH(flag string) string {
	if len(flag) == 2 && strings.Contains("pilFJo", flag[1:]) {
		return fmt.Sprintf("if it is an option of ssh, write --ssh 'ssh %s …'", flag)
	}
	return ""
}

// check checks the flags, and returns the hosts.
func (c *sendCmd) check(in io.Reader) ([]string, error) {
	if c.What == "-" && c.Hosts == "-" {
		return nil, errors.New("--hosts=-: the standard input is already sent as the stream")
	}
	files, named, err := c.sources()
	if err != nil {
		return nil, err
	}
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
		err = c.hostFlags.check(c.What == "-")
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
		err = c.fileFlags.check(c.What == "-")
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
	return hosts, errors.Join(c.linkFlags.check(), c.newsFlags.check())
}

// expected describes the receivers for which a sender without ssh waits.
func (c *sendCmd) expected() string {
	if c.Expect == 0 {
		return fmt.Sprintf("receivers that come within %v", c.Wait)
	}
	return words.Count(int64(c.Expect), "receiver", "receivers")
}

// run sends, and prints the result.
func (c *sendCmd) run(ctx context.Context, std terminal.Stdio) error {
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
	lines, err := newPrinter(std, c.JSON, c.newsFlags)
	if err != nil {
		return err
	}
	c.lines = lines
	o := cast.Options{
		Link: c.link(key), Limit: float64(c.Limit), Resume: c.Resume || c.Update || c.Checksum, Compare: c.Checksum,
		Compress: c.compress(), Strict: c.Strict, Silence: cmp.Or(c.Silence, -1), Wait: c.Wait,
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
func (c *sendCmd) send(ctx context.Context, hosts []string, p *cast.Payload, o cast.Options, std terminal.Stdio) (result *cast.Result, err error) {
	var programs *remote.Programs
	if len(hosts) > 0 && !c.Call {
		if programs, err = programsOfHosts(); err != nil {
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
		return nil, terminal.Failed(err)
	}
	return result, err
}

// hostOptions returns the options of receivers on hosts.
func (c *sendCmd) hostOptions(o cast.Options, programs *remote.Programs) cast.HostOptions {
	h := cast.HostOptions{Options: o, Programs: programs, SSH: c.ssh(), To: c.To, Exec: c.Exec, Then: c.Then, Delete: c.Delete}
	if c.Call {
		h.Call = cast.StandPort
	}
	return h
}

// ssh returns the configuration of ssh.
func (c *sendCmd) ssh() remote.Config {
	return remote.Config{SSH: c.SSH, Connect: c.ConnectTimeout, Keep: c.Install}
}

// payload returns the files or the stream to send.
func (c *sendCmd) payload(ctx context.Context, std terminal.Stdio) (*cast.Payload, error) {
	if c.What == "-" {
		return cast.FromReader(c.What, &patientReader{ctx: ctx, r: std.In}), nil
	}
	o, err := c.options(func(_ string, why error) { c.skipped(std, why) })
	if err != nil {
		return nil, err
	}
	return terminal.Await(ctx, func() (*cast.Payload, error) { return cast.FilesOf(ctx, c.files, o) })
}

// skipped prints that an entry is not sent.
func (c *sendCmd) skipped(std terminal.Stdio, why error) {
	line := fmt.Sprintf("skipped: %v", why)
	if c.lines == nil { // nothing else prints at the same time
		fmt.Fprintln(std.Err, line)
		return
	}
	c.lines.warn(line)
}

// rehearse prints what would be sent, and to which hosts.
func (c *sendCmd) rehearse(ctx context.Context, hosts []string, p *cast.Payload, std terminal.Stdio) (err error) {
	plan := &plan{What: p.Name, Totals: p.Totals, Receivers: max(c.Expect, len(hosts))}
	if len(hosts) > 0 && !c.Call {
		programs, err := programsOfHosts()
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
	n, err := terminal.Await(p.ctx, func() (int, error) { return p.r.Read(p.buf[:len(b)]) })
	copy(b, p.buf[:n])
	return n, err
}

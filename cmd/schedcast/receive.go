package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
)

// receiveCmd is the verb receive, which receives a cast from another host.
type receiveCmd struct {
	From, Listen, To, Exec, Then, Name, Interface string

	Resume, JSON bool
	Port         uint16
	acceptFlags
	keyFlag
	newsFlags
}

// receiveVerb returns the verb receive.
func receiveVerb() *verb {
	v := newVerb(syntax.Verb{Name: "receive", Arguments: " [flags]", Help: "Receive a cast from another host.", Detail: receiveDetail + "\n\nExamples:\n\n" + receiveExamples})
	v.brief, v.examples = receiveBrief, "Examples:\n\n"+receiveExamples
	c := new(receiveCmd)
	v.group("Flags")
	v.add(text(&c.From), syntax.Value{Name: "from", Placeholder: "HOST:PORT", Help: "Address of the sender."})
	v.add(text(&c.Listen), syntax.Value{Name: "listen", Placeholder: "HOST:PORT", Help: "Wait for calls at this address (schedcast --call), and receive one cast after the other, up to four at once. Senders call port 7718 by default. The word systemd means the socket that systemd passes."})
	v.add(text(&c.To), syntax.Value{Name: "to", Placeholder: "DIR", Help: "Directory for the files; it is created if it does not exist. With --exec, working directory of the command.", Complete: "directory"})
	v.add(text(&c.Exec), syntax.Value{Name: "exec", Placeholder: "COMMAND", Help: "Shell command that reads the stream of a cast from its standard input."})
	v.add(text(&c.Then), syntax.Value{Name: "then", Placeholder: "COMMAND", Help: "Shell command that runs in DIR when all files are there."})
	c.keyFlag.add(v)
	v.add(yes(&c.Resume), syntax.Value{Name: "resume", Bool: true, Help: "If the sender resumes, receive only the data that this host lacks. Keep the received data if the cast breaks off."})
	v.add(text(&c.Name), syntax.Value{Name: "name", Placeholder: "NAME", Help: "Name of this host at the sender; default its host name.", Expert: true})
	v.add(text(&c.Interface), syntax.Value{Name: "interface", Placeholder: "NAME", Help: "Network interface of multicasts; default the one that reaches the sender.", Complete: "interface", Expert: true})
	v.add(port(&c.Port), syntax.Value{Name: "port", Placeholder: "PORT", Help: "Port at which other receivers reach this host; default that of the sender, or a free port if it is taken.", Expert: true})
	v.group("What it accepts")
	c.acceptFlags.add(v)
	v.group("Output")
	c.newsFlags.add(v)
	v.add(yes(&c.JSON), syntax.Value{Name: "json", Bool: true, Help: "Print one object."})
	v.do = func(ctx context.Context, std terminal.Stdio, _ []string) error { return c.run(ctx, std) }
	return v
}

const receiveBrief = `It waits until all receivers of the cast have come, and writes only below DIR.`

const receiveDetail = `Receives a cast of "schedcast" together with other receivers. It may be started before the
sender, and waits until all receivers have come. After two seconds, and then at growing intervals, it
prints what it waits for.

It writes files only below DIR: it refuses names that lead elsewhere, and symbolic links that do, unless
--links is given. Owners, setuid, access lists, extended attributes and deletion are refused, too, unless
their flags are given. It writes
each file under a temporary name that begins with ` + unpack.TempPrefix + `, checks its SHA-256, syncs it
to the disk and renames it. So a file is whole or absent. An existing file is replaced. If this host
cannot continue, it prints why, and the other receivers continue.

With --resume, data that were received before a cast broke off are kept. The next cast does not send
them again, nor files that this host already has.

--exec receives a stream. If the stream breaks off, the command is killed.`

const receiveExamples = `  schedcast receive --from 10.77.0.1:7717 --to /data/models --key-file key
  schedcast receive --from 10.77.0.1:7717 --to /data --exec ./load.sh
  schedcast receive --listen :7718 --to /data/models --key-file key`

func (c *receiveCmd) check() (err error) {
	switch {
	case c.To == "" && c.Exec == "":
		return errors.New("--to or --exec: needed")
	case c.Resume && c.Exec != "":
		return errors.New("--resume: not with --exec, because a stream is not kept")
	case len(c.Name) > lobby.MaxName:
		return fmt.Errorf("--name: has %d bytes; at most %d are allowed", len(c.Name), lobby.MaxName)
	}
	switch {
	case c.From == "" && c.Listen == "":
		return errors.New("--from or --listen: needed")
	case c.From != "" && c.Listen != "":
		return errors.New("--from and --listen: give only one of them")
	case c.Listen != "" && c.Name != "":
		return errors.New("--name: with --listen, the caller names the host")
	case c.Then != "" && (c.Exec != "" || c.To == ""):
		return errors.New("--then: needs files and --to")
	}
	if _, _, err := net.SplitHostPort(c.From); err != nil && c.Listen == "" {
		return fmt.Errorf("--from=%s: must be HOST:PORT, such as 10.77.0.1:7717: %w", c.From, err)
	}
	if c.Interface != "" {
		err = checkInterface(c.Interface)
	}
	return errors.Join(err, c.newsFlags.check())
}

// run receives a cast, and prints the totals of the data received.
func (c *receiveCmd) run(ctx context.Context, std terminal.Stdio) error {
	if err := c.check(); err != nil {
		return err
	}
	key, err := c.key(std.Getenv)
	if err != nil {
		return err
	}
	lines, err := newPrinter(std, c.JSON, c.newsFlags)
	if err != nil {
		return err
	}
	o := cast.JoinOptions{
		From: c.From, Link: cast.Link{Interface: c.Interface, Key: key}, To: c.To, Exec: c.Exec, Then: c.Then, Name: c.Name, Resume: c.Resume, Accept: c.accept(), Delete: c.Delete,
		Port: c.Port, Stdout: std.Out, Stderr: std.Err, Alone: true, Events: lines.printEvent,
	}
	if c.Listen != "" {
		return errors.Join(c.stand(ctx, o, std), lines.close())
	}
	totals, err := cast.ReceiveFrom(ctx, o)
	if err = errors.Join(err, lines.close()); err != nil {
		return terminal.Failed(err)
	}
	if c.Quiet {
		return nil
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Entries int64 `json:"entries"`
			Bytes   int64 `json:"bytes"`
		}{totals.Entries, totals.Bytes}, "")
	}
	_, err = fmt.Fprintf(std.Out, "received %s, %s\n", words.Count(totals.Entries, "entry", "entries"), words.Bytes(float64(totals.Bytes)))
	return err
}

// stand receives the casts of all callers, several at a time, until ctx ends.
func (c *receiveCmd) stand(ctx context.Context, o cast.JoinOptions, std terminal.Stdio) error {
	l, err := c.listen(ctx, std.Getenv)
	if err != nil {
		return fmt.Errorf("--listen=%s: %w", c.Listen, err)
	}
	defer l.Close()
	fmt.Fprintf(std.Err, "waiting at %v for calls\n", l.Addr())
	if err := cast.Stand(ctx, l, o); ctx.Err() == nil {
		return terminal.Failed(err)
	}
	return ctx.Err()
}

// systemdSocket is the descriptor of the first socket that systemd passes.
const systemdSocket = 3

// listen listens for calls.
func (c *receiveCmd) listen(ctx context.Context, getenv func(string) string) (net.Listener, error) {
	if c.Listen != "systemd" {
		var lc net.ListenConfig
		return lc.Listen(ctx, "tcp", c.Listen)
	}
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || getenv("LISTEN_FDS") != "1" {
		return nil, errors.New("systemd has not passed one socket (LISTEN_FDS)")
	}
	f := os.NewFile(systemdSocket, "systemd")
	defer f.Close()
	return net.FileListener(f)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/unpack"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/meet/lobby"
)

// receiveCmd is the verb receive, which receives a cast from another host.
type receiveCmd struct {
	From      string `placeholder:"HOST:PORT" help:"Address of the sender."`
	Listen    string `placeholder:"HOST:PORT" help:"Wait for calls at this address (schedgen cast --call), and receive one cast after the other, up to four at once. Senders call port 7718 by default. The word systemd means the socket that systemd passes."`
	To        string `placeholder:"DIR" complete:"directory" help:"Directory for the files; it is created if it does not exist. With --exec, working directory of the command."`
	Exec      string `placeholder:"COMMAND" help:"Shell command that reads the stream of a cast from its standard input."`
	Then      string `placeholder:"COMMAND" help:"Shell command that runs in DIR when all files are there."`
	Name      string `placeholder:"NAME" help:"Name of this host at the sender; default its host name."`
	Interface string `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts; default the one that reaches the sender."`
	Resume    bool   `help:"If the sender resumes, receive only the data that this host lacks. Keep the received data if the cast breaks off."`
	Port      uint16 `placeholder:"PORT" help:"Port at which other receivers reach this host; default that of the sender, or a free port if it is taken."`
	JSON      bool   `name:"json" help:"Print one object."`
	receiveAccept
	castKey
	castNews
}

// Help is the long help text.
func (receiveCmd) Help() string {
	return `Receives a cast of "schedgen cast" together with other receivers. It may be started before the
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

--exec receives a stream. If the stream breaks off, the command is killed.

Examples:

  schedgen receive --from 10.77.0.1:7717 --to /data/models --key-file key
  schedgen receive --from 10.77.0.1:7717 --to /data --exec ./load.sh
  schedgen receive --listen :7718 --to /data/models --key-file key`
}

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
		c.Interface, err = interfaceName(c.Interface)
	}
	return errors.Join(err, c.castNews.check())
}

// Run receives a cast, and prints the totals of the data received.
func (c *receiveCmd) Run(ctx context.Context, std command.Stdio) error {
	if err := c.check(); err != nil {
		return err
	}
	key, err := c.key(std.Getenv)
	if err != nil {
		return err
	}
	lines, err := newCastLines(std, c.JSON, c.castNews)
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
		return command.Failed(err)
	}
	if c.Quiet {
		return nil
	}
	if c.JSON {
		return command.WriteJSON(std.Out, struct {
			Entries int64 `json:"entries"`
			Bytes   int64 `json:"bytes"`
		}{totals.Entries, totals.Bytes}, "")
	}
	_, err = fmt.Fprintf(std.Out, "received %s, %s\n", words.Count(totals.Entries, "entry", "entries"), words.Bytes(float64(totals.Bytes)))
	return err
}

// stand receives the casts of all callers, several at a time, until ctx ends.
func (c *receiveCmd) stand(ctx context.Context, o cast.JoinOptions, std command.Stdio) error {
	l, err := c.listen(ctx, std.Getenv)
	if err != nil {
		return fmt.Errorf("--listen=%s: %w", c.Listen, err)
	}
	defer l.Close()
	fmt.Fprintf(std.Err, "waiting at %v for calls\n", l.Addr())
	if err := cast.Stand(ctx, l, o); ctx.Err() == nil {
		return command.Failed(err)
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

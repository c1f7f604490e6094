package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/unpack"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/lobby"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// receiveCmd is the verb receive, which receives a cast from another host.
type receiveCmd struct {
	From      string `required:"" placeholder:"HOST:PORT" help:"Address of the sender."`
	To        string `placeholder:"DIR" complete:"directory" help:"Directory for the files; it is created if it does not exist. With --exec, working directory of the command."`
	Exec      string `placeholder:"COMMAND" help:"Shell command that reads the stream of a cast from its standard input."`
	Name      string `placeholder:"NAME" help:"Name of this host at the sender; default its host name."`
	Interface string `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts; default the one that reaches the sender."`
	Resume    bool   `help:"If the sender resumes, receive only the data that this host lacks. Keep the received data if the cast breaks off."`
	Port      uint16 `placeholder:"PORT" help:"Port at which other receivers reach this host; default that of the sender, or a free port if it is taken."`
	JSON      bool   `name:"json" help:"Print one object."`
	castKey

	told bool         // the user has been told that the port is taken
	held *unpack.Held // the data that this host has; nil before the comparison
}

// Help is the long help text.
func (receiveCmd) Help() string {
	return `Receives a cast of "schedgen cast" together with other receivers. It may be started before the
sender, and waits until all receivers have come. After two seconds, and then at growing intervals, it
prints what it waits for.

It writes files only below DIR: it refuses names and symbolic links that lead elsewhere. It writes
each file under a temporary name that begins with ` + unpack.TempPrefix + `, checks its SHA-256, syncs it
to the disk and renames it. So a file is whole or absent. An existing file is replaced. If this host
cannot continue, it prints why, and the other receivers continue.

With --resume, data that were received before a cast broke off are kept. The next cast does not send
them again, nor files that this host already has.

--exec receives a stream. If the stream breaks off, the command is killed.

Examples:

  schedgen receive --from 10.77.0.1:7717 --to /data/models --key-file key
  schedgen receive --from 10.77.0.1:7717 --to /data --exec ./load.sh`
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
	if _, _, err := net.SplitHostPort(c.From); err != nil {
		return fmt.Errorf("--from=%s: must be HOST:PORT, such as 10.77.0.1:7717: %w", c.From, err)
	}
	if c.Interface != "" {
		c.Interface, err = interfaceName(c.Interface)
	}
	if c.Name == "" {
		c.Name = hostName()
	}
	return err
}

// Run receives a cast and prints how much was received.
func (c *receiveCmd) Run(ctx context.Context, std stdio) error {
	if err := c.check(); err != nil {
		return err
	}
	key, err := c.secret(std.Getenv)
	if err != nil {
		return err
	}
	totals, err := c.run(ctx, key, std)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(std.Out, struct {
			Entries int64 `json:"entries"`
			Bytes   int64 `json:"bytes"`
		}{totals.Entries, totals.Bytes}, "")
	}
	_, err = fmt.Fprintf(std.Out, "received %s, %s\n", plural(totals.Entries, "entry", "entries"), about(float64(totals.Bytes)))
	return err
}

// run receives the cast into the directory or command of the flags, and returns how much was
// received.
func (c *receiveCmd) run(ctx context.Context, key secret, std stdio) (totals unpack.Totals, err error) {
	sink, err := c.sink(std, &totals)
	if err != nil {
		return totals, err
	}
	err = c.receive(ctx, key, sink, std)
	if err = errors.Join(err, sink.stop(), sink.close()); err != nil {
		return totals, failed(causeOf(ctx, err))
	}
	return totals, nil
}

// receive enters the sender's lobby and takes part in rounds. If the hosts of a round cannot
// connect, they meet again without those that have gone. A host that resumes first takes part in a
// survey, which compares its files, and then in the round that sends the missing data. A host that
// was left out of a round because it was slow, or that was parted from the sender, enters again and
// continues where it stopped.
func (c *receiveCmd) receive(ctx context.Context, key secret, sink *receiveSink, std stdio) error {
	to, err := filepath.Abs(c.To)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	var news *senderNews
	wait := func() (stop func()) {
		news = &senderNews{at: c.From}
		return waitingFor(func(line string) { fmt.Fprintln(std.Err, line) }, news.words)
	}
	stop := wait()
	word := newCastWord(c.Name, hostName(), to, c.Exec)
	word.Mute, word.Resume = c.mute(ctx, key), c.Resume
	var parted error
	for meetings := 1; ; meetings, stop = meetings+1, wait() {
		word.Stream, word.Have = sink.has()
		seat, err := c.enter(ctx, key, &word, news, parted)
		stop()
		if err != nil {
			return err
		}
		note, err := noteOf(seat.Note)
		if err != nil {
			seat.Leave()
			return err
		}
		comm, err := c.meet(ctx, seat, note, key, std)
		if err != nil {
			if ctx.Err() != nil || meetings == mostMeetings {
				return err
			}
			continue
		}
		err = c.take(ctx, comm, sink, note, std)
		parted, meetings = partedBy(err), 0
		switch {
		case ctx.Err() != nil:
			return err
		case parted != nil, errors.Is(err, cast.ErrSlow):
			c.comeAgain(err, sink, std)
		case err != nil, !note.Survey:
			return err
		}
	}
}

// comeAgain prepares this host to enter again after a round that ended with err, and prints so.
func (c *receiveCmd) comeAgain(err error, sink *receiveSink, std stdio) {
	c.held = nil
	if errors.Is(err, cast.ErrParted) {
		err = cast.ErrParted // without the details
	}
	_, have := sink.has()
	fmt.Fprintf(std.Err, "%v: this host enters again; it has %s of the data\n", err, about(float64(have)))
}

// partedBy returns err if it says that this host and the sender could not reach each other, and nil
// otherwise.
func partedBy(err error) error {
	if errors.Is(err, cast.ErrParted) {
		return err
	}
	return nil
}

// returning is the time for which a host that was parted from the sender tries to reach it again.
const returning = 10 * time.Second

// enter enters the sender's lobby and waits for a place. parted is the error by which this host was
// parted from the sender, or nil. If parted is not nil, enter waits only briefly for the sender: it
// was there before, and may have ended.
func (c *receiveCmd) enter(ctx context.Context, key secret, word *castWord, news *senderNews, parted error) (*lobby.Seat, error) {
	cfg := key.lobby()
	cfg.News = news.note
	if parted != nil {
		cfg.Patience = returning
	}
	seat, err := lobby.Enter(ctx, c.From, lobby.Guest{Name: c.Name, Word: word.spell()}, cfg)
	var refused *lobby.Refusal
	switch {
	case err == nil || parted == nil || ctx.Err() != nil:
		return seat, err
	case errors.As(err, &refused):
		return nil, fmt.Errorf("%w; %w", parted, refused)
	}
	return nil, parted
}

// take takes part in a round: a survey or a transfer.
func (c *receiveCmd) take(ctx context.Context, comm *runtime.Comm, sink *receiveSink, note castNote, std stdio) error {
	o, doing := cast.ReceiveOptions{From: note.From, Answer: sink.digest}, "receive"
	if note.Survey {
		o.Answer, doing = c.lacked, "compare"
	}
	bar := newCastProgress(std, -1, doing+" by "+wayOf(note.Transport), nil)
	defer bar.clear()
	o.Progress = saveMemory(std.Getenv, bar.show)
	return sink.take(ctx, comm, note, o)
}

// lacked tells the sender what this host lacks.
func (c *receiveCmd) lacked() []byte { return c.held.Lacked().Text() }

// meet connects this host with the others of its round.
func (c *receiveCmd) meet(ctx context.Context, seat *lobby.Seat, note castNote, key secret, std stdio) (*runtime.Comm, error) {
	defer seat.Leave()
	l, err := c.listen(ctx, seat.Here, std)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	comm, err := (&castLink{Interface: c.Interface}).join(ctx, note, &seat.Place, key, tcp.Config{Coordinator: c.From, Listener: l, Share: true})
	if err == nil {
		seat.Met()
	}
	return comm, err
}

// listen listens for other receivers at the address by which this host reached the sender. It takes
// the port of --port, or else the sender's port, so that a firewall needs to open only that one.
func (c *receiveCmd) listen(ctx context.Context, here net.Addr, std stdio) (net.Listener, error) {
	_, port, err := net.SplitHostPort(c.From)
	if err != nil {
		return nil, err
	}
	if c.Port != 0 {
		port = strconv.Itoa(int(c.Port))
	}
	host, _, err := net.SplitHostPort(here.String())
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0")); err == nil && !c.told {
		c.told = true
		fmt.Fprintf(std.Err, "port %s is taken on this host; other receivers reach it at %v\n", port, l.Addr())
	}
	return l, err
}

// mute returns the reason why this host cannot multicast, or "" if it can.
func (c *receiveCmd) mute(ctx context.Context, key secret) string {
	here, err := localAddress(ctx, c.From)
	if err == nil {
		err = (&castLink{Interface: c.Interface}).multicasts(ctx, here, key)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// localAddress returns the address from which this host reaches the address to. It sends nothing.
func localAddress(ctx context.Context, to string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", to)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.LocalAddr().String(), nil
}

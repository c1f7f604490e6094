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

// receiveCmd is the verb receive: this host gets what another one casts.
type receiveCmd struct {
	From      string `required:"" placeholder:"HOST:PORT" help:"Address of the sender."`
	To        string `placeholder:"DIR" complete:"directory" help:"Directory that files are written to; it is made if it is not there. With --exec, where the command runs."`
	Exec      string `placeholder:"COMMAND" help:"Shell command that gets the stream of a cast from standard input."`
	Name      string `placeholder:"NAME" help:"What the sender calls this host; default its own name."`
	Interface string `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts; default the one by which the sender is reached."`
	Resume    bool   `help:"Take over what is there already, if the sender resumes, and keep what has come if the cast breaks off."`
	Port      uint16 `placeholder:"PORT" help:"Port at which other receivers reach this host; default that of the sender. Another one if it is taken."`
	JSON      bool   `name:"json" help:"Print an object."`
	castKey

	told bool         // that the port is taken
	held *unpack.Held // what is there; nil before it was compared
}

// Help is the long help text.
func (receiveCmd) Help() string {
	return `Receives what "schedgen cast" sends, with others that do the same. It may be started before the
sender, and waits until all have come. After two seconds, and again at growing intervals, it says what
it waits for.

Files are written below DIR and never outside of it: names that lead elsewhere, and symbolic links that
do, are refused. A file is written beside its place, under a name that begins with
` + unpack.TempPrefix + `, checked by its SHA-256, given to the disk and renamed, so that it is whole or
absent; one that is there is replaced. If this host cannot go on it says why, and the others do.

With --resume what has come stays if the cast breaks off, and counts when it is cast again, as does a
file that is there.

A stream goes to --exec; the command is killed if not all of it comes.

Examples:

  schedgen receive --from 10.77.0.1:7717 --to /data/models --key-file key
  schedgen receive --from 10.77.0.1:7717 --to /data --exec ./load.sh`
}

func (c *receiveCmd) check() (err error) {
	switch {
	case c.To == "" && c.Exec == "":
		return errors.New("--to or --exec: needed")
	case c.Resume && c.Exec != "":
		return errors.New("--resume: of a stream nothing is kept")
	case len(c.Name) > lobby.MaxName:
		return fmt.Errorf("--name: %d bytes, at most %d are allowed", len(c.Name), lobby.MaxName)
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

// Run receives.
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

// run receives to where it is to go, and returns how much that was.
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

// receive comes to the sender and takes part. A party that has not met comes together again, without those that
// have gone. One that resumes compares first what it has, and comes again for what it lacks; so does one that is left out
// since it is slow, or that was parted from the sender: it goes on where it has stopped.
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

// comeAgain has this host come again behind a round that has ended so, and says it.
func (c *receiveCmd) comeAgain(err error, sink *receiveSink, std stdio) {
	c.held = nil
	if errors.Is(err, cast.ErrParted) {
		err = cast.ErrParted // in short
	}
	_, have := sink.has()
	fmt.Fprintf(std.Err, "%v: this host comes again, and has %s of what is sent\n", err, about(float64(have)))
}

// partedBy returns err if it is that this host and the sender have not reached each other: then it comes again.
func partedBy(err error) error {
	if errors.Is(err, cast.ErrParted) {
		return err
	}
	return nil
}

// returning is how long a host that was parted from the sender tries to reach it again.
const returning = 10 * time.Second

// enter comes to the sender, and waits for a place. After parted, which is not nil then, the sender is there, or not any more.
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

// take takes part in a round.
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

// meet connects this host with the others.
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

// listen opens where other receivers reach this host, at the address by which it has reached the sender: at the
// sender's port, or --port, so that a firewall need not let more through.
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
		fmt.Fprintf(std.Err, "port %s is taken on this host: others reach it at %v\n", port, l.Addr())
	}
	return l, err
}

// mute says why this host cannot multicast; it is empty if it can.
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

// localAddress returns the address of this host by which it reaches another, to which nothing is sent.
func localAddress(ctx context.Context, to string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", to)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.LocalAddr().String(), nil
}

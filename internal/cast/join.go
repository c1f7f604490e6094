package cast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// JoinOptions say how a receiver on a host works. The zero value of a field means its default.
type JoinOptions struct {
	Link                  // Transport is the sender's choice
	From    string        // "host:port" of the sender
	To      string        // directory for files, which is created; with Exec, directory of the command
	Exec    string        // shell command that reads a stream from its standard input; default none
	Then    string        // shell command that runs in directory To when all files are there; default none
	Name    string        // name of this host at the sender; default HostName
	Resume  bool          // receive only the data that this host lacks, and keep data if the cast breaks off
	Accept  unpack.Accept // what the host accepts beside names, contents, permissions and times
	Compare bool          // compare only: the directory is not created
	Delete  int           // greatest number of entries that the sender may delete; default 0; more is an error
	Port    uint16        // TCP port for other receivers; default the sender's, or a free one if it is taken
	Stdout  io.Writer     // gets the standard output of commands; default discarded
	Stderr  io.Writer     // gets their standard error; default discarded
	Alone   bool          // as in Options
	Events  func(Event)

	meeting func() // called before the host listens for others
}

// joiner is a receiver on a host.
type joiner struct {
	JoinOptions
	events *events
	told   bool         // the user has been told that the port is taken
	held   *unpack.Held // the data that this host has; nil before the comparison
}

// ReceiveFrom receives a cast from the sender at o.From, together with other receivers. It waits
// for the sender until ctx ends, and returns the totals of the data received.
func ReceiveFrom(ctx context.Context, o JoinOptions) (totals unpack.Totals, err error) {
	if o.Name == "" {
		o.Name = HostName()
	}
	if o.To, err = unpack.Home(o.To); err != nil {
		return totals, fmt.Errorf("--to: %w", err)
	}
	c := &joiner{JoinOptions: o, events: newEvents(o.Events)}
	sink, err := c.sink(&totals)
	if err != nil {
		return totals, err
	}
	err = c.receive(ctx, sink)
	if err = errors.Join(err, sink.stop(), sink.close()); err != nil {
		err = withCause(ctx, err)
		return totals, &spelledError{named(withoutDetails(err), nameAtReceiver), err}
	}
	return totals, withCause(ctx, c.then(ctx))
}

// receive receives everything. If this host has everything but cannot tell the sender so, because
// the sender is gone, receive reports this and returns nil.
func (c *joiner) receive(ctx context.Context, sink *joinSink) error {
	err := c.takePart(ctx, sink)
	if err == nil || !sink.whole {
		return err
	}
	c.events.notice("", "this host has everything, but the sender may not know it: "+named(withoutDetails(err), nameAtReceiver))
	return nil
}

// takePart enters the sender's lobby and takes part in rounds. If the hosts of a round cannot
// connect, the remaining hosts meet again without the lost ones. A host that resumes first takes
// part in a survey, which compares its files, and then in the round that sends the missing data. A
// host that was left out of a round because it was slow, or that was parted from the sender, enters
// again and continues where it stopped. If it has everything by then, the next round tells the
// sender so.
func (c *joiner) takePart(ctx context.Context, sink *joinSink) error {
	to, err := filepath.Abs(c.To)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	var news *senderNews
	wait := func() (stop func()) {
		news = &senderNews{at: c.From}
		return waitingFor(func(line string) { c.events.notice("", line) }, news.describe)
	}
	stop := wait()
	word := newGuestWord(c.Name, HostName(), to, c.Exec)
	word.Mute, word.Resume = c.mute(ctx), c.Resume
	var parted error
	for meetings := 1; ; meetings, stop = meetings+1, wait() {
		word.Stream, word.Have = sink.has()
		seat, err := c.enter(ctx, &word, news, parted)
		stop()
		if err != nil {
			return err
		}
		note, err := noteOf(seat.Note)
		if err != nil {
			seat.Leave()
			return err
		}
		comm, err := c.meet(ctx, seat, note)
		if err != nil {
			if ctx.Err() != nil || meetings == mostMeetings {
				return err
			}
			continue
		}
		err = c.take(ctx, comm, sink, note)
		parted, meetings = partedBy(err), 0
		switch {
		case ctx.Err() != nil:
			return err
		case parted != nil, errors.Is(err, ErrSlow):
			c.comeAgain(err, sink)
		case err != nil, !note.Survey:
			return err
		}
	}
}

// comeAgain prepares this host to enter again after a round that ended with err, and reports it.
func (c *joiner) comeAgain(err error, sink *joinSink) {
	c.held = nil
	if errors.Is(err, ErrParted) {
		err = ErrParted // without the details
	}
	again := "its files are compared first"
	if stream, have := sink.has(); sink.whole {
		again = "it has everything, but the sender may not know it"
	} else if stream != "" || !c.Resume {
		again = fmt.Sprintf("it has %s of the data", words.Bytes(float64(have)))
	}
	c.events.notice("", fmt.Sprintf("%v: this host enters again; %s", err, again))
}

// partedBy returns err if it wraps ErrParted, and nil otherwise.
func partedBy(err error) error {
	if errors.Is(err, ErrParted) {
		return err
	}
	return nil
}

// returning is how long a host that was parted from the sender tries to reach it again.
const returning = 10 * time.Second

// enter enters the sender's lobby and waits for a place. parted is the error by which this host was
// parted from the sender, or nil. After such an error, enter tries for the time returning only,
// because the sender may have ended.
func (c *joiner) enter(ctx context.Context, word *guestWord, news *senderNews, parted error) (*lobby.Seat, error) {
	cfg := c.lobby()
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
		return nil, &spelledError{fmt.Sprintf("%v; %v", ErrParted, refused), errors.Join(parted, refused)}
	}
	return nil, &spelledError{"the sender is gone, or cannot be reached any more", parted}
}

// take takes part in a round: a survey or a transfer.
func (c *joiner) take(ctx context.Context, comm *runtime.Comm, sink *joinSink, note roundNote) error {
	o, doing := ReceiveOptions{From: note.From, Answer: sink.digest}, "receive"
	if note.Survey {
		o.Answer, doing = c.lacked, "compare"
	}
	c.events.emit(Event{Kind: RoundBegins, Text: doing + " by " + WayOf(note.Transport), Total: -1})
	defer c.events.emit(Event{Kind: RoundEnds})
	o.Progress = saveMemory(c.Alone, func(at Progress) { c.events.emit(Event{Kind: RoundProgress, Progress: at}) })
	return sink.take(ctx, comm, note, o)
}

// lacked returns the answer that tells the sender which blocks this host lacks.
func (c *joiner) lacked() []byte { return c.held.Lacked().Text() }

// meet connects this host with the other hosts of its round.
func (c *joiner) meet(ctx context.Context, seat *lobby.Seat, note roundNote) (*runtime.Comm, error) {
	defer seat.Leave()
	if c.meeting != nil {
		c.meeting()
	}
	l, err := c.listen(ctx, seat.Here)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	comm, err := c.join(ctx, note, &seat.Place, tcp.Config{Coordinator: c.From, Listener: l, Share: true})
	if err == nil {
		seat.Met()
	}
	return comm, err
}

// listen listens for other receivers at the address by which this host reached the sender. It takes
// the port of --port, or else the sender's port, so that a firewall needs to open only that one.
func (c *joiner) listen(ctx context.Context, here net.Addr) (net.Listener, error) {
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
		c.events.notice("", fmt.Sprintf("port %s is taken on this host; other receivers reach it at %v", port, l.Addr()))
	}
	return l, err
}

// mute returns the reason why this host cannot multicast, or "" if it can.
func (c *joiner) mute(ctx context.Context) string {
	here, err := localAddress(ctx, c.From)
	if err == nil {
		err = c.multicasts(ctx, here)
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

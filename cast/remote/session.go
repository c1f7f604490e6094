package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says how hosts are reached. The zero value of a field stands for its default.
type Config struct {
	Connect  time.Duration     // how long ssh may take to connect, in whole seconds; default 15 s
	SSH      string            // the client and its options, as a shell reads them; default "ssh"
	Patience time.Duration     // how long a host may say nothing, and take nothing, before its program runs; default 30 s
	Grace    time.Duration     // how long a session that is closed is waited for; default 5 s
	Keep     bool              // a host that gets a copy keeps it, in ~/.local/bin
	Said     func(line string) // gets the standard error of the client and of the program; default nobody
}

// options stand behind the user's own, which win. A host that asks for a password would stop all,
// and what the user forwards in interactive sessions can be forwarded to one host only.
var options = []string{
	"-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
	"-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none",
}

// command is the client. Ctrl-C at the terminal is not for it: who has started it ends it, after
// all that is on the host.
func (c *Config) command(ctx context.Context, host string) *exec.Cmd {
	args := []string{"-c", "trap '' INT; exec " + cmp.Or(c.SSH, "ssh") + ` "$@"`, "ssh"}
	args = append(args, options...)
	args = append(args, "-o", fmt.Sprintf("ConnectTimeout=%d", int(max(time.Second, cmp.Or(c.Connect, 15*time.Second)).Seconds())), host, login)
	return exec.CommandContext(ctx, "/bin/sh", args...)
}

// Session is a connection to a host.
type Session struct {
	Facts  Facts     // of the host
	Output io.Reader // the program's standard output, once it runs; to be read to its end

	host     string
	programs *Programs
	program  *Program // the one that runs there, once it is chosen
	copies   bool     // it gets a copy
	ready    bool     // it has it
	fetched  bool     // from another host
	keep     bool
	in       io.WriteCloser
	pipe     *io.PipeReader
	out      *bufio.Reader // of pipe
	said     *lines
	watch    *watch
	grace    time.Duration
	cancel   context.CancelCauseFunc
	orderly  atomic.Bool   // the script is there: it ends, and cleans up, when its input ends
	ended    chan struct{} // closed when the client has ended
	err      error         // of the client that has ended
}

// Open connects to a host, which tells what it is. With ctx the session ends: the program's input
// ends, it ends, its copy is removed, and the client ends; it is killed if that takes longer than
// grace.
func Open(ctx context.Context, host string, p *Programs, c Config) (*Session, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	s := &Session{host: host, programs: p, keep: c.Keep, said: &lines{say: c.Said}, grace: cmp.Or(c.Grace, 5*time.Second), ended: make(chan struct{})}
	own, cancel := context.WithCancelCause(ctx)
	s.cancel = cancel
	s.watch = newWatch(max(cmp.Or(c.Patience, 30*time.Second), 2*c.Connect), cancel)
	if err := s.start(c.command(own, host)); err != nil {
		s.watch.stop()
		cancel(nil)
		return nil, fmt.Errorf("start ssh: %w", cmp.Or(context.Cause(ctx), err))
	}
	if err := s.meet(); err != nil {
		return nil, s.failed(ctx, err)
	}
	return s, nil
}

// start starts the client.
func (s *Session) start(cmd *exec.Cmd) (err error) {
	pipe, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, s.said
	cmd.WaitDelay = s.grace
	cmd.Cancel = func() error {
		if s.orderly.Load() {
			return s.in.Close()
		}
		return cmd.Process.Kill()
	}
	if s.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pipe, s.out = pipe, bufio.NewReaderSize(pipe, maxLine)
	s.Output = s.out
	go func() {
		s.err = cmd.Wait()
		if errors.Is(s.err, exec.ErrWaitDelay) { // a connection that the client keeps for others holds its standard error
			s.err = nil
		}
		s.watch.stop()
		_ = write.Close() // it never fails
		close(s.ended)
		s.cancel(nil)
	}()
	return nil
}

// meet hands the script over and reads what it says.
func (s *Session) meet() error {
	defer s.watch.stop()
	_, written := io.WriteString(s.in, scriptFor(s.programs.names(), s.programs.Args))
	if written != nil && !ended(written) {
		return written
	}
	facts, noise, err := readFacts(s.out) // what it has said before it ended tells more than that it has
	if err == nil {
		err = written
	}
	if err != nil {
		if clean := cleanLine(noise); clean != "" && ended(err) { // such as that there is no login
			err = errors.New(clean)
		}
		return err
	}
	s.Facts = facts
	s.orderly.Store(true)
	return nil
}

// Program returns the program that the host runs, and whether it has to get a copy first. The error
// says why it cannot run any.
func (s *Session) Program() (p *Program, copies bool, err error) {
	if s.program == nil {
		s.program, s.copies, err = s.programs.choose(&s.Facts)
	}
	return s.program, s.copies, err
}

// Fetch has the host get its copy from another host, which serves it at an address, within a time
// that is rounded to seconds. It returns false if that has not worked: then Fetch may try another
// host, and Run sends the copy from here. With an error the session has ended. ctx is that of Open.
func (s *Session) Fetch(ctx context.Context, at netip.AddrPort, within time.Duration) (bool, error) {
	p, copies, err := s.Program()
	if err != nil || !copies || s.ready || s.Facts.Fetcher == "" {
		return s.ready, err
	}
	n, err := p.CopyBytes()
	if err != nil {
		return false, err
	}
	defer s.watch.stop()
	s.watch.allow(within)
	_, err = fmt.Fprintf(s.in, "fetch %s %d %d %s %d %s %d\n", p.Name, p.room(), n, p.packedSum, int(within.Seconds()), at.Addr(), at.Port())
	if err == nil {
		s.ready, err = s.answer("not there")
		s.fetched = s.ready
	}
	if err != nil {
		return false, s.failed(ctx, err)
	}
	return s.ready, nil
}

// Fetched reports whether the host has fetched its copy.
func (s *Session) Fetched() bool { return s.fetched }

// Shares reads the address at which the program, which was told to, passes on its copy ([Share]).
// It returns false if it does not, or if the host's address is not known.
func (s *Session) Shares() (netip.AddrPort, bool) {
	line, err := readLine(s.out)
	word, ok := strings.CutPrefix(line, sharing)
	if err != nil || !ok {
		return netip.AddrPort{}, false // the program has ended, which Wait explains
	}
	port, err := strconv.ParseUint(word, 10, 16)
	at, unknown := netip.ParseAddr(s.Facts.Server)
	if err != nil || unknown != nil || port == 0 || at.Zone() != "" {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(at.Unmap(), uint16(port)), true
}

// answer reads the host's answer: true if it is ready, and false if it says no.
func (s *Session) answer(no string) (bool, error) {
	line, err := readLine(s.out)
	if err == nil && line != "ready" && line != no {
		err = fmt.Errorf("it says %q", cleanLine(line))
	}
	return line == "ready", err
}

// Run starts the program and returns when that says that it runs. With an error the session has
// ended. ctx is that of Open.
func (s *Session) Run(ctx context.Context) error {
	p, copies, err := s.Program()
	if err != nil {
		s.Close()
		return err
	}
	defer s.watch.stop()
	how := "leave"
	if copies {
		if err = s.sendCopy(p); s.keep {
			how = "keep"
		}
	} else {
		s.watch.progress()
		_, err = fmt.Fprintf(s.in, "use %s\n", s.program.Name)
		if err == nil {
			_, err = s.answer("")
		}
	}
	if err == nil {
		s.watch.progress()
		_, err = fmt.Fprintf(s.in, "run %s\n", how)
	}
	if err == nil {
		err = s.hearGreeting()
	}
	if err == nil {
		return nil
	}
	if err = s.failed(ctx, err); copies && ctx.Err() == nil {
		err = fmt.Errorf("the copy of %s does not run there: %w", s.program.Name, err)
	}
	return err
}

// sendCopy sends the copy, unless the host has fetched it.
func (s *Session) sendCopy(p *Program) error {
	if s.ready {
		return nil
	}
	from, size, err := p.source(s.Facts.Packer)
	if err != nil {
		return fmt.Errorf("read the program that runs here: %w", err)
	}
	defer from.Close()
	s.watch.progress() // it has taken a while here, maybe, which is not the host's fault
	if _, err := fmt.Fprintf(s.in, "copy %s %d %d %s\n", p.Name, p.room(), size, s.Facts.Packer); err != nil {
		return err
	}
	if _, err = io.Copy(watchedWriter{s.in, s.watch}, from); err != nil {
		return err
	}
	s.ready, err = s.answer("")
	return err
}

func (s *Session) hearGreeting() error {
	line, err := readLine(s.out)
	if err == nil && line != greeting {
		err = fmt.Errorf("it says %q", cleanLine(line))
	}
	return err
}

// failed ends the session before its program runs. It returns why: by what has been said on the
// standard error, if anything has.
func (s *Session) failed(ctx context.Context, err error) error {
	_ = s.in.Close() // it may have ended already
	over := ended(err)
	if over { // it says why
		s.await(s.grace)
	}
	code := s.Close()
	switch last := s.said.reason(s.host); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.watch.expired.Load():
		return s.watch.failure()
	case last != "":
		return errors.New(last)
	case over && code != nil:
		return fmt.Errorf("ssh: %w", code)
	case over:
		return errors.New("it has ended without a word")
	}
	return err
}

// ended reports whether an error of the client's streams says that it ends. Once it has been waited
// for, what is written to it is closed on this side.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// await waits until the client has ended, or for so long.
func (s *Session) await(d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-s.ended:
	case <-late.C:
	}
}

// Write writes to the standard input of the program.
func (s *Session) Write(b []byte) (int, error) { return s.in.Write(b) }

// Wait waits until the program and the client have ended, and returns why they have not done so in
// peace: by the last line of the standard error, if there is any.
func (s *Session) Wait() error {
	<-s.ended
	if last := s.said.end(); s.err != nil && last != "" {
		return errors.New(last)
	}
	return s.err
}

// Close ends the input of the program, and waits until all has ended. What the program says that
// has not been read is lost.
func (s *Session) Close() error {
	s.cancel(nil)
	_ = s.pipe.Close() // it never fails; who writes there must not wait
	<-s.ended
	return s.err
}

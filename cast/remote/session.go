package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says how hosts are reached. The zero value of a field stands for its default.
type Config struct {
	SSH      string            // the client and its options, as a shell reads them; default "ssh"
	Patience time.Duration     // how long a host may say nothing, and take nothing, before its program runs; default 30 s
	Grace    time.Duration     // how long a session that is closed is waited for; default 5 s
	Said     func(line string) // gets the standard error of the client and of the program; default nobody
}

// options stand behind the user's own, which win. A host that asks for a password would stop all, and what the user forwards
// in interactive sessions can be forwarded to one host only.
var options = []string{
	"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
	"-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none",
}

// command is the client. Ctrl-C at the terminal is not for it: who has started it ends it, after all that is on the host.
func (c *Config) command(ctx context.Context, host string) *exec.Cmd {
	args := []string{"-c", "trap '' INT; exec " + cmp.Or(c.SSH, "ssh") + ` "$@"`, "ssh"}
	args = append(append(args, options...), host, login)
	return exec.CommandContext(ctx, "/bin/sh", args...)
}

// Session is a connection to a host.
type Session struct {
	Facts  Facts     // of the host
	Output io.Reader // the program's standard output, once it runs; to be read to its end

	program *Program
	in      io.WriteCloser
	pipe    *io.PipeReader
	out     *bufio.Reader // of pipe
	said    *lines
	watch   *watch
	grace   time.Duration
	cancel  context.CancelCauseFunc
	orderly atomic.Bool   // the script is there: it ends, and cleans up, when its input ends
	ended   chan struct{} // closed when the client has ended
	err     error         // of the client that has ended
}

// Open connects to a host, which tells what it is. With ctx the session ends: the program's input ends, it ends, its copy
// is removed, and the client ends; it is killed if that takes longer than grace.
func Open(ctx context.Context, host string, p *Program, c Config) (*Session, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	s := &Session{program: p, said: &lines{say: c.Said}, grace: cmp.Or(c.Grace, 5*time.Second), ended: make(chan struct{})}
	own, cancel := context.WithCancelCause(ctx)
	s.cancel = cancel
	s.watch = newWatch(cmp.Or(c.Patience, 30*time.Second), cancel)
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
	_, written := io.WriteString(s.in, scriptFor(s.program.Name, s.program.Args))
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

// Copies reports whether the host has to get a copy of the program, or says why it cannot run it.
func (s *Session) Copies() (bool, error) {
	installed, err := s.program.suits(&s.Facts)
	return !installed && err == nil, err
}

// Run starts the program and returns when that says that it runs. With an error the session has ended. ctx is that of Open.
func (s *Session) Run(ctx context.Context) error {
	copies, err := s.Copies()
	if err != nil {
		s.Close()
		return err
	}
	defer s.watch.stop()
	if copies {
		err = s.sendCopy()
	} else {
		s.watch.progress()
		_, err = io.WriteString(s.in, "use\n")
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

func (s *Session) sendCopy() error {
	from, size, err := s.program.source(s.Facts.Packer)
	if err != nil {
		return fmt.Errorf("read the program that runs here: %w", err)
	}
	defer from.Close()
	s.watch.progress() // it has taken a while here, maybe, which is not the host's fault
	if _, err := fmt.Fprintf(s.in, "copy %d %s\n", size, s.Facts.Packer); err != nil {
		return err
	}
	_, err = io.Copy(watchedWriter{s.in, s.watch}, from)
	return err
}

func (s *Session) hearGreeting() error {
	line, err := readLine(s.out)
	if err == nil && line != greeting {
		err = fmt.Errorf("it says %q", cleanLine(line))
	}
	return err
}

// failed ends the session before its program runs. It returns why: by what has been said on the standard error, if anything has.
func (s *Session) failed(ctx context.Context, err error) error {
	_ = s.in.Close() // it may have ended already
	over := ended(err)
	if over { // it says why
		s.await(s.grace)
	}
	code := s.Close()
	switch last := s.said.end(); {
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

// ended reports whether an error of the client's streams says that it ends. Once it has been waited for, what is written to it
// is closed on this side.
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

// Wait waits until the program and the client have ended, and returns why they have not done so in peace: by the last line of the
// standard error, if there is any.
func (s *Session) Wait() error {
	<-s.ended
	if last := s.said.end(); s.err != nil && last != "" {
		return errors.New(last)
	}
	return s.err
}

// Close ends the input of the program, and waits until all has ended. What the program says that has not been read is lost.
func (s *Session) Close() error {
	s.cancel(nil)
	_ = s.pipe.Close() // it never fails; who writes there must not wait
	<-s.ended
	return s.err
}

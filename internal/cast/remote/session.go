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

	"github.com/schedgen/schedgen/internal/words"
)

// Config says how hosts are reached. The zero value of a field means its default.
type Config struct {
	Connect  time.Duration     // time limit of connecting, in whole seconds; default 15 s
	SSH      string            // ssh client with options, or only the options of ssh, as a shell reads them; default "ssh"
	Patience time.Duration     // how long a host may make no progress before its program runs; default 30 s; at least 2*Connect if that is set
	Grace    time.Duration     // how long to wait for a closed session to end; default 5 s
	Keep     bool              // a host that gets a copy keeps it, in ~/.local/bin
	Said     func(line string) // gets lines of the standard error of the client and the program; may be nil
}

// options are the client's options. They follow the user's own, which take precedence. They forbid
// questions for a password, which would stop the start of all hosts, and the user's forwardings,
// which work with one host only.
var options = []string{
	"-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
	"-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none",
}

// client returns the client with its options.
func (c *Config) client() string {
	if strings.HasPrefix(strings.TrimSpace(c.SSH), "-") {
		return "ssh " + c.SSH
	}
	return cmp.Or(c.SSH, "ssh")
}

// command returns the command of the client. What a shell says about it begins with --ssh. It does not get the Ctrl-C of the terminal, because
// the session must first end what runs on the host.
func (c *Config) command(ctx context.Context, host string) *exec.Cmd {
	args := []string{"-c", "trap '' INT; exec " + c.client() + ` "$@"`, "--ssh"}
	args = append(args, options...)
	args = append(args, "-o", fmt.Sprintf("ConnectTimeout=%d", int(max(time.Second, cmp.Or(c.Connect, 15*time.Second)).Seconds())), host, login)
	return exec.CommandContext(ctx, "/bin/sh", args...)
}

// Session is a connection to a host.
type Session struct {
	Facts  Facts     // facts about the host
	Output io.Reader // standard output of the running program; the caller must read it to its end

	host     string
	programs *Programs
	program  *Program // the program that runs there; nil until it is chosen
	copies   bool     // the host gets a copy
	ready    bool     // the host has the copy
	fetched  bool     // the copy came from another host
	keep     bool
	in       io.WriteCloser
	pipe     *io.PipeReader
	out      *bufio.Reader // buffers pipe
	said     *lines
	watch    *watch
	grace    time.Duration
	cancel   context.CancelCauseFunc
	orderly  atomic.Bool   // the script runs, and will clean up when its input ends
	ended    chan struct{} // closed when the client has ended
	err      error         // error of the client; valid once ended is closed
}

// Open connects to a host and reads its facts. When ctx ends, the session ends: the program's input
// ends, so the program ends, its copy is removed, and the client ends. If this takes longer than
// c.Grace, the client is killed.
func Open(ctx context.Context, host string, p *Programs, c Config) (*Session, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	s := &Session{host: host, programs: p, keep: c.Keep, said: &lines{say: c.Said, login: c.client() + " " + words.Shell(host)}, grace: cmp.Or(c.Grace, 5*time.Second), ended: make(chan struct{})}
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
		if errors.Is(s.err, exec.ErrWaitDelay) { // a shared connection of the client holds its standard error
			s.err = nil
		}
		s.watch.stop()
		_ = write.Close() // never fails
		close(s.ended)
		s.cancel(nil)
	}()
	return nil
}

// meet sends the script and reads the facts that it prints.
func (s *Session) meet() error {
	defer s.watch.stop()
	_, written := io.WriteString(s.in, scriptFor(s.programs.All[0].Name, s.programs.Args))
	if written != nil && !ended(written) {
		return written
	}
	facts, noise, err := readFacts(s.out) // output before the end says more than the end
	if err == nil {
		err = written
	}
	if err != nil {
		if clean := cleanLine(noise); clean != "" && ended(err) { // such as a refused login
			err = errors.New(clean)
		}
		return err
	}
	s.Facts = facts
	s.orderly.Store(true)
	return nil
}

// Program returns the program that the host runs. copies reports whether the host must get a copy
// first. The error says why the host cannot run any program.
func (s *Session) Program() (p *Program, copies bool, err error) {
	if s.program == nil {
		s.program, s.copies, err = s.programs.choose(&s.Facts)
	}
	return s.program, s.copies, err
}

// Fetch makes the host fetch its copy from another host, which serves it at the address at. within
// is the time limit, in whole seconds. Fetch returns false if the host could not fetch the copy.
// Then Fetch may try another host, or Run sends the copy from here. If it returns an error, the
// session has ended. ctx must be that of Open.
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

// Fetched reports whether the host got its copy from another host.
func (s *Session) Fetched() bool { return s.fetched }

// Shares reads the address at which a program that was told to share passes on its copy ([Share]).
// It returns false if the program does not, or if the host's address is not known.
func (s *Session) Shares() (netip.AddrPort, bool) {
	line, err := readLine(s.out)
	word, ok := strings.CutPrefix(line, sharing)
	if err != nil || !ok {
		return netip.AddrPort{}, false // the program has ended; Wait says why
	}
	port, err := strconv.ParseUint(word, 10, 16)
	at, unknown := netip.ParseAddr(s.Facts.Server)
	if err != nil || unknown != nil || port == 0 || at.Zone() != "" {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(at.Unmap(), uint16(port)), true
}

// answer reads the host's answer. It returns true if the answer is "ready", and false if it is no.
func (s *Session) answer(no string) (bool, error) {
	line, err := readLine(s.out)
	if err == nil && line != "ready" && line != no {
		err = fmt.Errorf("it says %q", cleanLine(line))
	}
	return line == "ready", err
}

// Run starts the program and waits until the program has called Greet. If it returns an error, the
// session has ended. ctx must be that of Open.
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
		return fmt.Errorf("read the running program: %w", err)
	}
	defer from.Close()
	s.watch.progress() // compressing may have taken a while, which is not the host's fault
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

// failed ends the session before its program runs. It returns the reason: the last line of the
// standard error, if there is one.
func (s *Session) failed(ctx context.Context, err error) error {
	_ = s.in.Close() // it may be closed already
	over := ended(err)
	if over { // the last line says why
		s.await(s.grace)
	}
	code := s.Close()
	switch last := s.said.reason(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.watch.expired.Load():
		return s.watch.failure()
	case last != "":
		return errors.New(last)
	case over && code != nil:
		return fmt.Errorf("ssh: %w", code)
	case over:
		return errors.New("it ended without a message")
	}
	return err
}

// ended reports whether an error of the client's streams says that the client has ended. After
// Wait, its input is closed on this side.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// await waits until the client has ended, but no longer than d.
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

// Wait waits until the program and the client have ended. If they failed, it returns the last line
// of the standard error, or the client's error if there is no such line.
func (s *Session) Wait() error {
	<-s.ended
	if last := s.said.end(); s.err != nil && last != "" {
		return errors.New(last)
	}
	return s.err
}

// Close ends the program's input, and waits until the program and the client have ended. It
// discards unread output.
func (s *Session) Close() error {
	s.cancel(nil)
	_ = s.pipe.Close() // never fails; unblocks the writer
	<-s.ended
	return s.err
}

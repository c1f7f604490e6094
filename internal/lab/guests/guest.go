//go:build linux

package guests

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	goruntime "runtime"
	"sync"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/guests/internal/ether"
)

// guest is a running machine.
type guest struct {
	number int
	qemu   *exec.Cmd
	ended  chan struct{} // closed when qemu has ended
	link   net.Conn      // to the switch
	port   net.Conn      // to the program inside
	from   *gob.Decoder
	to     *sender
	outputs

	mu    sync.Mutex
	state state
}

// outputs are the destinations of a guest's output.
type outputs struct {
	stdout, stderr *lines // the command
	console        *console
}

// state is the state of a guest's command.
type state int

const (
	running state = iota // or not yet started
	done
	killed // as --kill asked
)

// start starts a guest. The guest dies with the calling thread.
func (m *machine) start(number int, to outputs) (*guest, error) {
	link, farLink, err := ether.Pair()
	if err != nil {
		return nil, err
	}
	port, farPort, err := socketPair()
	if err != nil {
		return nil, errors.Join(err, link.Close(), farLink.Close())
	}
	cmd := exec.Command(m.emulator, m.args(number)...)
	cmd.Stdout, cmd.Stderr = to.console, to.console
	cmd.ExtraFiles = []*os.File{farLink, farPort, m.initrd} // from linkFD on
	// The guest has its own process group, so that an interrupt from the terminal reaches only this
	// program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	goruntime.LockOSThread() // for as long as the process lives
	if err := errors.Join(cmd.Start(), farLink.Close(), farPort.Close()); err != nil {
		return nil, errors.Join(err, link.Close(), port.Close())
	}
	g := &guest{
		number: number, qemu: cmd, ended: make(chan struct{}),
		link: link, port: port, from: gob.NewDecoder(port), to: newSender(port), outputs: to,
	}
	go g.wait()
	return g, nil
}

// wait waits for the end of qemu. It ignores the status, since qemu is killed at the end.
func (g *guest) wait() {
	_ = g.qemu.Wait()
	_ = g.link.Close() // nothing else tells the switch
	close(g.ended)
}

// socketPair returns a connection, and its other end as a file for a child process.
func socketPair() (net.Conn, *os.File, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	near, far := os.NewFile(uintptr(ends[0]), "port"), os.NewFile(uintptr(ends[1]), "port's far end")
	conn, err := net.FileConn(near) // has a descriptor of its own
	if err = errors.Join(err, near.Close()); err != nil {
		return nil, nil, errors.Join(err, far.Close())
	}
	return conn, far, nil
}

// killAsAsked arranges that the guest is killed at the time that k states.
func (g *guest) killAsAsked(k kill) {
	begin := sync.OnceFunc(func() { time.AfterFunc(k.after, g.kill) }) // kill does nothing to a guest whose command has ended
	if k.text == "" {
		begin()
		return
	}
	for _, l := range []*lines{g.stdout, g.stderr} {
		l.seen = append(l.seen, func(line []byte) {
			if bytes.Contains(line, []byte(k.text)) {
				begin()
			}
		})
	}
}

// kill ends a guest at once, like a failing machine, if its command runs.
func (g *guest) kill() {
	if g.become(killed) == killed {
		g.killEmulator()
	}
}

// killEmulator ends the guest, whatever it does.
func (g *guest) killEmulator() { _ = g.qemu.Process.Kill() } // it may have ended already

// become changes the state if the command is running, and returns the new state.
func (g *guest) become(s state) state {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == running {
		g.state = s
	}
	return g.state
}

// next returns the guest's next message.
func (g *guest) next() (message, error) {
	var m message
	err := g.from.Decode(&m)
	switch {
	case err == nil && m.Kind == failed:
		return m, fmt.Errorf("guest%d: %s", g.number, m.Data)
	case err == nil:
		return m, nil
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET):
		return m, fmt.Errorf("guest%d: %w", g.number, err)
	}
	<-g.ended // qemu is the only other holder of the connection
	what := "ended before its command"
	if g.console.panicked() {
		what = "its kernel panicked"
	}
	return m, fmt.Errorf("guest%d: %s; %s", g.number, what, g.console)
}

// boot waits until the guest is up.
func (g *guest) boot() error {
	m, err := g.next()
	if err == nil && m.Kind != ready {
		err = fmt.Errorf("guest%d: says %q before it is up", g.number, m.Kind)
	}
	return err
}

// command runs the command to its end. The error says how it failed.
func (g *guest) command(m message, results *results) error {
	code, err := 0, g.to.send(m)
	if err == nil {
		code, err = g.output(results)
	}
	err = errors.Join(err, g.stdout.flush(), g.stderr.flush())
	switch {
	case g.become(done) == killed:
		return nil // whatever the command was doing
	case err != nil:
		return fmt.Errorf("run the command: %w", err)
	case code != 0:
		return &commandError{g.number, code}
	}
	return nil
}

// output takes the command's output and files until it ends, and returns its exit code.
func (g *guest) output(results *results) (int, error) {
	for {
		m, err := g.next()
		if err != nil {
			return 0, err
		}
		switch m.Kind {
		case stdout:
			_, err = g.stdout.Write(m.Data)
		case stderr:
			_, err = g.stderr.Write(m.Data)
		case file:
			err = results.appendTo(g.number, m.Name, m.Data)
		case exited:
			return m.Code, nil
		default:
			err = fmt.Errorf("guest%d: says %q while its command runs", g.number, m.Kind)
		}
		if err != nil {
			return 0, err
		}
	}
}

// commandError says that a command has failed.
type commandError struct {
	guest, code int
}

func (e *commandError) Error() string {
	return fmt.Sprintf("guest%d: the command ended with exit code %d", e.guest, e.code)
}

//go:build linux

package cast

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a process that was started on a host.
type process struct {
	cmd       *exec.Cmd
	out, errs *limited
	ended     chan struct{}
	err       error // error of its end; valid when it has ended
}

// start starts a command.
func (h *host) start(words []string, dir string) (*process, error) {
	p := &process{cmd: exec.Command(words[0], words[1:]...), out: new(limited), errs: new(limited), ended: make(chan struct{})}
	p.cmd.Args[0] = p.cmd.Path // sshd starts itself again by this name
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "HOME="+dir)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	p.cmd.WaitDelay = time.Second // its children may keep its output open
	if err := h.within(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", words[0], err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process if it still runs, and waits for its end.
func (p *process) stop() {
	_ = p.cmd.Process.Kill() // one that has ended is no error
	<-p.ended
}

// failure returns the error of a process that has ended, with the end of its output.
func (p *process) failure() error {
	if p.err == nil {
		return nil
	}
	if words := lastLine(p.errs.String() + "\n" + p.out.String()); words != "" {
		return fmt.Errorf("%w: %s", p.err, words)
	}
	return p.err
}

// usage returns the use of a process that has ended and of its children that it has waited for:
// seconds of processor time, and the largest memory of one process in bytes.
func (p *process) usage() (seconds float64, memory int64) {
	state := p.cmd.ProcessState
	if state == nil {
		return 0, 0
	}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		memory = r.Maxrss << 10
	}
	return (state.UserTime() + state.SystemTime()).Seconds(), memory
}

func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// limited is a writer that keeps the end of its input.
type limited struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const mostText = 64 << 10

func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	l.text.Next(max(0, l.text.Len()-mostText))
	return len(b), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

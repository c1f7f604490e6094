package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

func TestMain(m *testing.M) { os.Exit(buildtest.Main(m)) }

// process is a process that is a member.
type process struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	mu    sync.Mutex
	lines []string
	some  chan struct{} // has something as often as there is another line
	read  sync.WaitGroup
}

// house starts the processes of a test.
type house struct {
	t       *testing.T
	program string
	manager func(h *house) []string // flags
	ttl     string
	seeds   []string
	procs   []*process
}

func newHouse(t *testing.T, manager func(*house) []string, ttl string) *house {
	h := &house{t: t, program: buildtest.Program(t, "."), manager: manager, ttl: ttl}
	t.Cleanup(func() {
		for _, p := range h.procs {
			p.kill()
		}
	})
	return h
}

func (h *house) start(name string) *process {
	p := &process{name: name, some: make(chan struct{}, 1<<16)}
	p.cmd = exec.Command(h.program, append([]string{"-name", name, "-ttl", h.ttl}, h.manager(h)...)...)
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(h.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(h.t, err)
	p.cmd.Stderr = p.cmd.Stdout
	require.NoError(h.t, p.cmd.Start())
	p.read.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
			p.some <- struct{}{}
		}
	})
	h.procs = append(h.procs, p)
	return p
}

func (p *process) say(t *testing.T, line string) {
	_, err := fmt.Fprintln(p.in, line)
	require.NoError(t, err)
}

func (p *process) kill() {
	p.in.Close()
	p.cmd.Process.Kill() // it may be dead
	p.read.Wait()
	p.cmd.Wait()
}

func (p *process) has() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// await waits for a line that is as wanted.
func (p *process) await(t *testing.T, wanted func(string) bool) {
	t.Helper()
	patience := time.After(10 * time.Minute)
	for !slices.ContainsFunc(p.has(), wanted) {
		select {
		case <-p.some:
		case <-patience:
			p.cmd.Process.Signal(syscall.SIGQUIT) // it says where it is
			p.read.Wait()
			t.Fatalf("%s has only\n%s", p.name, strings.Join(p.has(), "\n"))
		}
	}
}

func (p *process) hears(t *testing.T, line string) {
	t.Helper()
	p.await(t, func(s string) bool { return s == line })
}

// sees waits for a view with exactly these members.
func (p *process) sees(t *testing.T, names string) {
	t.Helper()
	p.await(t, func(s string) bool { return strings.HasPrefix(s, "* ") && strings.HasSuffix(s, ": "+names) })
}

func ownMembers(h *house) []string {
	flags := []string{"-listen", porttest.Hold(h.t), "-seeds", strings.Join(h.seeds, ",")}
	h.seeds = append(h.seeds, flags[1])
	return flags
}

// TestChat runs processes that join, leave and are killed, also the one with the manager. All
// members at the time receive each message once and in order. Later members do not receive it.
func TestChat(t *testing.T) {
	t.Parallel() // it waits
	h := newHouse(t, ownMembers, "2m")
	ann := h.start("ann")
	ann.sees(t, "ann")
	bob := h.start("bob")
	ann.sees(t, "ann bob")
	ann.say(t, "hello bob")
	bob.hears(t, "ann: hello bob")
	cy, dan := h.start("cy"), h.start("dan")
	for _, p := range h.procs {
		p.await(t, func(s string) bool { return strings.Count(s, " ") == 5 && strings.HasPrefix(s, "* ") })
	}
	for i := range 1000 {
		bob.say(t, fmt.Sprint(i))
	}
	ann.cmd.Process.Kill()
	for i := range 1000 {
		bob.say(t, fmt.Sprint(1000+i))
	}
	for _, p := range []*process{cy, dan} {
		p.hears(t, "bob: 1999")
		var of []string
		for _, line := range p.has() {
			if n, is := strings.CutPrefix(line, "bob: "); is {
				of = append(of, n)
			}
			require.NotContains(t, line, "hello bob")
		}
		require.Len(t, of, 2000)
		for i, n := range of {
			require.Equal(t, fmt.Sprint(i), n)
		}
	}
	require.NoError(t, bob.in.Close()) // takes leave
	bob.read.Wait()
	require.NoError(t, bob.cmd.Wait(), "%s", bob.has())
	cy.say(t, "bob has left")
	dan.hears(t, "cy: bob has left")
	cy.cmd.Process.Kill()
	dan.sees(t, "dan")
	eve := h.start("eve")
	dan.sees(t, "dan eve")
	eve.say(t, "hello")
	dan.hears(t, "eve: hello")
}

// TestChatByFiles runs two processes with another manager.
func TestChatByFiles(t *testing.T) {
	t.Parallel() // it waits
	dir := filepath.Join(t.TempDir(), "chat")
	h := newHouse(t, func(*house) []string { return []string{"-dir", dir} }, "10s")
	ann, bob := h.start("ann"), h.start("bob")
	for _, p := range h.procs {
		p.await(t, func(s string) bool { return strings.HasPrefix(s, "* ") && strings.Count(s, " ") == 3 })
	}
	ann.say(t, "hello bob")
	bob.hears(t, "ann: hello bob")
}

// TestStopped stops the process of the manager, which is replaced. When the process continues, it
// learns that it is no longer a member. Virtual time tests this daily, in package embedded.
func TestStopped(t *testing.T) {
	if !heavy.Tests() {
		t.Skip("needs SCHEDGEN_HEAVY=1: it waits long, because a slow machine must not make processes silent")
	}
	t.Parallel() // it waits
	h := newHouse(t, ownMembers, "20s")
	ann := h.start("ann")
	ann.sees(t, "ann")
	bob := h.start("bob")
	bob.sees(t, "ann bob")
	cy := h.start("cy")
	bob.sees(t, "ann bob cy")
	cy.sees(t, "ann bob cy")
	require.NoError(t, ann.cmd.Process.Signal(syscall.SIGSTOP))
	bob.say(t, "is ann there?")
	cy.hears(t, "bob: is ann there?")
	cy.sees(t, "bob cy")
	bob.say(t, "no")
	cy.hears(t, "bob: no")
	require.NoError(t, ann.cmd.Process.Signal(syscall.SIGCONT))
	ann.say(t, "here I am")
	require.NoError(t, ann.in.Close()) // a process that is no member can neither publish nor leave
	ann.await(t, func(line string) bool { return strings.Contains(line, "not a member of the group any more") })
	ann.read.Wait()
	require.Error(t, ann.cmd.Wait())
}

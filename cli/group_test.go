package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
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

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/etcdtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

// party is a set of processes that are or become members of a group.
type party struct {
	t       *testing.T
	verb    string
	flags   []string // flags of all members
	members []*guest
}

// guest is a process of a party.
type guest struct {
	t     *testing.T
	label string
	cmd   *exec.Cmd
	said  strings.Builder // its standard error; complete after wait

	mu    sync.Mutex
	lines []groupLine   // lines that have not been taken
	some  chan struct{} // receives a value when there is another line; closed at the end
}

// groupLine is a line of the output, of any kind.
type groupLine struct {
	viewLine
	castSummary
	Ranks      int    `json:"ranks"`
	Broadcasts int    `json:"broadcasts"`
	CutOff     int    `json:"cut_off"`
	Broadcast  uint64 `json:"broadcast"`
	From       string `json:"from"`
}

// managers returns functions that make a value of --manager, by the kind of manager. Only heavy tests
// of a verb use all kinds, and not the daily ones alone. Nobody listens at the addresses of embedded.
func managers(daily ...string) map[string]func(t *testing.T) string {
	all := map[string]func(t *testing.T) string{
		"embedded": func(t *testing.T) string {
			return fmt.Sprintf("embedded://%s,%s,%s", porttest.Hold(t), porttest.Hold(t), porttest.Hold(t))
		},
		"etcd": func(t *testing.T) string { return "etcd://" + strings.TrimPrefix(etcdtest.Start(t).URL(), "http://") },
		"file": func(t *testing.T) string { return "file://" + t.TempDir() },
	}
	maps.DeleteFunc(all, func(kind string, _ func(t *testing.T) string) bool {
		return !heavy.Tests() && !slices.Contains(daily, kind)
	})
	return all
}

func newParty(t *testing.T, verb, manager string, flags ...string) *party {
	p := &party{t: t, verb: verb, flags: append(flags, "--json", "--silence", "5s", "--manager", manager)}
	t.Cleanup(func() {
		for _, g := range p.members {
			g.cmd.Process.Kill() // fails if the process has ended
			g.wait()
		}
	})
	return p
}

// enter starts a member.
func (p *party) enter(label string, flags ...string) *guest {
	exe, err := os.Executable()
	require.NoError(p.t, err)
	args := append([]string{"group", p.verb, "party", "--label", label}, append(p.flags, flags...)...)
	g := &guest{t: p.t, label: label, cmd: exec.Command(exe, args...), some: make(chan struct{}, 1)}
	g.cmd.Args[0] = "schedgen" // the test binary goes by this name
	out, err := g.cmd.StdoutPipe()
	require.NoError(p.t, err)
	g.cmd.Stderr = &g.said
	require.NoError(p.t, g.cmd.Start())
	p.members = append(p.members, g)
	go g.read(out)
	return g
}

func (g *guest) read(out io.Reader) {
	defer close(g.some)
	for text := bufio.NewScanner(out); text.Scan(); {
		var l groupLine
		if err := json.Unmarshal(text.Bytes(), &l); err != nil {
			g.t.Errorf("%s prints %q: %v", g.label, text.Text(), err)
		}
		g.mu.Lock()
		g.lines = append(g.lines, l)
		g.mu.Unlock()
		select {
		case g.some <- struct{}{}:
		default:
		}
	}
}

// take returns the next line, if there is one.
func (g *guest) take() (l groupLine, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lines) > 0 {
		l, g.lines, ok = g.lines[0], g.lines[1:], true
	}
	return l, ok
}

// wait waits until the process has ended, and returns its exit code.
func (g *guest) wait() int {
	for range g.some {
	}
	g.cmd.Wait() // the exit code tells the error
	return g.cmd.ProcessState.ExitCode()
}

// next waits for the next line.
func (g *guest) next() groupLine {
	g.t.Helper()
	late := time.After(patience)
	for {
		if l, ok := g.take(); ok {
			return l
		}
		select {
		case _, open := <-g.some:
			if l, ok := g.take(); ok {
				return l
			}
			if !open {
				g.wait()
				require.FailNow(g.t, "has ended", "%s: %s", g.label, g.said.String())
			}
		case <-late:
			g.cmd.Process.Signal(syscall.SIGQUIT) // prints the stacks of its goroutines
			g.wait()
			require.FailNow(g.t, "says nothing", "%s: %s", g.label, g.said.String())
		}
	}
}

// sees waits for a view with exactly these members.
func (g *guest) sees(members string) viewLine {
	g.t.Helper()
	for {
		if l := g.next(); strings.Join(l.Members, " ") == members {
			return l.viewLine
		}
	}
}

// hears waits for n messages of a member.
func (g *guest) hears(from string, n int) {
	g.t.Helper()
	for n > 0 {
		if g.next().From == from {
			n--
		}
	}
}

// end interrupts the member, and returns its summary.
func (g *guest) end() (last groupLine) {
	g.t.Helper()
	require.NoError(g.t, g.cmd.Process.Signal(os.Interrupt))
	last = g.last()
	require.Equal(g.t, terminal.Interrupted, g.wait(), g.said.String())
	require.Regexp(g.t, `^(schedgen: status at .*\n)?(schedgen: (.* waits|waiting for the manager): .*\n)*schedgen: interrupted\n$`, g.said.String()) // it may have waited for two seconds
	return last
}

// last waits for the summary.
func (g *guest) last() (last groupLine) {
	g.t.Helper()
	for last = g.next(); last.Group == ""; {
		last = g.next()
	}
	if !last.Good {
		g.wait()
		require.FailNow(g.t, "is not good", "%s: %s", g.label, g.said.String())
	}
	require.Equal(g.t, g.label, last.Member)
	return last
}

// of returns the part of the summary about a member's messages.
func (l *groupLine) of(label string) heardFrom {
	for _, o := range l.Origins {
		if o.Member == label {
			return o
		}
	}
	return heardFrom{}
}

// TestGroupAnycast runs processes that publish while others join, die and leave. All members
// receive the same messages.
func TestGroupAnycast(t *testing.T) {
	t.Parallel()
	for name, manager := range managers("embedded", "file") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newParty(t, "anycast", manager(t), "--every", "10ms", "--size", "100B", "--verbose")
			ann := p.enter("ann")
			ann.sees("ann")
			bob := p.enter("bob")
			require.Equal(t, []string{"bob"}, ann.sees("ann bob").Came)
			ann.hears("bob", 1)
			page := porttest.Hold(t)
			cy := p.enter("cy", "--status", page)
			bob.sees("ann bob cy")
			cy.hears("ann", 10)
			res, err := http.Get("http://" + page + "/metrics")
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			metrics := string(text)
			require.Contains(t, metrics, `schedgen_up{process="2"} 1`)
			require.Contains(t, metrics, `schedgen_ranks{process="2",comm="0",rank="2"} 3`)
			require.NoError(t, ann.cmd.Process.Kill())
			require.Equal(t, []string{"ann"}, bob.sees("bob cy").Lost)
			require.Equal(t, []string{"ann"}, cy.sees("bob cy").Lost)
			dan := p.enter("dan", "--messages", "50")
			require.Equal(t, []string{"dan"}, bob.sees("bob cy dan").Came)
			dan.sees("bob cy dan")
			of := dan.last()
			require.Zero(t, dan.wait(), dan.said.String())
			require.Equal(t, 50, of.Sent)
			require.Equal(t, []string{"dan"}, cy.sees("bob cy").Left)
			ofCy := cy.end()
			require.Equal(t, []string{"cy"}, bob.sees("bob").Left)
			ofBob := bob.end()

			require.Equal(t, heardFrom{"dan", 50, 0, 49}, ofBob.of("dan"))
			require.Equal(t, heardFrom{"dan", 50, 0, 49}, ofCy.of("dan"))
			require.Equal(t, ofCy.Sent, ofBob.of("cy").Messages, "all that cy has published before it left")
			require.Equal(t, ofCy.of("ann").Last, ofBob.of("ann").Last, "the same end of what was lost")
			require.Greater(t, ofCy.of("bob").First, uint64(0), "cy came later")
		})
	}
}

// TestGroupBcast runs processes that broadcast while the root dies and others come and go.
func TestGroupBcast(t *testing.T) {
	t.Parallel()
	for name, manager := range managers("etcd") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newParty(t, "bcast", manager(t), "--every", "10ms", "--size", "20kB", "--verbose")
			ann := p.enter("ann", "--members", "3")
			ann.sees("ann")
			bob := p.enter("bob", "--members", "3")
			ann.sees("ann bob")
			cy := p.enter("cy", "--members", "3")
			bob.broadcasts(3, 20)
			require.NoError(t, ann.cmd.Process.Kill())
			require.Equal(t, []string{"ann"}, cy.sees("bob cy").Lost)
			cy.broadcasts(2, 20)
			dan := p.enter("dan", "--iterations", "30")
			dan.broadcasts(3, 20)
			of := dan.last()
			require.Zero(t, dan.wait(), dan.said.String())
			require.Equal(t, 30, of.Broadcasts)
			require.Equal(t, []string{"dan"}, cy.sees("bob cy").Left)
			cy.broadcasts(2, 20)
			cy.end()
			bob.broadcasts(1, 20)
			require.Positive(t, bob.end().CutOff, "at least that in which ann died")
		})
	}
}

// broadcasts waits until the member has taken part in n broadcasts among the given number of ranks.
func (g *guest) broadcasts(ranks, n int) {
	g.t.Helper()
	for n > 0 {
		if l := g.next(); l.Broadcast > 0 && l.Ranks == ranks {
			n--
		}
	}
}

// TestPageBeforeJoining checks that a member that waits for its group answers a probe, and that a
// member whose page cannot be served does not wait.
func TestPageBeforeJoining(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	// The founder would be at an address that no host has, so no group begins.
	command := "group anycast prices --manager embedded://192.0.2.1:7100," + porttest.Hold(t) + " --status "
	code, _, said := execute(t, command+l.Addr().String())
	require.Equal(t, terminal.Bad, code, said)
	require.Contains(t, said, "address already in use")
	require.NotContains(t, said, "waiting to be taken in")

	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, strings.Fields(command+"127.0.0.1:0")...)
	cmd.Args[0] = "schedgen"
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait(), "killed")
	}()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	res, err := http.Get(pageOf(t, line) + "healthz")
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Contains(t, string(body), "has been joining for")
}

// TestGroupKey checks that members with the same key meet.
func TestGroupKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
	p := newParty(t, "bcast", "file://"+dir, "--every", "10ms", "--transport", "tcp", "--key-file", key, "--encrypt", "--verbose")
	ann := p.enter("ann")
	p.enter("bob").broadcasts(2, 5)
	ann.end()
}

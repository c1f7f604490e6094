//go:build linux

package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/netns"
)

// grace is the time that commands have to end when they are told to.
const grace = 3 * time.Second

// stage returns the command that runs a verb of this program in its own network namespace. The process
// dies with the thread that starts it.
func stage(ctx context.Context, std terminal.Stdio, verb string, args, env []string) (*exec.Cmd, error) {
	goruntime.LockOSThread() // for as long as the process lives
	cmd, err := program.Self(ctx, verb, args...)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = std.Out, std.Err
	// Its own process group: an interrupt from the terminal reaches it through ctx.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd, nil
}

// Bridge is the hidden verb in the namespace of the bridge.
type Bridge struct{ Verb }

// Run makes the network, runs the command on every host and waits for all.
func (b *Bridge) Run(ctx context.Context, std terminal.Stdio, k *kong.Context) (err error) {
	v := &b.Verb
	if err := v.check(); err != nil {
		return err
	}
	var agent string
	if v.MPI {
		if agent, err = writeAgent(); err != nil {
			return err
		}
		defer func() { _ = os.Remove(agent) }() // the system removes it in the end
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if v.lab == nil {
		if err := netns.Execute(netns.BridgeCommands(float64(v.Loss))); err != nil {
			return err
		}
	}
	hosts := make([]*hostProcess, v.nodes())
	defer func() { // hosts are left only after an error
		cancel(nil)
		for _, h := range hosts {
			h.wait()
		}
	}()
	for i := range hosts {
		if hosts[i], err = v.startHost(ctx, std, i, k.Args[1:]); err != nil {
			return err
		}
	}
	if err := v.connect(hosts); err != nil {
		return err
	}
	for i, h := range hosts { // all links work before any command starts
		if err := h.ready(); err != nil {
			return fmt.Errorf("%s: %w", v.nameOf(i), err)
		}
	}
	if v.MPI {
		hosts[0].release(pids(hosts) + " " + agent)
		return terminal.Ended(hosts[0].wait()) // the others wait until they are killed
	}
	var wg sync.WaitGroup
	for _, h := range hosts[:v.hosts] { // switches wait until they are killed
		h.release("")
		wg.Go(func() {
			if err := h.wait(); err != nil {
				cancel(err) // the others cannot go on
			}
		})
	}
	wg.Wait()
	return terminal.Ended(context.Cause(ctx)) // what went wrong first
}

// hostProcess is a host: a process in its own namespace.
type hostProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser // a line tells it to continue
	out   *bufio.Reader  // its lines report its progress
	once  sync.Once
	ended error
}

// nodes returns the number of hosts and switches.
func (v *Verb) nodes() int {
	if v.lab != nil {
		return v.lab.Nodes()
	}
	return v.hosts
}

// nameOf returns the name of a host or switch.
func (v *Verb) nameOf(node int) string {
	if v.lab != nil {
		return v.lab.NameOf(node)
	}
	return fmt.Sprintf("host%d", node)
}

// connect makes the links of all hosts and lets the hosts set up their ends.
func (v *Verb) connect(hosts []*hostProcess) error {
	var pids []int
	for _, h := range hosts {
		pids = append(pids, h.cmd.Process.Pid)
	}
	if v.lab != nil {
		if err := netns.Execute(v.lab.WireCommands(pids)); err != nil {
			return err
		}
	}
	for i, h := range hosts {
		if v.lab == nil {
			if err := netns.Execute(netns.PortCommands(v.link, i, pids[i])); err != nil {
				return err
			}
			if err := netns.OffloadsOff(netns.Port(i)); err != nil {
				return err
			}
		}
		h.release("")
	}
	return nil
}

// startHost starts host i.
func (v *Verb) startHost(ctx context.Context, std terminal.Stdio, i int, args []string) (*hostProcess, error) {
	cmd, err := stage(ctx, std, hostVerb, args, []string{
		fmt.Sprintf("SCHEDGEN_RANK=%d", i), fmt.Sprintf("SCHEDGEN_SIZE=%d", v.hosts),
	})
	if err != nil {
		return nil, err
	}
	h := &hostProcess{cmd: cmd}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close() // the host has its own
	h.cmd.ExtraFiles = []*os.File{write}
	h.out = bufio.NewReader(read)
	if h.in, err = h.cmd.StdinPipe(); err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start host %d: %w", i, err), read.Close())
	}
	return h, nil
}

// release lets the host continue, and sends it a line.
func (h *hostProcess) release(about string) {
	_, _ = io.WriteString(h.in, about+"\n") // wait reports a host that has died
}

// ready waits until the host's end of the link is set up.
func (h *hostProcess) ready() error {
	if _, err := h.out.ReadString('\n'); err != nil {
		return errors.Join(errors.New("its link could not be set up"), h.wait())
	}
	return nil
}

func (h *hostProcess) wait() error {
	if h == nil {
		return nil
	}
	h.once.Do(func() { h.ended = h.cmd.Wait() })
	return h.ended
}

// Host is the hidden verb in the namespace of a host.
type Host struct{ Verb }

// Run sets up the host's ends of links and then replaces this process by the command. A switch is
// never told to do the latter.
func (h *Host) Run() error {
	v := &h.Verb
	if err := v.check(); err != nil {
		return err
	}
	var rank int
	if _, err := fmt.Sscan(os.Getenv("SCHEDGEN_RANK"), &rank); err != nil {
		return fmt.Errorf("SCHEDGEN_RANK: %w", err)
	}
	if _, err := readLine(os.Stdin); err != nil {
		return fmt.Errorf("wait for the link: %w", err)
	}
	if err := syscall.Sethostname([]byte(v.nameOf(rank))); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	if err := v.setUp(rank); err != nil {
		return err
	}
	if err := v.tune(); err != nil {
		return err
	}
	report := os.NewFile(3, "reports")
	if _, err := report.WriteString("ready\n"); err != nil {
		return err
	}
	if err := report.Close(); err != nil {
		return err
	}
	about, err := readLine(os.Stdin)
	if err != nil {
		return fmt.Errorf("wait for the other hosts: %w", err)
	}
	path, err := exec.LookPath(v.Command[0])
	if err != nil {
		return err
	}
	var set map[string]string
	if v.MPI {
		hosts, agent, _ := strings.Cut(about, " ")
		set = mpiEnvironment(agent, hosts)
	}
	for name, value := range set {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := dieWithParent(); err != nil {
		return err
	}
	return syscall.Exec(path, v.Command, os.Environ())
}

// setUp sets up the namespace of a host or switch.
func (v *Verb) setUp(node int) error {
	commands, devices := netns.HostCommands(v.link, node, v.hosts), []string{"eth0"}
	if v.lab != nil {
		if err := netns.Forwards(); err != nil {
			return err
		}
		commands, devices = v.lab.NodeCommands(node), v.lab.Devices(node)
	}
	if err := netns.Execute(commands); err != nil {
		return err
	}
	for _, device := range devices {
		if err := netns.OffloadsOff(device); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads a line byte by byte, because the rest of the input belongs to the command.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; line = append(line, one[0]) {
		if _, err := io.ReadFull(r, one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			return string(line), nil
		}
	}
}

// dieWithParent makes the system kill the command when the program ends. The signal that stage has
// set belongs to the first thread of the process, and another thread may become the command.
func dieWithParent() error {
	goruntime.LockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0); errno != 0 {
		return fmt.Errorf("have the command end with this program: %w", errno)
	}
	return nil
}

// tune sets the parameters of TCP in the namespace that the flags give.
func (v *Verb) tune() error {
	const dir = "/proc/sys/net/ipv4/"
	if v.RTOMin > 0 {
		if err := os.WriteFile(dir+"tcp_rto_min_us", fmt.Append(nil, v.RTOMin), 0); err != nil {
			return fmt.Errorf("--rto-min: %w", err)
		}
	}
	if v.Congestion != "" {
		if err := os.WriteFile(dir+"tcp_congestion_control", []byte(v.Congestion), 0); err != nil {
			return fmt.Errorf("--congestion: %w", err)
		}
	}
	return nil
}

//go:build linux

package guests

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/terminal"
)

// Paths in a guest. PATH begins with the command's directory.
const (
	programsDir = "/opt/bin"
	modulesDir  = "/opt/modules"
	resultsDir  = "/out"
	busybox     = "/bin/busybox"
	guestPath   = programsDir + ":/usr/sbin:/usr/bin:/sbin:/bin"
)

// portDevice matches the device of the one port to the host. The first number depends on the
// machine's other devices.
const portDevice = "/dev/vport*p1"

// setupCommands returns the commands that set up a guest, before and after it loads modules. They
// call iproute2's programs by path, since busybox has other programs of these names.
func setupCommands(guest string) (before, after []string) {
	before = []string{
		busybox + " --install -s /bin",
		busybox + " mount -t proc proc /proc",
		busybox + " mount -t sysfs sysfs /sys",
		busybox + " mkdir /dev/shm",
		busybox + " mount -t tmpfs shm /dev/shm",
		busybox + " hostname guest" + guest,
		busybox + " sysctl -q -w net.ipv6.conf.default.accept_dad=0", // addresses are usable at once
	}
	after = []string{
		"/sbin/ip link set lo up",
		"/sbin/ip address add " + addressOf(guest) + "/24 dev eth0",
		"/sbin/ip link set eth0 up",
		"/sbin/ip route add 224.0.0.0/4 dev eth0", // for multicasts: there is no default route
		"/sbin/rdma link add rxe0 type rxe netdev eth0",
	}
	return before, after
}

// inside is the program as the first process of a guest. It reports on the port or, if that fails,
// on the kernel's console.
func inside() error {
	err := openConsole()
	var port *os.File
	if err == nil {
		port, err = setUp(os.Getenv("GUEST"))
	}
	if err == nil {
		err = serve(port, resultsDir)
	}
	if err == nil {
		select {} // until the host ends the guest
	}
	// The kernel panics if its first process ends. The host notices that.
	fmt.Fprintln(os.Stderr, "schedlab guests:", err)
	return &terminal.ExitError{Code: terminal.No}
}

// openConsole makes the kernel's console the standard error. The first process has none.
func openConsole() error {
	if err := syscall.Mount("dev", "/dev", "devtmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	console, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err == nil {
		os.Stderr = console
	}
	return err
}

// setUp sets the guest up and returns the port to the host.
func setUp(guest string) (*os.File, error) {
	if err := os.Setenv("PATH", guestPath); err != nil {
		return nil, err
	}
	before, after := setupCommands(guest)
	if err := runAll(before); err != nil {
		return nil, err
	}
	if err := loadModules(); err != nil {
		return nil, err
	}
	if err := runAll(after); err != nil {
		return nil, err
	}
	unlimited := &syscall.Rlimit{Cur: ^uint64(0), Max: ^uint64(0)}
	const rlimitMemlock = 8
	if err := syscall.Setrlimit(rlimitMemlock, unlimited); err != nil {
		return nil, fmt.Errorf("let all memory be locked: %w", err)
	}
	if err := os.Chdir("/root"); err != nil {
		return nil, err
	}
	device, err := waitFor(portDevice)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(device, os.O_RDWR, 0)
}

func loadModules() error {
	files, err := filepath.Glob(modulesDir + "/*")
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := runAll([]string{busybox + " insmod " + f}); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs commands one after the other.
func runAll(commands []string) error {
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	return nil
}

// waitFor waits until a file matches the pattern, since a driver makes its devices later. The host
// bounds the time.
func waitFor(pattern string) (string, error) {
	watch, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		return "", os.NewSyscallError("inotify_init1", err)
	}
	defer syscall.Close(watch)
	if _, err := syscall.InotifyAddWatch(watch, filepath.Dir(pattern), syscall.IN_CREATE); err != nil {
		return "", os.NewSyscallError("inotify_add_watch", err)
	}
	events := make([]byte, 4096)
	for {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			return strings.Join(found, " "), err
		}
		if _, err := syscall.Read(watch, events); err != nil && err != syscall.EINTR {
			return "", fmt.Errorf("wait for %s: %w", pattern, err)
		}
	}
}

// serve runs the one command that the host sends. The command leaves its files in the directory
// results.
func serve(port io.ReadWriter, results string) error {
	t := newSender(port)
	if err := t.send(message{Kind: ready}); err != nil {
		return err
	}
	var m message
	if err := gob.NewDecoder(port).Decode(&m); err != nil {
		return fmt.Errorf("wait for the command: %w", err)
	}
	return t.send(execute(t, m, results))
}

// execute runs the command of m, sends its output and the files that it leaves in the directory
// results, and returns the last message.
func execute(t *sender, m message, results string) message {
	cmd := exec.Command(m.Args[0], m.Args[1:]...)
	cmd.Env = append(os.Environ(), m.Env...)
	cmd.Stdout, cmd.Stderr = stream{t, stdout}, stream{t, stderr}
	cmd.WaitDelay = time.Second // for processes that the command left behind
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return message{Kind: failed, Data: []byte(err.Error())}
	}
	if err := sendFiles(t, results); err != nil {
		return message{Kind: failed, Data: fmt.Append(nil, "send the files in "+results+": ", err)}
	}
	return message{Kind: exited, Code: exitCode(cmd.ProcessState)}
}

// exitCode returns the exit code as shells do: 128 plus the signal's number for a command that a
// signal ended.
func exitCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// sendFiles sends all files below dir in pieces.
func sendFiles(t *sender, dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close() // only read
		piece := make([]byte, 1<<16)
		for {
			n, err := f.Read(piece)
			if err == io.EOF {
				return nil
			}
			if err == nil {
				err = t.send(message{Kind: file, Name: name, Data: piece[:n]})
			}
			if err != nil {
				return err
			}
		}
	})
}

//go:build linux

package shm_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The test's own program also runs as the processes of ranks.
const roleVariable = "SCHEDGEN_SHM_TEST"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := beRank(strings.Fields(role)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if err := os.Setenv("SCHEDGEN_PACE", "off"); err != nil { // what is lent is the same on every machine
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// child is a rank in its own process.
type child struct {
	t    testing.TB
	name string
	size int
	file *os.File
	cmd  *exec.Cmd
	out  *bufio.Reader
}

func start(t testing.TB, role string, rank int, edit func(*child)) *child {
	c := &child{t: t, size: 2, name: "-"}
	edit(c)
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d %s", roleVariable, role, rank, c.size, c.name))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if role == "small" || role == "full" {
		c.cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	}
	if c.file != nil {
		c.cmd.ExtraFiles = []*os.File{c.file}
	}
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewReader(out)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(c.kill)
	return c
}

// line returns the next line, which must begin with want.
func (c *child) line(want string) string {
	c.t.Helper()
	text, err := c.out.ReadString('\n')
	require.NoError(c.t, err)
	require.True(c.t, strings.HasPrefix(text, want), "%q", text)
	return text
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()         // it was killed
}

func (c *child) end() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Wait())
}

// beRank runs a rank in a child process.
func beRank(role []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rank, _ := strconv.Atoi(role[1])
	size, _ := strconv.Atoi(role[2])
	cfg := shm.Config{Rank: rank, Size: size}
	if cfg.Name = role[3]; cfg.Name == "-" {
		cfg.Name, cfg.File = "", os.NewFile(3, "segment")
	}
	switch role[0] {
	case "absent":
		return beFirst(ctx, cfg)
	case "small":
		return beSmall(ctx)
	case "full":
		return beFull(ctx)
	}
	if role[0] == "hidden" {
		if err := hide(); err != nil {
			return err
		}
	}
	tr, err := shm.Join(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Println("joined")
	switch role[0] {
	case "echo":
		return echo(tr)
	case "hidden":
		fmt.Println(tr.Copies())
	}
	comm, err := runtime.Join(ctx, configOf(tr, role[0]))
	if err != nil {
		return err
	}
	return errors.Join(beComm(ctx, comm, role[0]), comm.Close())
}

// configOf returns the configuration of a role: roles that end in puts broadcast by puts.
func configOf(tr wire.Transport, role string) runtime.Config {
	cfg := runtime.Config{Transport: tr}
	if strings.HasSuffix(role, byPuts) || role == "hidden" {
		cfg.Algorithms = runtime.Algorithms{"bcast": {Name: "bcast/binomial"}}
	}
	return cfg
}

const byPuts = "-puts"

// hide prevents other processes from reading this process's memory.
func hide() error {
	if os.Getuid() == 0 {
		return syscall.Setuid(65534)
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// beFirst makes a segment by name and waits for ranks that do not come.
func beFirst(ctx context.Context, cfg shm.Config) error {
	go func() {
		for range time.Tick(time.Millisecond) {
			if _, err := os.Stat("/dev/shm/schedgen-" + cfg.Name); err == nil {
				fmt.Println("made")
				return
			}
		}
	}()
	_, err := shm.Join(ctx, cfg)
	return err
}

// cannotMount begins the output of beSmall if it cannot mount.
const cannotMount = "cannot mount:"

// beSmall joins over a file system without room.
func beSmall(ctx context.Context) error {
	if err := mountShm("64k"); err != nil {
		fmt.Println(cannotMount, err)
		return nil
	}
	_, err := shm.Join(ctx, shm.Config{Rank: 0, Size: 2, Name: "small"})
	fmt.Println(err)
	return nil
}

// mountShm gives this process a /dev/shm of its own, of a size such as 64k.
func mountShm(size string) error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("none", "/dev/shm", "tmpfs", 0, "size="+size)
}

func beComm(ctx context.Context, c *runtime.Comm, role string) error {
	buf := make([]byte, 300_000)
	for i := 0; strings.HasPrefix(role, "endless") || i < 300; i++ {
		if err := step(ctx, c, i, buf); err != nil {
			return err
		}
	}
	return nil
}

// step is one broadcast, checked, and one barrier.
func step(ctx context.Context, c *runtime.Comm, i int, buf []byte) error {
	n, root := i*1009%len(buf), i%c.Size()
	for k := range buf[:n] {
		buf[k] = 0
		if c.Rank() == root {
			buf[k] = byte(i + k)
		}
	}
	if err := c.Bcast(ctx, buf[:n], root); err != nil {
		return err
	}
	for k, b := range buf[:n] {
		if b != byte(i+k) {
			return fmt.Errorf("rank %d: broadcast %d: byte %d is %d, want %d", c.Rank(), i, k, b, byte(i+k))
		}
	}
	return c.Barrier(ctx)
}

// TestProcesses: all ranks except one are processes; the test runs the remaining rank.
func TestProcesses(t *testing.T) {
	for _, role := range []string{"work", "work" + byPuts} {
		t.Run(role, func(t *testing.T) { testProcesses(t, role) })
	}
}

func testProcesses(t *testing.T, role string) {
	for _, name := range []string{"", named(t)} {
		var children []*child
		cfg := shm.Config{Rank: 0, Size: 4, Name: name}
		if name == "" {
			f, err := shm.Create(4)
			require.NoError(t, err)
			defer f.Close()
			cfg.File = f
		}
		for rank := 1; rank < 4; rank++ {
			children = append(children, start(t, role, rank, func(c *child) {
				c.size, c.file = 4, cfg.File
				if name != "" {
					c.name = name
				}
			}))
		}
		comm := joinComm(t, cfg, role)
		require.NoError(t, beComm(t.Context(), comm, role))
		require.NoError(t, comm.Close())
		for _, c := range children {
			c.line("joined")
			c.end()
		}
	}
	empty(t, "/dev/shm", named(t))
}

// Ranks that may not read each other's memory copy long messages twice, and say why.
func TestHidden(t *testing.T) {
	f, err := shm.Create(2)
	require.NoError(t, err)
	defer f.Close()
	c := start(t, "hidden", 1, func(c *child) { c.file = f })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tr, err := shm.Join(ctx, shm.Config{Rank: 0, Size: 2, File: f})
	require.NoError(t, err)
	c.line("joined")
	n, why := tr.Copies()
	require.Contains(t, fmt.Sprint(n, " ", why)+c.line(""), "2 shm: rank ")
	comm, err := runtime.Join(ctx, configOf(tr, "hidden"))
	require.NoError(t, err)
	require.NoError(t, beComm(ctx, comm, "hidden"))
	require.NoError(t, comm.Close())
	c.end()
}

func joinComm(t testing.TB, cfg shm.Config, role string) *runtime.Comm {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tr, err := shm.Join(ctx, cfg)
	require.NoError(t, err)
	comm, err := runtime.Join(ctx, configOf(tr, role))
	require.NoError(t, err)
	return comm
}

// Ranks find out that a rank is killed in the middle of its work: the master of the barriers, or a
// rank that it releases.
func TestKilled(t *testing.T) {
	for _, role := range []string{"endless", "endless" + byPuts} {
		for _, victim := range []int{0, 3} {
			t.Run(fmt.Sprint(role, " rank ", victim), func(t *testing.T) { killOne(t, role, victim) })
		}
	}
}

// killOne makes the test itself rank 1.
func killOne(t *testing.T, role string, victim int) {
	f, err := shm.Create(4)
	require.NoError(t, err)
	defer f.Close()
	children := map[int]*child{}
	for _, rank := range []int{0, 2, 3} {
		children[rank] = start(t, role, rank, func(c *child) { c.size, c.file = 4, f })
	}
	comm := joinComm(t, shm.Config{Rank: 1, Size: 4, File: f}, role)
	buf := make([]byte, 300_000)
	for i := 0; err == nil; i++ {
		if i == 50 {
			children[victim].kill()
		}
		err = step(t.Context(), comm, i, buf)
	}
	// This rank finds the death itself, hears of it from another rank, or notices another rank's
	// end.
	require.True(t, errors.Is(err, runtime.ErrPeerLost) || errors.Is(err, runtime.ErrAborted), "%v", err)
	require.NoError(t, comm.Close())
	said := err.Error()
	for rank, c := range children {
		if rank != victim {
			c.line("joined")
			text := c.line("")
			require.Contains(t, text, "rank lost")
			said += text
		}
	}
	require.Contains(t, said, fmt.Sprintf("rank %d: rank lost: shm: its process has ended without a goodbye", victim))
}

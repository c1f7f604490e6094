//go:build linux

package guests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program builds the program. It skips the test unless tests that boot machines are enabled.
func program(t *testing.T) string {
	if os.Getenv("SCHEDGEN_GUESTS") != "1" {
		t.Skip("it boots machines, for which SCHEDGEN_GUESTS=1 asks")
	}
	file := filepath.Join(t.TempDir(), "schedlab")
	text, err := exec.Command("go", "build", "-o", file, "../../../cmd/schedlab").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return file
}

// boot runs the program to its end.
func boot(t *testing.T, program string, args ...string) outcome {
	var out, errs bytes.Buffer
	cmd := exec.Command(program, append([]string{"guests"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	t.Logf("%s%s", &out, &errs)
	return outcome{out.String(), errs.String(), err}
}

// TestSoftRoCE checks that every guest has its name, its address and the device, and reaches all
// others. Its files come back, and nothing is lost between guests unless a flag asks for losses.
func TestSoftRoCE(t *testing.T) {
	program, dir := program(t), t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	got := boot(t, program, "--out", dir, "--add", self, "--", "sh", "-ec", `
		/sbin/rdma link show
		test -c /dev/infiniband/uverbs0 && test -c /dev/infiniband/rdma_cm
		echo gid $(cat /sys/class/infiniband/rxe0/ports/1/gids/1)
		echo $(hostname) locks $(ulimit -l)
		`+probeVar+`=1 guests.test
		echo file of $GUEST >$OUT/name`)
	require.NoError(t, got.err)
	for guest := range 3 {
		name := guestName(guest)
		for _, want := range []string{
			"link rxe0/1 state ACTIVE physical_state LINK_UP netdev eth0",
			fmt.Sprintf("gid 0000:0000:0000:0000:0000:ffff:0a4e:000%d", guest+1),
			name + " locks unlimited",
		} {
			require.Contains(t, got.out, name+": "+want)
		}
		if guest > 0 {
			require.Contains(t, got.out, fmt.Sprintf("%s: got %d\n", name, probes))
		}
		text, err := os.ReadFile(filepath.Join(dir, name, "name"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("file of %d\n", guest), string(text))
	}
	require.Contains(t, got.errs, " 0 lost, 0 overflowed")
}

func TestLostDatagrams(t *testing.T) {
	program := program(t)
	self, err := os.Executable()
	require.NoError(t, err)
	got := boot(t, program, "--loss", "0.3", "--seed", "5", "--add", self, "--", "env", probeVar+"=1", "guests.test")
	require.NoError(t, got.err)
	for guest := 1; guest < 3; guest++ {
		var received int
		for line := range strings.Lines(got.out) {
			if rest, ok := strings.CutPrefix(line, guestName(guest)+": got "); ok {
				_, err := fmt.Sscan(rest, &received)
				require.NoError(t, err)
			}
		}
		require.InDelta(t, 0.7*probes, received, 0.25*probes)
	}
	require.NotContains(t, got.errs, " 0 lost")
}

func TestKernelThatPanics(t *testing.T) {
	got := boot(t, program(t), "--guests", "2", "--", "sh", "-c", "if test $GUEST = 1; then echo c >/proc/sysrq-trigger; fi; exec sleep 1000")
	var exit *exec.ExitError
	require.ErrorAs(t, got.err, &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.Contains(t, got.errs, "guest1: its kernel panicked")
	require.Contains(t, got.errs, "sysrq triggered crash")
}

// TestKilledGuest checks that a killed guest no longer answers, and that the others notice.
func TestKilledGuest(t *testing.T) {
	got := boot(t, program(t), "--kill", "2@2s", "--", "sh", "-c",
		"if test $GUEST = 2; then exec sleep 1000; fi; while ping -c 1 -W 1 guest2 >/dev/null; do :; done; echo guest2 is gone")
	require.NoError(t, got.err)
	require.Equal(t, []string{"guest0: guest2 is gone\n", "guest1: guest2 is gone\n"}, sorted(got.out))
}

// TestNothingIsLeft checks that qemu ends however the program ends. The program's processes all
// inherit a descriptor, which no process holds afterwards.
func TestNothingIsLeft(t *testing.T) {
	program := program(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		cmd := exec.Command(program, "guests", "--guests", "1", "--", "sh", "-c", "echo up; exec sleep 1000")
		const beyond = initrdFD + 1 - 3 // after the descriptors that the program gives to qemu
		cmd.ExtraFiles = make([]*os.File, beyond+1)
		cmd.ExtraFiles[beyond] = write
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		require.NoError(t, write.Close())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "guest0: up\n", line)
		require.NoError(t, cmd.Process.Signal(sig))
		require.Error(t, cmd.Wait())
		require.NoError(t, read.SetReadDeadline(time.Now().Add(time.Minute))) // bounds a failure
		_, err = read.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "%v", sig)
		require.NoError(t, read.Close())
	}
}

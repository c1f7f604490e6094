//go:build linux

package guests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// In the tests of this file, guests are processes of this machine: this program, run with qemu's
// arguments in place of a kernel's command line. Everything else is as with qemu.

// fakeVar says how a guest fails to boot; "good": it boots.
const fakeVar = "SCHEDGEN_GUESTS_FAKE"

func TestMain(m *testing.M) {
	if os.Getenv(probeVar) != "" {
		if err := probe(); err != nil {
			fmt.Fprintln(os.Stderr, "probe:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if role := os.Getenv(roleVar); role != "" {
		if err := play(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "guests of an MPI:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if how := os.Getenv(fakeVar); how != "" {
		fmt.Fprintln(os.Stderr, "guests:", fake(how, os.Args))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// forever is a command that ends only with its guest.
const forever = `exec tail -f --pid=$PPID /dev/null`

// fake is a guest. It returns only if it fails.
func fake(how string, args []string) error {
	kernelArgs := strings.Fields(args[slices.Index(args, "-append")+1])
	for _, a := range kernelArgs {
		if key, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(key, "GUEST") {
			if err := os.Setenv(key, value); err != nil {
				return err
			}
		}
	}
	for _, fd := range []int{linkFD, portFD, initrdFD} {
		syscall.CloseOnExec(fd) // so that a guest's programs do not keep them open
	}
	port := os.NewFile(portFD, "port")
	defer port.Close()
	if how == "good" || os.Getenv("GUEST") == "0" { // guest 0 always boots
		dir, err := os.MkdirTemp(os.Getenv("TMPDIR"), "results")
		if err != nil {
			return err
		}
		if err := errors.Join(os.Unsetenv(fakeVar), os.Setenv("RESULTS", dir), serve(port, dir)); err != nil {
			return err
		}
		select {}
	}
	fmt.Println("the console of guest", os.Getenv("GUEST"))
	switch how {
	case "panic":
		return errors.New("Kernel panic - not syncing")
	case "silent":
		select {}
	case "garbage":
		_, err := port.WriteString("\x03\x04\x00no message of ours")
		return err
	case "failed":
		return errors.Join(newSender(port).send(message{Kind: failed, Data: []byte("no device")}))
	}
	return newSender(port).send(message{Kind: how})
}

// outcome is the output of a run and its error.
type outcome struct {
	out, errs string
	err       error
}

// try runs a command in fake guests.
func try(t *testing.T, how string, o Verb, command ...string) outcome {
	return tryUntil(t.Context(), t, how, o, command...)
}

func tryUntil(ctx context.Context, t *testing.T, how string, o Verb, command ...string) outcome {
	self, err := os.Executable()
	require.NoError(t, err)
	initrd, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer initrd.Close()
	t.Setenv(fakeVar, how)
	t.Setenv("TMPDIR", t.TempDir())
	o.Command = command
	if o.Guests == 0 {
		o.Guests = 3
	}
	for _, bound := range []*time.Duration{&o.Boot, &o.Timeout} {
		if *bound == 0 {
			*bound = time.Hour
		}
	}
	results, err := openResults(o.Out, o.Guests)
	require.NoError(t, err)
	var out, errs bytes.Buffer
	h := newHosts(&o, &out, &errs)
	err = h.boot(ctx, &machine{emulator: self, initrd: initrd, options: &o})
	if err == nil {
		err = h.commands(ctx, results)
	}
	require.NoError(t, h.stop())
	require.NoError(t, results.close())
	return outcome{out.String(), errs.String(), err}
}

// sorted returns the lines of a text in order, since guests print in any order.
func sorted(text string) []string {
	return slices.Sorted(strings.Lines(text))
}

func TestCommandRunsInAllGuests(t *testing.T) {
	got := try(t, "good", Verb{}, "sh", "-c", `echo "$GUEST of $GUESTS $SCHEDGEN_RANK $1"; printf "no end" >&2`, "x", "{guest}/{guests}")
	require.NoError(t, got.err)
	require.Equal(t, []string{"guest0: 0 of 3 0 0/3\n", "guest1: 1 of 3 1 1/3\n", "guest2: 2 of 3 2 2/3\n"}, sorted(got.out))
	require.Equal(t, []string{"guest0: no end\n", "guest1: no end\n", "guest2: no end\n"}, sorted(got.errs))
}

func TestLongOutputIsWhole(t *testing.T) {
	got := try(t, "good", Verb{Guests: 2}, "seq", "20000")
	require.NoError(t, got.err)
	last := map[string]int{}
	for line := range strings.Lines(got.out) {
		var guest, n int
		_, err := fmt.Sscanf(line, "guest%d: %d\n", &guest, &n)
		require.NoError(t, err)
		name := guestName(guest)
		last[name]++
		require.Equal(t, last[name], n)
	}
	require.Equal(t, map[string]int{"guest0": 20000, "guest1": 20000}, last)
}

func TestFilesComeBack(t *testing.T) {
	dir := t.TempDir()
	got := try(t, "good", Verb{Guests: 2, Out: dir}, "sh", "-c", `mkdir $RESULTS/sub; seq $((GUEST * 100000)) >$RESULTS/sub/n; ln -s n $RESULTS/sub/link`)
	require.NoError(t, got.err)
	for guest, size := range []int64{0, 588895} {
		at := filepath.Join(dir, guestName(guest), "sub")
		if size > 0 {
			info, err := os.Stat(filepath.Join(at, "n"))
			require.NoError(t, err)
			require.Equal(t, size, info.Size())
		}
		require.NoFileExists(t, filepath.Join(at, "link"), "only files are sent")
	}
}

// TestCommandsThatFail checks that the program exits with the code of the first command that fails,
// and names all failed commands.
func TestCommandsThatFail(t *testing.T) {
	got := try(t, "good", Verb{}, "sh", "-c", `exit $GUEST`)
	var c *commandError
	require.ErrorAs(t, got.err, &c)
	require.Equal(t, c.guest, c.code)
	require.ErrorContains(t, got.err, "guest1: the command ended with exit code 1")
	require.ErrorContains(t, got.err, "guest2: the command ended with exit code 2")
	got = try(t, "good", Verb{Guests: 1}, "sh", "-c", `kill -9 $$`)
	require.ErrorContains(t, got.err, "exit code 137")
	got = try(t, "good", Verb{Guests: 1}, "/no/such/program")
	require.ErrorContains(t, got.err, "guest0: fork/exec /opt/bin/program: no such file")
}

// TestGuestThatEnds checks that a guest that ends by itself fails the run at once, although others
// continue.
func TestGuestThatEnds(t *testing.T) {
	got := try(t, "good", Verb{}, "sh", "-c", `test $GUEST != 1 || kill -9 $PPID; `+forever)
	require.ErrorContains(t, got.err, "guest1: ended before its command; its console has said nothing")
	got = try(t, "good", Verb{}, "sh", "-c", `if test $GUEST = 2; then echo Kernel panic - oh >/proc/$PPID/fd/1; kill -9 $PPID; fi; `+forever)
	require.ErrorContains(t, got.err, "guest2: its kernel panicked")
	require.ErrorContains(t, got.err, "Kernel panic - oh")
}

func TestGuestsThatDoNotBoot(t *testing.T) {
	for how, want := range map[string]string{
		"panic":   "guest1: its kernel panicked; its console has said last:\nthe console of guest 1",
		"garbage": "guest1: ",
		"failed":  "guest1: no device",
		exited:    `guest1: says "exited" before it is up`,
	} {
		got := try(t, how, Verb{Guests: 2}, "true")
		require.ErrorContains(t, got.err, want, how)
		require.Empty(t, got.out)
	}
}

func TestGuestsThatTakeTooLong(t *testing.T) {
	var got outcome
	boot := time.Second
	for ; boot < 10*time.Minute; boot *= 10 { // guest 0 of a slow machine is not up in a second
		got = try(t, "silent", Verb{Boot: boot, Console: true}, "true")
		if !strings.Contains(fmt.Sprint(got.err), "guest0") {
			break
		}
	}
	require.ErrorContains(t, got.err, fmt.Sprintf("guest1: not up within %v", boot))
	require.ErrorContains(t, got.err, fmt.Sprintf("guest2: not up within %v", boot))
	require.NotContains(t, got.err.Error(), "guest0")
	require.Contains(t, got.errs, "guest2 console: the console of guest 2\n")
	got = try(t, "good", Verb{Guests: 2, Timeout: 10 * time.Millisecond}, "sh", "-c", `test $GUEST = 0 || `+forever)
	require.ErrorContains(t, got.err, "guest1: the command has not ended within 10ms")
}

// TestKill checks that a guest is killed whatever its command is doing, and that the run succeeds.
func TestKill(t *testing.T) {
	o := Verb{Guests: 2, Kill: []kill{{1, 100 * time.Millisecond, ""}}}
	got := try(t, "good", o, "sh", "-c", `if test $GUEST = 1; then `+forever+`; fi; echo done`)
	require.NoError(t, got.err)
	require.Equal(t, "guest0: done\n", got.out)

	got = try(t, "good", Verb{Guests: 2, Kill: []kill{{1, 0, ""}}}, "sh", "-c", `test $GUEST = 0 || `+forever)
	require.NoError(t, got.err, "it may be dead before its command has started")

	o = Verb{Guests: 1, Kill: []kill{{0, time.Hour, ""}}}
	got = try(t, "good", o, "true")
	require.ErrorContains(t, got.err, "--kill=0@1h0m0s: its command had ended before")

	for _, stream := range []string{"1", "2"} {
		o = Verb{Guests: 2, Kill: []kill{{1, 0, "here"}}}
		got = try(t, "good", o, "sh", "-c", `test $GUEST = 0 || { echo I am here >&`+stream+`; `+forever+`; }`)
		require.NoError(t, got.err)
		require.Equal(t, "guest1: I am here\n", got.out+got.errs)
	}
	o = Verb{Guests: 1, Kill: []kill{{0, 0, "here"}, {0, 0, "never"}}}
	got = try(t, "good", o, "sh", "-c", "echo I am here; "+forever)
	require.NoError(t, got.err, "each of several may be the one")
	o = Verb{Guests: 1, Kill: []kill{{0, 0, "here"}}}
	got = try(t, "good", o, "echo", "gone")
	require.ErrorContains(t, got.err, "--kill=0@0s=here: its command had ended before")
}

func TestStopping(t *testing.T) {
	for _, how := range []string{"good", "silent"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := sync.OnceFunc(func() { cancel(errors.New("stopped")) })
		watch := time.AfterFunc(100*time.Millisecond, stop)
		got := tryUntil(ctx, t, how, Verb{}, "sh", "-c", forever)
		require.EqualError(t, got.err, "stopped")
		watch.Stop()
	}
}

func TestEmulatorThatCannotBeStarted(t *testing.T) {
	h := newHosts(&Verb{Guests: 2}, nil, nil)
	err := h.boot(t.Context(), &machine{emulator: "/no/such/emulator", options: h.options})
	require.ErrorContains(t, err, "start guest0: fork/exec /no/such/emulator")
	require.NoError(t, h.stop())
}

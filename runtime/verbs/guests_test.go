//go:build linux

package verbs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGuests runs the tests that need an adapter in virtual machines with a software adapter, if
// SCHEDGEN_GUESTS=1 is set. It needs qemu, a C compiler, libibverbs-dev, librdmacm-dev and several
// minutes.
//
//	SCHEDGEN_GUESTS=1 go test -timeout 20m -run TestGuests -v ./runtime/verbs
//
// With -short, it runs only the tests of several hosts.
func TestGuests(t *testing.T) {
	if os.Getenv("SCHEDGEN_GUESTS") != "1" {
		t.Skip("SCHEDGEN_GUESTS=1 asks for virtual machines")
	}
	bin := t.TempDir()
	for _, args := range [][]string{
		{"build", "-tags", "verbs", "-o", bin, "../../cmd/schedgen", "../../cmd/schedlab"},
		{"test", "-c", "-tags", "verbs", "-o", filepath.Join(bin, "verbs.test"), "."},
	} {
		text, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	for _, g := range []struct {
		name  string
		short bool
		fails string // part of the command's output, if it is to fail
		args  []string
	}{
		{"one host", false, "", suite("1", "2048", "TestPorts|TestLockedMemory|TestTwoJobs|TestFrames|TestCommunicators|TestSplit")},
		{"barriers and messages", false, "", suite("1", "2048", "TestComm$/(Barrier|Anycast)")},
		{"communicators", false, "", append(suite("1", "2048", "TestComm$"), "-test.skip", "TestComm/(Barrier|Anycast)")},
		{"memory and verbs", true, "", suite("1", "2048", "TestHybrid")},
		{"loss", false, "", suite("1", "2048", "TestCommLossy/(Bcast|Back|Delay|Mixed|Crash)")},
		{"hosts", true, "", append([]string{"--loss", "0.01"}, suite("3", "512", "TestHosts")...)},
		{"killed processes", false, "", []string{"--guests", "1", "--memory", "1024", "--", "schedlab", "kills", "--transports", "verbs", "--kills", "12", "--ranks", "4"}},
		{"killed guest", true, "rank 2: rank lost: verbs: queue pair to rank 2", []string{"--kill", "2@1s=msg=joined", "--", "schedgen",
			"rank", "bcast", "--verbose", "-p", "3", "--rank", "{guest}", "--coordinator", "10.78.0.1:7777", "--transport", "verbs", "--size", "20KiB", "--iterations", "1000000"}},
	} {
		if testing.Short() && !g.short {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, filepath.Join(bin, "schedlab"), append([]string{"guests"}, in(bin, g.args)...)...)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the command then ends its guests
			text, err := cmd.CombinedOutput()
			if g.fails == "" {
				require.NoError(t, err, "%s", text)
				require.NotContains(t, string(text), "no tests to run")
				return
			}
			require.Error(t, err)
			require.Contains(t, string(text), g.fails)
		})
	}
}

// suite returns the command that runs the tests that match run in guests.
func suite(guests, memory, run string) []string {
	return []string{
		"--guests", guests, "--memory", memory, "--timeout", "10m", "--add", "verbs.test", "--", "env", device + "=rxe0",
		"SCHEDGEN_COORDINATOR=10.78.0.1:7777", "verbs.test", "-test.v", "-test.run", run,
	}
}

// in replaces the names of our programs by their paths: added programs, and the command itself if
// it is one of them.
func in(bin string, args []string) []string {
	for i, a := range args {
		if i > 0 && (args[i-1] == "--add" || args[i-1] == "--" && a != "env") {
			args[i] = filepath.Join(bin, a)
		}
	}
	return args
}

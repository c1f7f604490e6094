package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// kept is the least number of bytes that receivers have when they lose the sender.
const kept = 3 << 20

// The others do not wait long for a receiver that gives no sign of life. When it continues, it
// comes again, and is served after them. If the others have finished, the sender waits for it for
// the time of --silence.
func TestCastServesSilent(t *testing.T) {
	t.Parallel()
	for name, resume := range map[string]bool{"anew": false, "resumed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atRates(t, func(limit string) bool { return servesSilent(t, resume, limit) })
		})
	}
}

// servesSilent runs the test at a rate, and reports whether it was in time.
func servesSilent(t *testing.T, resume bool, limit string) bool {
	path, text := randomFile(t, 12<<20)
	args := func(all ...string) []string {
		if resume {
			all = append(all, "--resume")
		}
		return all
	}
	sender := startCast(t, args("--serve", path, "--expect", "3", "--silence", "10m", "--listen", "127.0.0.1:0", "--limit", limit, "--json")...)
	at := sender.address()
	dirs, all := map[string]string{}, map[string]*castProcess{}
	for _, name := range []string{"one", "silent", "two"} {
		dirs[name] = t.TempDir()
		all[name] = startCast(t, args("receive", "--from", at, "--to", dirs[name], "--name", name)...)
	}
	if !inTime(t, kept, all["silent"].send(syscall.SIGSTOP), dirs["silent"]) {
		return false
	}
	for _, name := range []string{"one", "two"} {
		all[name].has(filepath.Join(dirs[name], "file"), text)
	}
	require.NoError(t, all["silent"].cmd.Process.Signal(syscall.SIGCONT))
	all["silent"].has(filepath.Join(dirs["silent"], "file"), text)
	o, said := sender.ended(0)
	require.Regexp(t, `silent: no answer for [0-9.]+m?s: it is very busy, its process is stopped, or its network is cut; it gets the rest after the others\n`, said)
	require.Len(t, o.Receivers, 3)
	// On a very busy machine others may be silent, too, or so slow that they get the file anew.
	if strings.Count(said, "no answer for") == 1 && !strings.Contains(said, "it is served after") {
		require.Less(t, o.Sent, int64(2*len(text)-kept/2), "it has kept what it has: %s", said)
	}
	return true
}

// A silent receiver that comes again does not wait for another one, which can still come later: it
// gets the file while the other one is stopped.
func TestCastServesSilentInTurn(t *testing.T) {
	t.Parallel()
	atRates(t, func(limit string) bool { return servesInTurn(t, limit) })
}

// servesInTurn runs the test at a rate, and reports whether it was in time.
func servesInTurn(t *testing.T, limit string) bool {
	path, text := randomFile(t, 12<<20)
	sender := startCast(t, "--serve", path, "--expect", "3", "--silence", "1h", "--listen", "127.0.0.1:0", "--limit", limit, "--json")
	at := sender.address()
	names := []string{"one", "two", "three"}
	dirs, all := map[string]string{}, map[string]*castProcess{}
	for _, name := range names {
		dirs[name] = t.TempDir()
		all[name] = startCast(t, "receive", "--from", at, "--to", dirs[name], "--name", name)
	}
	for _, name := range names[1:] {
		if !inTime(t, 1<<20, all[name].send(syscall.SIGSTOP), dirs[name]) {
			return false
		}
	}
	all["one"].has(filepath.Join(dirs["one"], "file"), text)
	for _, name := range names[1:] {
		require.NoError(t, all[name].cmd.Process.Signal(syscall.SIGCONT))
		all[name].has(filepath.Join(dirs[name], "file"), text)
	}
	o, _ := sender.ended(0)
	require.Len(t, o.Receivers, 3)
	return true
}

// A sender that was stopped for a while serves all receivers, which continue where they stopped.
func TestCastSenderReturns(t *testing.T) {
	t.Parallel()
	atRates(t, func(limit string) bool { return senderReturns(t, limit) })
}

// senderReturns runs the test at a rate, and reports whether it was in time.
func senderReturns(t *testing.T, limit string) bool {
	path, text := randomFile(t, 12<<20)
	sender := startCast(t, "--serve", path, "--expect", "2", "--listen", "127.0.0.1:0", "--limit", limit, "--json")
	at := sender.address()
	dirs, all := map[string]string{}, map[string]*castProcess{}
	for _, name := range []string{"one", "two"} {
		dirs[name] = t.TempDir()
		all[name] = startCast(t, "receive", "--from", at, "--to", dirs[name], "--name", name)
	}
	if !inTime(t, kept, sender.send(syscall.SIGSTOP), dirs["one"], dirs["two"]) {
		return false
	}
	for _, r := range all {
		r.says("parted from the sender")
	}
	require.NoError(t, sender.cmd.Process.Signal(syscall.SIGCONT))
	for name, dir := range dirs {
		all[name].has(filepath.Join(dir, "file"), text)
	}
	o, _ := sender.ended(0)
	require.Len(t, o.Receivers, 2)
	require.Less(t, o.Sent, int64(2*len(text)-kept/2), "they have kept what they have")
	return true
}

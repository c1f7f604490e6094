package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/cast/remote/sshdtest"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/systemdtest"
)

// bareHosts are hosts that have no program.
func bareHosts(t *testing.T, n int) (hosts []*sshdtest.Host) {
	for i := range n {
		hosts = append(hosts, node(t, fmt.Sprintf("n%02d", i+1), true))
	}
	return hosts
}

func resultOf(t *testing.T, text string) (r cast.Result) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	return r
}

// The program goes once from here to hosts that do not have it, and these pass it on. Hosts that keep
// it get no other one.
func TestCastSpreadsProgram(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	s := sshdtest.Start(t, bareHosts(t, 5)...)
	path, text := fileOf(t, 1<<20)
	groups := filepath.Join(t.TempDir(), "groups")
	require.NoError(t, os.WriteFile(groups, []byte("last: n[05-06]\n"), 0o600))
	for _, install := range []bool{true, false} {
		args := []string{path, "-w", "n[01-04],@last", "-x", "n06", "--groups", groups, "--to", "data", "--json"}
		if install {
			args = append(args, "--install")
		}
		code, out, said := overSSH(t, s, args...).wait()
		require.Zero(t, code, "%s%s", out, said)
		r := resultOf(t, out)
		require.Zero(t, r.Failed())
		require.Len(t, r.Receivers, 5)
		require.Positive(t, r.Setup.Seconds)
		require.GreaterOrEqual(t, r.Total, r.Seconds+r.Setup.Seconds)
		if install {
			require.Equal(t, []int{1, 4}, []int{r.Setup.Sent, r.Setup.Passed}, said)
			require.Less(t, r.Setup.Bytes, int64(3<<20), "the program is as small as the documentation says")
		} else {
			require.Equal(t, cast.Setup{Seconds: r.Setup.Seconds}, *r.Setup)
		}
		for _, h := range s.Hosts {
			got, err := os.ReadFile(filepath.Join(h.Home, "data", "file"))
			require.NoError(t, err)
			require.Equal(t, string(text), string(got))
			all, err := os.ReadDir(filepath.Join(h.Home, ".local", "bin"))
			require.NoError(t, err)
			require.Len(t, all, 1)
			clean(t, h)
		}
	}
	code, out, said := overSSH(t, s, path, "-w", "n[01-02]", "--to", "data", "--dry-run").wait()
	require.Zero(t, code, said)
	require.Regexp(t, `  set-up: no host needs the program, connected in [0-9.]+ s\n  n01: has schedcast\n  n02: has schedcast\n`, out)
}

// A host that passes on the program and ends, or cannot be reached by the others, stops nobody.
func TestCastSpreadsAround(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	hosts := bareHosts(t, 4)
	// The hosts seem to have an address at which nobody answers.
	for _, h := range hosts {
		h.Env = append(h.Env, `SSH_CONNECTION='127.0.0.1 1 192.0.2.1 22'`)
	}
	s := sshdtest.Start(t, hosts...)
	path, _ := fileOf(t, 1<<20)
	code, out, said := overSSH(t, s, path, "-w", "n[01-04]", "--to", "data", "--json", "--listen", "127.0.0.1:0").wait()
	require.Zero(t, code, "%s%s", out, said)
	r := resultOf(t, out)
	require.Zero(t, r.Failed())
	require.Equal(t, []int{4, 0}, []int{r.Setup.Sent, r.Setup.Passed})
}

// A command follows the cast on each host, in the directory of the files. What it prints comes back, and
// its failure is told. A log has the lines of each host.
func TestCastThen(t *testing.T) {
	t.Parallel()
	s := sshdtest.Start(t, node(t, "good", false), node(t, "bad", false))
	path, _ := fileOf(t, 1<<16)
	logs := filepath.Join(t.TempDir(), "logs")
	const count = `wc -c <file; echo aside >&2; case $PWD in *bad/data) exit 3; esac`
	code, out, said := overSSH(t, s, path, "good", "bad", "--to", "data", "--then", count, "--log-dir", logs, "-v").wait()
	require.Equal(t, terminal.No, code, said)
	for _, name := range []string{"good", "bad"} {
		require.Contains(t, out, name+": 65536\n")
		require.Contains(t, said, name+": aside\n")
		text, err := os.ReadFile(filepath.Join(logs, name+".log"))
		require.NoError(t, err)
		require.Contains(t, string(text), " 65536\n")
		require.Contains(t, string(text), " the program is installed\n")
	}
	require.Contains(t, out, "file: 64.0 KiB to 2 of 2 receivers by ")
	require.Contains(t, out, "  bad: has everything, but --then: exit status 3\n")
	require.NotContains(t, out, "  good:")
	require.Contains(t, said, "good: the program is installed\n")
	require.Contains(t, said, "schedcast: 1 receiver of 2 failed\n")

	code, out, said = overSSH(t, s, path, "good", "--to", "data", "--then", "true", "-q").wait()
	require.Zero(t, code, said)
	require.Empty(t, out)
	require.NotContains(t, said, "installed")
	code, out, _ = overSSH(t, s, path, "bad", "--to", "data", "--then", "exit 4", "--json").wait()
	require.Equal(t, terminal.No, code)
	r := resultOf(t, out)
	require.True(t, r.Receivers[0].Done)
	require.Equal(t, "--then: exit status 4", r.Receivers[0].Command)
}

// After Ctrl-C the summary says how far the cast has come, and names each failure once.
func TestCastWordsOfFailure(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	s := sshdtest.Start(t, node(t, "one", false), node(t, "two", false))
	path, _ := randomFile(t, 24<<20)
	p := overSSH(t, s, path, "one", "two", "stranger", "--to", "data", "--limit", "1MiB/s")
	writing(t, filepath.Join(s.Hosts[0].Home, "data"))
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	code, out, said := p.wait()
	require.Equal(t, terminal.Interrupted, code, said)
	require.Regexp(t, `^\S+: interrupted after [0-9.]+ s by (chain|multicast): 0 of 3 receivers got it\n`, out)
	require.NotRegexp(t, `context canceled|epoch|rank|MiB/s`, out+said)
	require.Equal(t, 1, strings.Count(out+said, "Permission denied"), "%s%s", out, said)
	require.Equal(t, 2, strings.Count(out, "the cast was interrupted\n"), out)
	require.Equal(t, "schedcast: interrupted\n", said[strings.LastIndex(strings.TrimSuffix(said, "\n"), "\n")+1:])
}

// Keys of hosts that are unknown, and that have changed, are told in different words.
func TestCastHostKeys(t *testing.T) {
	heavy.Needs(t, heavy.SSH)
	t.Parallel()
	s := sshdtest.Start(t, node(t, "one", false))
	known := filepath.Join(t.TempDir(), "known")
	strict := s.SSH + " -o StrictHostKeyChecking=ask -o UserKnownHostsFile=" + known
	path, _ := fileOf(t, 1<<10)
	reason := func() string {
		code, out, said := startCast(t, "--ssh", strict, path, "one", "--to", "data", "--json").wait()
		require.Equal(t, terminal.No, code, said)
		return outcomeOf(t, out)["one"].Reason
	}
	unknown := reason()
	require.Equal(t, "its host key is not known here: connect once with "+strict+" one and check the key", unknown)
	_, connect, _ := strings.Cut(unknown, "connect once with ")
	connect, _, _ = strings.Cut(connect, " and check")
	yes := filepath.Join(t.TempDir(), "yes")
	require.NoError(t, os.WriteFile(yes, []byte("#!/bin/sh\necho yes\n"), 0o700))
	pasted := exec.Command("sh", "-c", connect+" true")
	pasted.Env = append(os.Environ(), "SSH_ASKPASS_REQUIRE=force", "SSH_ASKPASS="+yes)
	told, err := pasted.CombinedOutput()
	require.NoError(t, err, "%s: %s", connect, told)
	text, err := os.ReadFile(known)
	require.NoError(t, err)
	other, err := exec.Command("sh", "-c", "ssh-keygen -q -t ed25519 -N '' -f "+known+".key && cut -d' ' -f1,2 "+known+".key.pub").Output()
	require.NoError(t, err)
	host, _, _ := strings.Cut(string(text), " ")
	require.NoError(t, os.WriteFile(known, []byte(host+" "+string(other)), 0o600))
	require.Regexp(t, `^its host key has changed, so somebody may be in between \(Offending .* key in `+known+`:1\); if it has a new key, run ssh-keygen -R for it$`, reason())
}

// systemd passes the socket on which a receiver listens.
func TestCastSystemd(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	program, key := filepath.Join(dir, program), filepath.Join(dir, "key")
	require.NoError(t, os.Symlink(exe, program))
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	socket, err := l.File()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	to := t.TempDir()
	service := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh", program, "receive", "--listen", "systemd", "--to", to, "--key-file", key)
	service.ExtraFiles = []*os.File{socket}
	require.NoError(t, service.Start())
	require.NoError(t, socket.Close())
	path, text := fileOf(t, 1<<16)
	sender := startCast(t, path, "-w", l.Addr().String(), "--call", "--key-file", key, "--json")
	r, said := sender.ended(0)
	require.Len(t, r.Receivers, 1, said)
	got, err := os.ReadFile(filepath.Join(to, "file"))
	require.NoError(t, err)
	require.Equal(t, string(text), string(got))
	require.NoError(t, service.Process.Signal(os.Interrupt))
	_ = service.Wait() // the exit code says it
	require.Equal(t, terminal.Interrupted, service.ProcessState.ExitCode())
}

// The delivered units have flags and a port that the command accepts.
func TestSystemdUnits(t *testing.T) {
	const service, socket = "../../contrib/systemd/schedcast.service", "../../contrib/systemd/schedcast.socket"
	commands := systemdtest.Check(t, program, service, socket)
	require.Len(t, commands, 1)
	root := commandLine()
	_, err := root.named(commands[0][0]).parse(commands[0][1:])
	require.NoError(t, err)
	text, err := os.ReadFile(socket)
	require.NoError(t, err)
	require.Contains(t, string(text), "\nListenStream="+cast.StandPort+"\n")
}

// Hosts come from the standard input as well, and receivers that stand on hosts are called.
func TestCastCalls(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
	path, text := fileOf(t, 1<<16)
	to := t.TempDir()
	standing := startCast(t, "receive", "--listen", "127.0.0.1:0", "--to", to, "--key-file", key)
	at := standing.address()
	for range 2 {
		sender := startCast(t, path, "--hosts", "-", "--call", "--key-file", key, "--json")
		fmt.Fprintln(sender.in, at)
		require.NoError(t, sender.in.Close())
		r, said := sender.ended(0)
		require.Len(t, r.Receivers, 1, said)
		got, err := os.ReadFile(filepath.Join(to, "file"))
		require.NoError(t, err)
		require.Equal(t, string(text), string(got))
	}
	require.NoError(t, standing.cmd.Process.Signal(os.Interrupt))
	code, _, said := standing.wait()
	require.Equal(t, terminal.Interrupted, code, said)
	require.Equal(t, 2, strings.Count(said, "called by 127.0.0.1:"), said)
}

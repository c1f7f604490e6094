// Package sshdtest starts OpenSSH's server on the loopback address, with its own keys, for tests.
// Each of its hosts is an alias in the client's configuration, with its own home, login shell and
// PATH.
package sshdtest

import (
	"bufio"
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/porttest"
)

// Host is a host of a server.
type Host struct {
	Name  string
	Shell string   // login shell, default /bin/sh
	Env   []string // additional environment, "NAME=value"

	Home string // set by Start
}

// Server is a running server.
type Server struct {
	Hosts []*Host
	SSH   string // client with the configuration of the hosts
	dir   string
}

// Start starts a server for hosts. The server, and all that it has started, end with the test.
// Start skips the test if OpenSSH's server is not installed.
func Start(t testing.TB, hosts ...*Host) *Server {
	t.Helper()
	program := find(t, "sshd")
	client := find(t, "ssh")
	s := &Server{Hosts: hosts, dir: t.TempDir()}
	s.SSH = client + " -F " + filepath.Join(s.dir, "client")
	for _, key := range []string{"host", "user"} {
		out, err := exec.Command(find(t, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, key)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	if os.Getuid() == 0 {
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755)) // directory for privilege separation
	}
	ports := holdPorts(t, len(hosts))
	for _, h := range hosts {
		h.Home = filepath.Join(s.dir, h.Name)
		require.NoError(t, os.Mkdir(h.Home, 0o700))
	}
	s.write(t, "server", s.serverConfig(ports))
	s.write(t, "client", s.clientConfig(ports))
	s.run(t, program)
	return s
}

func find(t testing.TB, program string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	t.Skipf("%s is not here", program)
	return ""
}

// holdPorts returns n ports that belong to the test until it ends.
func holdPorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		at, err := netip.ParseAddrPort(porttest.Hold(t))
		require.NoError(t, err)
		ports[i] = int(at.Port())
	}
	return ports
}

func (s *Server) write(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// serverConfig returns the server's configuration. Each host has its own port. Its login shell runs
// the client's command, as with a usual server.
func (s *Server) serverConfig(ports []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\nMaxStartups 100\nPermitRootLogin yes\n",
		filepath.Join(s.dir, "host"), filepath.Join(s.dir, "user.pub"))
	for _, port := range ports {
		fmt.Fprintf(&b, "ListenAddress 127.0.0.1:%d\n", port)
	}
	for i, h := range s.Hosts {
		env := append([]string{"HOME=" + h.Home}, h.Env...)
		shell := cmp.Or(h.Shell, "/bin/sh")
		// The server runs ForceCommand in the real user's shell. With another HOME, that shell does
		// not read the user's startup files, which may take a second or more.
		fmt.Fprintf(&b, "Match LocalPort %d\n  SetEnv HOME=%s\n  ForceCommand cd %s && exec env %s %s -c \"$SSH_ORIGINAL_COMMAND\"\n",
			ports[i], s.dir, h.Home, strings.Join(env, " "), shell)
	}
	return b.String()
}

func (s *Server) clientConfig(ports []int) string {
	var b strings.Builder
	for i, h := range s.Hosts {
		fmt.Fprintf(&b, "Host %s\n  HostName 127.0.0.1\n  Port %d\n", h.Name, ports[i])
	}
	fmt.Fprintf(&b, "Host stranger\n  HostName 127.0.0.1\n  Port %d\n  IdentityFile %s\n", ports[0], filepath.Join(s.dir, "host")) // this key is refused
	fmt.Fprintf(&b, "Host * !stranger\n  IdentityFile %s\nHost *\n  IdentitiesOnly yes\n  IdentityAgent none\n  StrictHostKeyChecking no\n  UserKnownHostsFile %s\n",
		filepath.Join(s.dir, "user"), filepath.Join(s.dir, "known"))
	return b.String()
}

// run starts the server and returns when it listens.
func (s *Server) run(t testing.TB, program string) {
	t.Helper()
	cmd := exec.Command(program, "-D", "-e", "-f", filepath.Join(s.dir, "server"))
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the server was killed
	})
	lines := bufio.NewScanner(said)
	for range s.Hosts {
		for {
			require.True(t, lines.Scan(), "the server has ended")
			if strings.HasPrefix(lines.Text(), "Server listening") {
				break
			}
			t.Log(lines.Text())
		}
	}
	go func() {
		for lines.Scan() { // reads the rest, so that the server does not block
		}
	}()
}

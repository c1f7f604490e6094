// Package etcdtest starts an etcd of a test's own.
package etcdtest

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Server is an etcd of one process on the loopback interface.
type Server struct {
	Address string // host:port where it answers clients
	dir     string
	peer    string // URL
	cmd     *exec.Cmd
}

// New starts an etcd that ends with the test, which it skips if none is installed.
func New(t testing.TB) *Server {
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("etcd is not installed: Debian has it as etcd-server")
	}
	s := &Server{dir: t.TempDir(), Address: Free(t), peer: "http://" + Free(t)}
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
}

// Free returns an address that nobody listens at.
func Free(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// URL is where it answers clients.
func (s *Server) URL() string { return "http://" + s.Address }

// Start starts it, again after Kill, and waits until it answers.
func (s *Server) Start(t testing.TB) {
	s.cmd = exec.Command("etcd", "--data-dir", s.dir, "--name", "a",
		"--listen-client-urls", s.URL(), "--advertise-client-urls", s.URL(),
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer, "--initial-cluster", "a="+s.peer,
		"--heartbeat-interval", "20", "--election-timeout", "200")
	log, err := os.CreateTemp(t.TempDir(), "etcd.log")
	require.NoError(t, err)
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	require.NoError(t, s.cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !s.healthy(ctx) {
		require.NoError(t, ctx.Err(), "etcd does not come up")
	}
}

func (s *Server) healthy(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/health", nil)
	if err != nil {
		return false
	}
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Signal sends a signal to its process.
func (s *Server) Signal(t testing.TB, signal os.Signal) {
	require.NoError(t, s.cmd.Process.Signal(signal))
}

// Kill kills it; what it has stored stays.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait() // it says that it was killed
}

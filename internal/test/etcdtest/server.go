// Package etcdtest starts an etcd for a test.
package etcdtest

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/porttest"
)

// Server is an etcd that runs until the test ends.
type Server struct {
	dir          string
	client, peer string // URLs
	cmd          *exec.Cmd
}

// Start starts an etcd at ports of the loopback address that are reserved until the test ends. It
// skips the test if the program is not installed.
func Start(t *testing.T) *Server {
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("etcd is not installed: Debian has it as etcd-server")
	}
	s := &Server{dir: t.TempDir(), client: "http://" + porttest.Hold(t), peer: "http://" + porttest.Hold(t)}
	s.Resume(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// URL returns the URL at which the server answers.
func (s *Server) URL() string { return s.client }

// The times of a start.
const (
	startTime = 2 * time.Minute
	startLook = 20 * time.Millisecond
)

// Resume starts the server with its old data, and waits until it answers.
func (s *Server) Resume(t *testing.T) {
	s.cmd = exec.Command("etcd", "--data-dir", s.dir, "--name", "a",
		"--listen-client-urls", s.client, "--advertise-client-urls", s.client,
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer, "--initial-cluster", "a="+s.peer)
	log, err := os.CreateTemp(t.TempDir(), "etcd.log")
	require.NoError(t, err)
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	require.NoError(t, s.cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	for !s.healthy(ctx) {
		if ctx.Err() != nil {
			said, _ := os.ReadFile(log.Name()) // as far as it can be read
			t.Fatalf("etcd does not come up: %s", said)
		}
		time.Sleep(startLook)
	}
}

func (s *Server) healthy(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client+"/health", nil)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Stop kills the server.
func (s *Server) Stop(*testing.T) {
	s.cmd.Process.Kill()
	s.cmd.Wait() // the error says that it was killed
}

// Freeze stops the server's process: it takes connections and answers nothing.
func (s *Server) Freeze(t *testing.T) {
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGSTOP))
}

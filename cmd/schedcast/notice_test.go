package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/terminal"
)

// printed is a writer that passes on what a process prints, line by line.
type printed struct{ lines chan string }

func (p *printed) Write(b []byte) (int, error) {
	select {
	case p.lines <- string(b):
	default:
	}
	return len(b), nil
}

// refusing returns an address that refuses connections, and that no other process uses.
func refusing(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return fmt.Sprint("127.0.0.1:", at.(*unix.SockaddrInet4).Port)
}

// A receiver reports that it cannot reach its sender, or that another program is at the sender's
// address. A sender reports that no receiver has come.
func TestSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	gone := refusing(t)
	receive := func(at string) func(context.Context, terminal.Stdio) error {
		return (&receiveCmd{From: at, To: t.TempDir()}).run
	}
	serve := &sendCmd{What: "notice_test.go", Serve: true, Expect: 2, linkFlags: linkFlags{Transport: cast.Auto}}
	serve.Listen = "127.0.0.1:0"
	for want, run := range map[string]func(context.Context, terminal.Stdio) error{
		`waiting for \d+s: the sender at ` + gone + ` cannot be reached so far: .*connection refused`:                 receive(gone),
		`waiting for \d+s: the sender at .* the process there accepts connections, but has not answered`:              receive(silent.Addr().String()),
		`waiting for \d+s: no receiver has come to 127.0.0.1:\d+: start "schedcast receive --from HOST:\d+ --to DIR"`: serve.run,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(context.Background())
			out, over := &printed{make(chan string, 100)}, make(chan error)
			go func() {
				over <- run(ctx, terminal.Stdio{In: os.Stdin, Out: io.Discard, Err: out, Getenv: func(string) string { return "" }})
			}()
			line := ""
			for !strings.Contains(line, "waiting for") {
				line = <-out.lines
			}
			stop()
			require.Error(t, <-over)
			require.Regexp(t, want, line)
		})
	}
}

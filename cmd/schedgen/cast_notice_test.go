package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The words come after 2, 6, 14, 30, 62 seconds and then every minute, and none after stop.
func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // lines are told in goroutines of their own
		var out bytes.Buffer
		asked := 0
		stop := waitingFor(func(line string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&out, line)
		}, func() string {
			asked++
			return fmt.Sprint("answer ", asked)
		})
		at := func(pass time.Duration, want string) {
			t.Helper()
			time.Sleep(pass)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, want, out.String())
			out.Reset()
		}
		at(2*time.Second-1, "")
		at(1, "waiting for 2s: answer 1\n")
		at(4*time.Second, "waiting for 6s: answer 2\n")
		at(8*time.Second, "waiting for 14s: answer 3\n")
		at(48*time.Second, "waiting for 30s: answer 4\nwaiting for 1m2s: answer 5\n")
		at(time.Minute, "waiting for 2m2s: answer 6\n")
		at(time.Minute, "waiting for 3m2s: answer 7\n")
		stop()
		at(time.Hour, "")
	})
}

func TestSenderNews(t *testing.T) {
	s := &senderNews{at: "node0:7717"}
	require.Equal(t, "nobody has answered at node0:7717 so far", s.words())
	s.note(errors.New("lookup node0: no such host"))
	require.Equal(t, "the sender at node0:7717 cannot be reached so far: lookup node0: no such host", s.words())
	s.note(nil)
	require.Equal(t, "the sender at node0:7717 has let this host in, and waits for others or serves them", s.words())
}

// A line names some hosts of many.
func TestCrewWords(t *testing.T) {
	c := &castCrew{}
	for i := range 9 {
		c.hosts = append(c.hosts, &castHost{name: fmt.Sprint("node", i), state: []hostState{hostRuns, hostOpens, hostEnded, hostCopies, hostWaits}[min(i, 4)]})
	}
	require.Equal(t, "1 of 9 hosts have come; node4, node5, node6, node7, node8: its turn to be connected to has not come; node1: ssh has not connected; node3: it gets a copy of schedgen",
		c.words([]string{"node0"}))
	require.Equal(t, "a, b, c, d, e and 2 more", someOf([]string{"a", "b", "c", "d", "e", "f", "g"}))
}

// lines is where a process prints what is read line by line.
type printed struct{ lines chan string }

func (p *printed) Write(b []byte) (int, error) {
	select {
	case p.lines <- string(b):
	default:
	}
	return len(b), nil
}

// refusing returns an address that refuses connections, and is nobody else's.
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

// A receiver that waits for a sender that is not there, or is something else, says so, and a sender for
// which nobody comes.
func TestCastTellsWhatItWaitsFor(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	gone := refusing(t)
	receive := func(at string) func(context.Context, stdio) error {
		return (&receiveCmd{From: at, To: t.TempDir()}).Run
	}
	serve := &castCmd{What: "cast_notice_test.go", Serve: true, Expect: 2, castLink: castLink{Transport: overAuto}}
	serve.Listen = "127.0.0.1:0"
	for want, run := range map[string]func(context.Context, stdio) error{
		"waiting for 2s: the sender at " + gone + " cannot be reached so far: .*connection refused":           receive(gone),
		"waiting for 2s: the sender at .* something accepts connections there, and has not answered":          receive(silent.Addr().String()),
		`waiting for 2s: nobody has come to 127.0.0.1:\d+: start "schedgen receive --from HOST:\d+ --to DIR"`: serve.Run,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(context.Background())
			out, over := &printed{make(chan string, 100)}, make(chan error)
			go func() {
				over <- run(ctx, stdio{In: os.Stdin, Out: io.Discard, Err: out, Getenv: func(string) string { return "" }})
			}()
			line := ""
			for len(line) < 7 || line[:7] != "waiting" || line[8:10] == "at" {
				line = <-out.lines
			}
			stop()
			require.Error(t, <-over)
			require.Regexp(t, want, line)
		})
	}
}
